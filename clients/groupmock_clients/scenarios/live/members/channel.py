"""What every member program shares: events out, orders in, the end by SIGTERM."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol

POLL_MS: Final = 500
"""Longer than the producer pauses: members look at their orders when records come, which is at the same moment for all."""
FETCH_MS: Final = 100


class Place(Protocol):
    """A library's TopicPartition."""

    topic: str
    partition: int


def pairs(partitions: Iterable[Place]) -> list[tuple[str, int]]:
    """As rows have them, in order."""
    return sorted((each.topic, each.partition) for each in partitions)


def spans(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each range without a gap."""
    first = last = None
    for offset in offsets:
        if first is None or last is None:
            first = offset
        elif offset != last + 1:
            yield first, last
            first = offset
        last = offset
    if first is not None and last is not None:
        yield first, last


class Channel:
    """`say` one event; `topics` a new subscription, when there is one; `ended` once SIGTERM came."""

    def __init__(self) -> None:
        self.ended = False
        self._topics: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        self._held: list[tuple[str, int]] | None = None
        self._out = threading.Lock()
        signal.signal(signal.SIGTERM, self._end)
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    def say(self, event: str, **facts: object) -> None:
        """One event, one line, from any thread."""
        line = json.dumps({"event": event, **facts}) + "\n"
        with self._out:
            sys.stdout.write(line)
            sys.stdout.flush()

    def callback(self, event: str, partitions: Iterable[Place]) -> None:
        """A listener's callback."""
        self.say(event, partitions=pairs(partitions))

    def holds(self, partitions: Iterable[Place]) -> None:
        """What the library says the member holds; told when it changed."""
        held = pairs(partitions)
        if held != self._held:
            self._held = held
            self.say("holds", partitions=held)

    def delivered(self, topic: str, partition: int, offsets: list[int]) -> None:
        """Records of one partition, as the application got them."""
        for first, last in spans(offsets):
            self.say("delivered", topic=topic, partition=partition, first=first, last=last)

    def topics(self) -> list[str] | None:
        """The next subscription that was ordered, or None."""
        try:
            return self._topics.get_nowait()
        except queue.Empty:
            return None

    def _read(self) -> None:
        for line in sys.stdin:
            order: dict[str, Any] = json.loads(line)
            self._topics.put(order["subscribe"])
        os._exit(0)

    def _end(self, *_: object) -> None:
        self.ended = True


class Listener:
    """Tells what it hears; on_partitions_revoked of a cooperative member also commits where it was (docs/how-to/cooperative.md)."""

    def __init__(self, channel: Channel, assignor: Any = None) -> None:
        self._channel, self._assignor = channel, assignor

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> Any:
        """The library's; awaited where it is awaitable."""
        self._channel.callback("revoked", revoked)
        offsets = self._assignor.positions(revoked) if self._assignor is not None else {}
        return self._assignor.commit(offsets) if offsets else None

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """The library's."""
        self._channel.callback("assigned", assigned)

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        """The library's, where it has one."""
        self._channel.callback("lost", lost)
