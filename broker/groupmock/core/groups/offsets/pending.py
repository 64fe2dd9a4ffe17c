"""Pending offsets are those that open transactions have committed for a group (KIP-98, KIP-447; docs/kafka/transactions.md#tx-70).

They are invisible until the marker of their producer is in the group's partition of __consumer_offsets: until then an OffsetFetch answers
with the older offset, or with UNSTABLE_OFFSET_COMMIT (88) if it requires stable offsets (`require_stable`). A commit adds them to the
group, and an abort drops them. The last written offset wins, by a plain commit or by any transaction, whichever transaction ends last. So
each offset has a number, and `_settled` has the number of the winner, as long as an offset is pending in the partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from .committed import At, Offset


class Pending(msgspec.Struct, gc=False, frozen=True):
    """A pending offset, with a number that orders offsets by the time of writing."""

    offset: Offset
    number: int


class PendingOffsets:
    """The pending offsets of one group's open transactions, by producer id and partition. A look-up of a partition does not visit every
    producer: `_producers` has the producers of each partition, and `_topics` counts the partitions. `_again` has the partitions to which a
    producer wrote once more, the first of each topic for each number of partitions that it had by then, because that may let Kafka's hash
    table of the topic grow."""

    __slots__ = ("_again", "_by_producer", "_number", "_producers", "_settled", "_topics")

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[At, Pending]] = {}
        self._again: dict[int, dict[tuple[int, str], At]] = {}
        self._producers: dict[At, set[int]] = {}
        self._topics: Counter[str] = Counter()
        self._settled: dict[At, int] = {}
        self._number = 0

    def __bool__(self) -> bool:
        return bool(self._by_producer)

    def __contains__(self, at: At) -> bool:
        return at in self._producers

    def places(self) -> frozenset[At]:
        """Return every partition with a pending offset."""
        return frozenset(self._producers)

    def in_topic(self, topic: str) -> bool:
        """True if some partition of the topic has a pending offset."""
        return topic in self._topics

    def of(self, producer_id: int) -> Collection[At]:
        """Return the partitions in which the producer has a pending offset."""
        return self._by_producer.get(producer_id, {}).keys()

    def written(self, producer_id: int) -> list[tuple[At, Offset]]:
        """Return the producer's pending offsets in the order of writing, those that were written again more than once."""
        mine, again = self._by_producer.get(producer_id, {}), dict[int, list["At"]]()
        for (count, _), at in self._again.get(producer_id, {}).items():
            again.setdefault(count, []).append(at)
        found: list[tuple[At, Offset]] = []
        for number, at in enumerate(mine, 1):
            found += [(each, mine[each].offset) for each in (at, *again.get(number, ())) if each in mine]
        return found

    def write(self, producer_id: int, offsets: Iterable[tuple[At, Offset]]) -> None:
        """Store pending offsets of a producer's transaction; the last offset of a partition wins. All share one number, because a number
        takes 32 bytes."""
        self._number += 1
        mine = self._by_producer.setdefault(producer_id, {})
        for at, offset in offsets:
            if at not in self._producers:
                self._topics[at[0]] += 1
                self._producers[at] = set()
            self._producers[at].add(producer_id)
            if at in mine:
                self._again.setdefault(producer_id, {}).setdefault((len(mine), at[0]), at)
            mine[at] = Pending(offset, self._number)

    def overtaken(self, at: At) -> None:
        """Note that a plain commit was written to the partition later than all its pending offsets."""
        self._number += 1
        if at in self:
            self._settled[at] = self._number

    def wins(self, producer_id: int, at: At) -> Offset | None:
        """Return the producer's pending offset of the partition, or None if a later commit has replaced it."""
        mine = self._by_producer.get(producer_id, {}).get(at)
        return mine.offset if mine is not None and mine.number > self._settled.get(at, 0) else None

    def settle(self, producer_id: int, at: At) -> None:
        """Make the producer's pending offset the latest commit of the partition."""
        self._settled[at] = self._by_producer[producer_id][at].number
        self.drop(producer_id, at)

    def ended(self, producer_id: int) -> None:
        self._by_producer.pop(producer_id, None)
        self._again.pop(producer_id, None)

    def drop(self, producer_id: int, at: At) -> None:
        """Drop the producer's pending offset of one partition."""
        mine = self._by_producer.get(producer_id, {})
        if at in mine:
            del mine[at]
            if not mine:
                self.ended(producer_id)
            self._gone(at, producer_id)

    def discard(self, at: At, awaited: bool = False) -> None:
        """Drop all pending offsets of the partition. With `awaited`, the transactions are still awaited, even without pending offsets."""
        for producer_id in list(self._producers.get(at, ())):
            mine = self._by_producer[producer_id]
            del mine[at]
            if not mine and not awaited:
                self.ended(producer_id)
            self._gone(at, producer_id)

    def in_partitions(self, topic: str) -> list[At]:
        """Return the topic's partitions with a pending offset."""
        return [at for at in self._producers if at[0] == topic] if topic in self._topics else []

    def _gone(self, at: At, producer_id: int) -> None:
        """Note that the producer has no pending offset in the partition any more."""
        self._producers[at].remove(producer_id)
        if self._producers[at]:
            return
        del self._producers[at]
        self._settled.pop(at, None)
        self._topics[at[0]] -= 1
        if not self._topics[at[0]]:
            del self._topics[at[0]]
