"""Follow the owners of one group's partitions over time, as the wire shows them.

A member owns what an answer to SyncGroup gave it. It loses a partition when an answer leaves it out, when the member joins without claiming
it (an eager member claims nothing), when the member is removed or replaced, or when the connection of its last JoinGroup ends. Anything
else that its client knows is on no wire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .embedded import Partition, Partitions
from .rebalance_model import Gap

NOTHING: Partitions = frozenset()
Changed = Callable[[str, Partitions, Partitions, int, Sequence[Gap]], None]
"""A listener that gets every change of ownership: member, partitions before and after, time (ns), and the periods without an owner that
begin."""


class Ownership:
    """Which member owns which partitions of a group. `first` maps each partition to the time (ns) when it was first owned. Memory grows
    with members and partitions, but not with time if `forget` is called now and then. `changed` is called after each change of ownership,
    for a caller that keeps the history."""

    __slots__ = ("_open", "_owned", "_owners", "changed", "first")

    def __init__(self, changed: Changed | None = None) -> None:
        self.changed = changed
        self.first: dict[Partition, int] = {}
        self._owned: dict[str, Partitions] = {}
        self._owners: dict[Partition, set[str]] = {}
        self._open: dict[Partition, Gap] = {}

    def of(self, member: str) -> Partitions:
        """Return the partitions that the member owns."""
        return self._owned.get(member, NOTHING)

    def owns(self, member: str, partitions: Partitions, at: int) -> list[Gap]:
        """Note that a member owns exactly these partitions from now on. Gaps that end are closed, and the gaps that begin are returned."""
        before = self._owned.pop(member, NOTHING)
        if partitions:
            self._owned[member] = partitions
        for partition in partitions - before:
            self._owners.setdefault(partition, set()).add(member)
            self.first.setdefault(partition, at)
            gap = self._open.pop(partition, None)
            if gap is not None:
                # Rows come in the journal's order, which is not always the order of their times.
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
        """Forget partitions without an owner if there are more than `most` plus the number of owned partitions."""
        if len(self.first) > most + 2 * len(self._owners):
            self.first = {partition: at for partition, at in self.first.items() if partition in self._owners}
        if len(self._open) > most + len(self._owners):
            self._open.clear()

    def _let_go(self, partition: Partition, member: str) -> bool:
        """Remove a member from the owners of a partition. Return whether the partition has no owner left."""
        owners = self._owners[partition]
        owners.discard(member)
        if not owners:
            del self._owners[partition]
        return not owners

    def _lost(self, partition: Partition, at: int) -> Gap:
        gap = self._open[partition] = Gap(partition, at)
        return gap
