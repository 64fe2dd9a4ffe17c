"""The coordinator's table of a group's members, which orders them wherever they are listed (CG-108): by slot, in a slot the last one first.

In Kafka: the TimelineHashMap ConsumerGroup.members, filled by replaying records.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...java.hashes import java_hash
from ...java.tables import Timeline, signed


class MemberTable(Timeline):
    """Member ids in that order. The table grows with members that come, and never shrinks."""

    __slots__ = ("_hashes", "_order")

    def __init__(self) -> None:
        super().__init__()
        self._hashes: dict[str, int] = {}
        self._order: list[str] | None = None

    def __len__(self) -> int:
        return self.size

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._hashes

    def __iter__(self) -> Iterator[str]:
        if self._order is None:
            latest_first = list(reversed(self._hashes))
            self._order = sorted(latest_first, key=lambda member_id: self.slot(self._hashes[member_id]))
        return iter(self._order)

    def add(self, member_id: str) -> None:
        """A member that is not there. It is put twice, by the records of its subscription and of its assignment."""
        self.put(new=True)
        self.put(new=False)
        self._hashes[member_id] = signed(java_hash(member_id))
        self._order = None

    def discard(self, member_id: str) -> None:
        """A member goes; nothing happens when it is not there."""
        if self._hashes.pop(member_id, None) is not None:
            self.size -= 1
            self._order = None
