"""Listeners for changes of topics, registered by parts of the core that topics do not need to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..turn import Turn
    from .transactions import Marker

OfTopic = Callable[["Turn", str], None]
"""A listener called with the name of a topic."""
OfMarker = Callable[["Turn", str, int, "Marker"], None]
"""A listener called with topic, partition and marker of a transaction that ended there."""


class TopicNews:
    """Listeners, each called in the order in which it was registered."""

    def __init__(self) -> None:
        self._changes: list[OfTopic] = []
        self._deletions: list[OfTopic] = []
        self._elections: list[OfTopic] = []
        self._marks: list[OfMarker] = []

    def when_changed(self, told: OfTopic) -> None:
        """Call `told` with the name of every topic that is created, or grows, from now on."""
        self._changes.append(told)

    def when_deleted(self, told: OfTopic) -> None:
        """Call `told` with the name of every topic that is deleted from now on."""
        self._deletions.append(told)

    def when_led(self, told: OfTopic) -> None:
        """Call `told` with the name of every topic of which a partition gets another leader from now on."""
        self._elections.append(told)

    def when_marked(self, told: OfMarker) -> None:
        """Call `told` with every transaction that ends in a partition from now on."""
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
