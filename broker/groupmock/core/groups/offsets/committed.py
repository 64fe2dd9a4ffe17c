"""A group keeps its committed offsets, and those that open transactions have pending, in the order in which an OffsetFetch of all offsets
lists them.

Kafka 4.3 keeps a TimelineHashMap of topics, each with one of its partitions (core/java/tables.py). The old coordinator keeps one Scala map
of topic partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping

import msgspec

from ...java.hashes import java_hash, partition_hash
from ...java.orders import SMALLEST_TABLE, scala_map_order, scala_table_order, table_for
from ...java.tables import Timeline
from ...work import A_FEW
from .by_topic import ByTopic, Owner
from .pending import PendingOffsets

At = tuple[str, int]


class Offset(msgspec.Struct, gc=False, frozen=True):
    """An offset that a group has committed. Times are ms since 1970; `expire_ms` is set only if the commit asked for a retention (v2-4)."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int | None = None


class _Topic(Timeline):
    """The hash table of one topic's offsets, with the partitions in the order of their first commits."""

    __slots__ = ("partitions",)

    def __init__(self) -> None:
        super().__init__()
        self.partitions: dict[int, None] = {}


class CommittedOffsets(dict[At, Offset]):
    """A group's last committed offset of each (topic, partition), in the order of the first commits. Only the methods below change it."""

    __slots__ = ("_filed", "_owner", "_pending", "_scala_table", "_tables", "_topics")

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, _Topic] = {}
        self._scala_table = SMALLEST_TABLE
        self._pending: PendingOffsets | None = None  # `_pending` is None until a transaction commits an offset for the group.
        self._filed: ByTopic | None = None
        self._owner: Owner = (0, "")

    def file_under(self, filed: ByTopic, owner: Owner) -> None:
        """Register the group's offsets in the index `filed`, and keep the index up to date from now on. A former owner has none here any
        more."""
        for topic in self._named():
            if self._filed is not None:
                self._filed.discard(topic, self._owner)
            filed.add(topic, owner)
        self._filed, self._owner = filed, owner

    def _named(self) -> set[str]:
        """Return every topic in which the group has committed or pending offsets."""
        named = set(self._tables)
        if self._pending is not None:
            named.update([at[0] for at in self._pending.places()])
        return named

    @property
    def used_up(self) -> bool:
        """True if the group has no committed and no pending offsets, so that nothing keeps the group alive when it is Empty."""
        return not self and not self._pending

    def commit(self, at: At, offset: Offset) -> None:
        """Store an offset that is committed outside of transactions, and therefore replaces all pending offsets written so far."""
        self[at] = offset
        if self._pending is not None:
            self._pending.overtaken(at)

    def commit_in_transaction(self, producer_id: int, offsets: Collection[tuple[At, Offset]]) -> None:
        """Store pending offsets, which become visible when the producer commits its transaction."""
        if self._pending is None:
            self._pending = PendingOffsets()
        self._pending.write(producer_id, offsets)
        if self._filed is not None:
            for topic in {at[0] for at, _ in offsets}:
                self._filed.add(topic, self._owner)

    def end_transaction(self, producer_id: int, committed: bool) -> Generator[None, None, int]:
        """Commit or drop the pending offsets of the producer's transaction, in steps. Returns how many offsets are new."""
        if self._pending is None:
            return 0
        mine = list(self._pending.of(producer_id))
        # Offsets are committed in the order in which Kafka 4.3 iterates over the pending ones
        # (OffsetMetadataManager.replayEndTransactionMarker).
        waited, count = CommittedOffsets(), 0
        for number, (at, offset) in enumerate(self._pending.written(producer_id) if committed else ()):
            waited[at] = offset
            if not number % A_FEW:
                yield
        for at in waited.listed(scala=False):
            # A later commit may have replaced the offset, and the topic may have been deleted between two steps.
            if self._pending.wins(producer_id, at) is not None:
                self[at] = waited[at]
                self._pending.settle(producer_id, at)
                count += 1
            if not count % A_FEW:
                yield
        for number, at in enumerate(mine):
            self._pending.drop(producer_id, at)
            if not number % A_FEW:
                yield
        self._pending.ended(producer_id)
        for topic in {at[0] for at in mine}:
            self._left(topic)
        return count

    def refused_in_transaction(self, producer_id: int, at: At) -> None:
        """Drop the producer's pending offset of the partition, because its commit there was refused (quirk
        `refused_commit_drops_pending`)."""
        if self._pending is not None:
            self._pending.drop(producer_id, at)
            self._left(at[0])

    def __setitem__(self, at: At, offset: Offset) -> None:
        table = self._tables.get(at[0])
        if table is None:
            if not self._tables:
                self._topics = Timeline()  # Kafka drops its table of topics together with the last topic, so a new table is made here.
            self._topics.put(new=True)
            table = self._tables[at[0]] = _Topic()
            if self._filed is not None:
                self._filed.add(at[0], self._owner)
        table.put(at not in self)
        table.partitions[at[1]] = None
        super().__setitem__(at, offset)
        if len(self) * 4 >= self._scala_table * 3:
            self._scala_table = table_for(len(self), self._scala_table, scala=True)

    def __delitem__(self, at: At) -> None:
        super().__delitem__(at)
        table = self._tables[at[0]]
        table.size -= 1
        del table.partitions[at[1]]
        if not table.size:
            del self._tables[at[0]]
            self._topics.size -= 1
            self._left(at[0])

    def _left(self, topic: str) -> None:
        """Remove the topic from the index if the group has no offset in it any more."""
        if topic in self._tables or (self._pending and self._pending.in_topic(topic)):
            return
        if self._filed is not None:
            self._filed.discard(topic, self._owner)

    @property
    def unstable(self) -> frozenset[At]:
        """Return the partitions in which an open transaction has a pending offset."""
        return self._pending.places() if self._pending else frozenset()

    def is_unstable(self, at: At) -> bool:
        """True if an open transaction has a pending offset in the partition."""
        return self._pending is not None and at in self._pending

    def discard(self, at: At, awaited: bool = False) -> None:
        """Remove the committed and pending offsets of a partition. With `awaited`, the end of its transactions is still awaited."""
        if self._pending is not None:
            self._pending.discard(at, awaited)
        if at in self:
            del self[at]
        else:
            self._left(at[0])

    def in_topic(self, name: str) -> list[At]:
        """Return the topic's partitions with a committed offset, followed by those with only a pending one."""
        table = self._tables.get(name)
        found = [] if table is None else [(name, partition) for partition in table.partitions]
        pending = [] if self._pending is None else self._pending.in_partitions(name)
        return list(dict.fromkeys(found + pending))

    def discard_topic(self, name: str, awaited: bool = False) -> list[At]:
        """Remove all offsets in a topic, and return the partitions that had a committed offset."""
        places = self.in_topic(name)
        found = [at for at in places if at in self]
        for at in places:
            self.discard(at, awaited)
        return found

    def refill(self, offsets: Mapping[At, Offset]) -> None:
        """Add the offsets that were stored in a log, including pending ones."""
        for at, offset in offsets.items():
            self[at] = offset
        if isinstance(offsets, CommittedOffsets) and offsets._pending:
            self._pending = offsets._pending
            if self._filed is not None:
                for topic, _ in self._pending.places():
                    self._filed.add(topic, self._owner)

    def clear(self) -> None:
        if self._filed is not None:
            for topic in self._named():
                self._filed.discard(topic, self._owner)
        super().clear()
        self._pending = None
        self._tables.clear()

    def listed(self, scala: bool) -> list[At]:
        """Return every partition with a committed offset, in the order of Kafka's hash maps."""
        if scala:
            return scala_map_order(scala_table_order(self, partition_hash, self._scala_table), partition_hash)
        tables = self._tables
        place = {name: (self._topics.slot(java_hash(name)), -number) for number, name in enumerate(tables)}
        found = list(reversed(self))
        found.sort(key=lambda at: (place[at[0]], tables[at[0]].slot(at[1])))
        return found
