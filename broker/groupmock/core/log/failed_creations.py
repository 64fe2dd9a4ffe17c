"""Remembers why topics could not be created that a broker wanted for its groups (ST-70)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

MOST: Final = 1000
"""At most this many topics are remembered, as in Kafka."""


class FailedCreations:
    """The reasons by topic name, each with the time (ns of the run) until which it is remembered, for all groups and also if a group is
    made anew (Kafka: ExpiringErrorCache of DefaultAutoTopicCreationManager)."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, int]] = {}

    def note(self, topic: str, why: str, until: int) -> None:
        """Remember that a topic could not be created. The topic that is forgotten first makes room."""
        self._found[topic] = (why, until)
        if len(self._found) > MOST:
            del self._found[min(self._found, key=lambda each: self._found[each][1])]

    def why(self, topic: str, now: int) -> str | None:
        """Return why a topic could not be created, or None if nothing is remembered."""
        why, until = self._found.get(topic, ("", now))
        if now < until:
            return why
        self._found.pop(topic, None)
        return None

    def ends(self) -> Collection[int]:
        """Return the times at which topics are forgotten."""
        return [until for _, until in self._found.values()]
