"""The owners of one group's partitions over time, as the wire shows them.

A member owns what an answer to SyncGroup gave it, until an answer gives it less, it joins and does not claim it (an eager member claims
nothing), it is removed or replaced, or the connection by which it joined last ends. What a client knows better is on no wire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .embedded import Partition, Partitions
from .rebalance_model import Gap

NOTHING: Partitions = frozenset()
Changed = Callable[[str, Partitions, Partitions, int, Sequence[Gap]], None]
"""A listener for every change: member, partitions before and after, when (ns), and the gaps that begin."""


class Ownership:
    """`first`: partition -> when somebody had it for the first time, ns. Grows with members and partitions, not with time, as long as
    somebody calls `forget`. `changed`: who wants to hear of each change, for whom that is history."""

    __slots__ = ("_open", "_owned", "_owners", "changed", "first")

    def __init__(self, changed: Changed | None = None) -> None:
        self.changed = changed
        self.first: dict[Partition, int] = {}
        self._owned: dict[str, Partitions] = {}
        self._owners: dict[Partition, set[str]] = {}
        self._open: dict[Partition, Gap] = {}

    def of(self, member: str) -> Partitions:
        """Return the partitions that it owns."""
        return self._owned.get(member, NOTHING)

    def owns(self, member: str, partitions: Partitions, at: int) -> list[Gap]:
        """Make these the member's only partitions. Gaps that end are closed, and those that begin are returned."""
        before = self._owned.pop(member, NOTHING)
        if partitions:
            self._owned[member] = partitions
        for partition in partitions - before:
            self._owners.setdefault(partition, set()).add(member)
            self.first.setdefault(partition, at)
            gap = self._open.pop(partition, None)
            if gap is not None:
                # Rows come in the journal's order, which is not always that of their times.
                gap.until = max(at, gap.since)
        gaps = [self._lost(partition, at) for partition in sorted(before - partitions) if self._let_go(partition, member)]
        if self.changed is not None and before != partitions:
            self.changed(member, before, partitions, at, gaps)
        return gaps

    def __len__(self) -> int:
        return len(self._owners)

    def __contains__(self, partition: Partition) -> bool:
        return partition in self._owners

    def forget(self, most: int) -> None:
        """Forget partitions without an owner if there are many more of them than of others: `most`, and as many as are owned."""
        if len(self.first) > most + 2 * len(self._owners):
            self.first = {partition: at for partition, at in self.first.items() if partition in self._owners}
        if len(self._open) > most + len(self._owners):
            self._open.clear()

    def _let_go(self, partition: Partition, member: str) -> bool:
        """Return whether it was the last owner."""
        owners = self._owners[partition]
        owners.discard(member)
        if not owners:
            del self._owners[partition]
        return not owners

    def _lost(self, partition: Partition, at: int) -> Gap:
        gap = self._open[partition] = Gap(partition, at)
        return gap
