"""Topics announce their changes to listeners, so that topics need not know the parts of the core that listen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..turn import Turn
    from .transactions import Marker

OfTopic = Callable[["Turn", str], None]
"""A listener that is called with the name of a topic."""
OfMarker = Callable[["Turn", str, int, "Marker"], None]
"""A listener that is called with topic, partition and marker when a transaction ends in that partition."""


class TopicNews:
    """The listeners of all topics, each called in the order of registration."""

    def __init__(self) -> None:
        self._changes: list[OfTopic] = []
        self._deletions: list[OfTopic] = []
        self._elections: list[OfTopic] = []
        self._marks: list[OfMarker] = []

    def when_changed(self, told: OfTopic) -> None:
        """Register a listener for topics that are created or get more partitions."""
        self._changes.append(told)

    def when_deleted(self, told: OfTopic) -> None:
        """Register a listener for topics that are deleted."""
        self._deletions.append(told)

    def when_led(self, told: OfTopic) -> None:
        """Register a listener for topics of which a partition gets another leader."""
        self._elections.append(told)

    def when_marked(self, told: OfMarker) -> None:
        """Register a listener for transactions that end in a partition."""
        self._marks.append(told)

    def _tell_changed(self, turn: Turn, name: str) -> None:
        for told in self._changes:
            told(turn, name)

    def _tell_deleted(self, turn: Turn, name: str) -> None:
        for told in self._deletions:
            told(turn, name)

    def _tell_led(self, turn: Turn, name: str) -> None:
        for told in self._elections:
            told(turn, name)

    def _tell_marked(self, turn: Turn, name: str, partition: int, marker: Marker) -> None:
        for told in self._marks:
            told(turn, name, partition, marker)
