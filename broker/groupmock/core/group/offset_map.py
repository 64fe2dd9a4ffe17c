"""A group's committed offsets, and the order in which a fetch of all of them lists them.

Kafka 4.3 keeps a TimelineHashMap of topics, each with one of its partitions (core/java/tables.py). The old coordinator keeps one Scala map
of topic partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..java.hashes import java_hash, partition_hash
from ..java.orders import SMALLEST_TABLE, scala_map_order, scala_table_order, table_for
from ..java.tables import Timeline, signed

if TYPE_CHECKING:
    from .group import Offset

At = tuple[str, int]


class Offsets(dict[At, "Offset"]):
    """(topic, partition) -> what was committed last, in the order of the first commits. Changed only by the methods below."""

    __slots__ = ("_scala_table", "_tables", "_topics", "lingering")

    def __init__(self) -> None:
        super().__init__()
        self._topics = Timeline()
        self._tables: dict[str, Timeline] = {}
        self._scala_table = SMALLEST_TABLE
        self.lingering: frozenset[At] = frozenset()
        """Partitions with a commit that counts as on its way until another one comes (quirk `refused_commit_lingers`)."""

    @property
    def used_up(self) -> bool:
        """Does nothing here keep an Empty group alive?"""
        return not self and not self.lingering

    def __setitem__(self, at: At, offset: Offset) -> None:
        table = self._tables.get(at[0])
        if table is None:
            self._topics.put(new=True)
            table = self._tables[at[0]] = Timeline()
        table.put(at not in self)
        super().__setitem__(at, offset)
        if len(self) * 4 >= self._scala_table * 3:
            self._scala_table = table_for(len(self), self._scala_table, scala=True)

    def __delitem__(self, at: At) -> None:
        super().__delitem__(at)
        table = self._tables[at[0]]
        table.size -= 1
        if not table.size:
            del self._tables[at[0]]
            self._topics.size -= 1
        if not self._tables:
            self._topics = Timeline()

    def linger(self, at: At) -> None:
        """A commit of that partition was refused and yet counts as on its way."""
        self.lingering |= {at}

    def arrive(self, at: At) -> None:
        """Another commit of that partition has come: none is on its way."""
        self.lingering -= {at}

    def discard(self, at: At) -> None:
        """Forget a partition; nothing happens when it has no offset."""
        self.arrive(at)
        if at in self:
            del self[at]

    def discard_topic(self, name: str) -> list[At]:
        """Forget a topic; its partitions that had an offset."""
        found = [at for at in self if at[0] == name]
        for at in found:
            del self[at]
        self.lingering = frozenset(at for at in self.lingering if at[0] != name)
        return found

    def refill(self, offsets: Mapping[At, Offset]) -> None:
        """Take over what a log remembers."""
        for at, offset in offsets.items():
            self[at] = offset

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self._tables.clear()
        self.lingering = frozenset()
        self._topics = Timeline()

    def listed(self, scala: bool) -> list[At]:
        """Every partition in the order of Kafka's hash maps."""
        if scala:
            return scala_map_order(scala_table_order(self, partition_hash, self._scala_table), partition_hash)
        topics, tables = self._topics, self._tables
        place = {name: (topics.slot(signed(java_hash(name))), -number) for number, name in enumerate(tables)}
        found = list(reversed(self))
        found.sort(key=lambda at: (place[at[0]], tables[at[0]].slot(at[1])))
        return found
