"""The coordinator's table of a group's members, which orders them wherever they are listed (CG-108): by slot, in a slot the last one first.

In Kafka: the TimelineHashMap ConsumerGroup.members, filled by replaying records.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from ...java.hashes import java_hash, spread_bits
from ...java.tables import Timeline, signed


class MemberTable(Timeline):
    """Member ids in that order. The table grows with members that come, and never shrinks."""

    __slots__ = ("_hashes", "_order", "_slots", "_spreads")

    def __init__(self) -> None:
        super().__init__()
        self._hashes: dict[str, int] = {}
        self._order: list[str] = []
        self._slots, self._spreads = array("Q"), array("L")

    def __len__(self) -> int:
        return self.size

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._hashes

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def spreads(self) -> Iterator[tuple[str, int]]:
        """Each with what Java's hash maps make of its hash, in that order."""
        return zip(self._order, self._spreads, strict=True)

    def add(self, member_id: str) -> None:
        """A member that is not there. It is put twice, by the records of its subscription and of its assignment."""
        before = self.capacity
        self.put(new=True)
        self.put(new=False)
        self._hashes[member_id] = java_hash(member_id)
        if self.capacity != before:
            self._arrange()
            return
        slot = self._slot_of(member_id)
        at = bisect_left(self._slots, slot)
        self._slots.insert(at, slot)
        self._order.insert(at, member_id)
        self._spreads.insert(at, spread_bits(self._hashes[member_id]))

    def discard(self, member_id: str) -> None:
        """A member goes; nothing happens when it is not there."""
        if member_id in self._hashes:
            at = self._order.index(member_id, bisect_left(self._slots, self._slot_of(member_id)))
            del self._order[at], self._slots[at], self._spreads[at], self._hashes[member_id]
            self.size -= 1

    def _arrange(self) -> None:
        """The table has grown."""
        latest_first = list(reversed(self._hashes))
        self._order = sorted(latest_first, key=self._slot_of)
        self._slots = array("Q", map(self._slot_of, self._order))
        self._spreads = array("L", [spread_bits(self._hashes[member_id]) for member_id in self._order])

    def _slot_of(self, member_id: str) -> int:
        return self.slot(signed(self._hashes[member_id]))
