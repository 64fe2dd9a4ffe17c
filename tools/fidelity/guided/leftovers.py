"""Remove the groups and topics of finished scripts during a run, because a broker with thousands of them is slow."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from groupmock.rig.wire import Unreadable
from groupmock_clients.probe.stages.cleanup import delete_groups, delete_topics, empty_groups
from groupmock_clients.probe.stages.tcp_broker import NoBroker, TcpBroker

from .alone import Alone

REST_S: Final = 3.0
GROUPS_AT_A_TIME: Final = 100
TOPICS_AT_A_TIME: Final = 50
TOPICS_ALONE: Final = 150
"""The number of topics that are deleted at once on brokers where no script may be played meanwhile."""


class Leftovers:
    """Removes groups and topics some seconds after their script, on a thread of its own. `broker` is a connection of its own, closed at
    the end."""

    def __init__(self, broker: TcpBroker, alone: Alone) -> None:
        self._broker, self._alone = broker, alone
        self._groups: deque[tuple[float, str]] = deque()
        self._topics: deque[tuple[float, str]] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Leftovers:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()
        self._broker.close()

    def add(self, groups: Sequence[str], topics: Sequence[str]) -> None:
        """Mark groups and topics as no longer needed."""
        self._groups.extend((time.monotonic(), group) for group in groups)
        self._topics.extend((time.monotonic(), topic) for topic in topics)

    def _work(self) -> None:
        """Remove old groups and topics until stopped, and retry groups whose members have not left."""
        while not self._stop.wait(REST_S / 3):
            try:
                groups = list(_old(self._groups, GROUPS_AT_A_TIME))
                if groups:
                    empty_groups(self._broker, groups)
                    self.add(delete_groups(self._broker, groups), ())
                self._remove_topics()
            except (NoBroker, Unreadable):
                return  # A failure is not reported here, because the plays that follow notice it.

    def _remove_topics(self) -> None:
        """Remove a limited number of topics, because a deletion costs a broker more than a creation."""
        if not self._alone.needed:
            delete_topics(self._broker, list(_old(self._topics, TOPICS_AT_A_TIME)))
        elif len(self._topics) >= TOPICS_ALONE:
            with self._alone.alone():
                delete_topics(self._broker, list(_old(self._topics, TOPICS_ALONE)))


def _old(left: deque[tuple[float, str]], most: int) -> Iterator[str]:
    """Yield the oldest names that have waited for REST_S seconds."""
    for _ in range(most):
        if not left or left[0][0] > time.monotonic() - REST_S:
            return
        yield left.popleft()[1]
