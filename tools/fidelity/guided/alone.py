"""Play scripts that disturb the groups of all plays while no other script is played: those that move the coordinators of groups, and on
some brokers those that delete topics.

The old coordinator looks at every group whenever a topic is deleted, and forgets those that are Empty and have no offsets (quirk
`deleted_topic_ends_idle_groups`; GroupCoordinator.handleDeletedPartitions). So plays beside each other would disturb each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from groupmock.core.log.names import OFFSETS_TOPIC
from groupmock_clients.probe.language.exchange import Send
from groupmock_clients.probe.language.printing import step_text
from groupmock_codec.api_keys import ALTER_PARTITION_REASSIGNMENTS, DELETE_TOPICS

from ..generated.script import Script, key_of
from ..generated.settings_classes import NODES, known


def moves_coordinators(script: Script) -> bool:
    """Tell whether a script moves the coordinators of all groups."""
    moves = (step for step in script.steps if isinstance(step, Send) and key_of(step) == ALTER_PARTITION_REASSIGNMENTS)
    return any(OFFSETS_TOPIC in step_text(step) for step in moves)


class Alone:
    """A lock that many threads share or that one thread holds exclusively. A thread that waits to be alone precedes further sharing
    threads."""

    def __init__(self, release: str, settings: str = "plain") -> None:
        self.needed = "deleted_topic_ends_idle_groups" in known(release, settings).profile.quirks
        """True if topics of this release are deleted while no other script is played."""
        self._beside = 0
        self._waiting = 0
        self._taken = False
        self._changed = threading.Condition()

    def turn(self, script: Script) -> AbstractContextManager[None]:
        """Return a context in which the script may be played."""
        if not self.needed and script.settings not in NODES:
            return nullcontext()
        deletes = self.needed and any(isinstance(step, Send) and key_of(step) == DELETE_TOPICS for step in script.steps)
        return self.alone() if deletes or moves_coordinators(script) else self._with_others()

    @contextmanager
    def _with_others(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Return a context within which no other script is played."""
        with self._changed:
            self._waiting += 1
            self._changed.wait_for(lambda: not self._beside and not self._taken)
            self._taken = True
        try:
            yield
        finally:
            with self._changed:
                self._waiting -= 1
                self._taken = False
                self._changed.notify_all()
