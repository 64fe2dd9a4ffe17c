"""Find the partitions of a share group that moved from one member to another.

Several members of a share group have the same partition (KIP-932), and a member that joins gets its partitions before the others lose
theirs with their next heartbeats. A partition moves if a member lost it and another one got it, in either order.
"""

from __future__ import annotations

from collections.abc import Iterator

from .embedded import Partition, Partitions
from .rebalance_model import Holder, Move


class SharedHolders:
    """The changes that may be halves of moves: who got a partition in the present rebalance, and who lost a partition last."""

    __slots__ = ("_got", "_lost", "_number")

    def __init__(self) -> None:
        self._number = 0
        self._got: dict[Partition, list[Holder]] = {}
        self._lost: dict[Partition, Holder] = {}

    def changes(self, number: int, holder: Holder, had: Partitions, has: Partitions) -> Iterator[Move]:
        """Yield the moves that are complete because a member now has other partitions. `number` is that of the present rebalance."""
        if number != self._number:
            self._number, self._got = number, {}
        for partition in sorted(had - has):
            others = self._got.get(partition, [])
            if others:
                yield Move(partition, holder, others.pop(0))
            else:
                self._lost[partition] = holder
        for partition in sorted(has - had):
            before = self._lost.pop(partition, None)
            if before is None:
                self._got.setdefault(partition, []).append(holder)
            elif before.member != holder.member:
                yield Move(partition, before, holder)
