"""Follow the owners of one group's partitions over time, as the wire shows them.

A member owns what an answer to SyncGroup gave it. It loses a partition when an answer leaves it out, when the member joins without claiming
it (an eager member claims nothing), when the member is removed or replaced, or when the connection of its last JoinGroup ends. Anything
else that its client knows is on no wire. A member whose connection ended owns its partitions again when it sends a heartbeat or a commit by
another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from .embedded import Partition, Partitions
from .rebalance_model import Gap

NOTHING: Partitions = frozenset()
OWNED: Final = "owned"
PALE: Final = "pale"
UNOWNED: Final = "unowned"
SHARED: Final = "two owners"
JOINT: Final = "several readers"
UNKNOWN: Final = "unknown"
Changed = Callable[[str, Partitions, Partitions, int], None]
"""A listener that gets every change of ownership: member, partitions before and after, and the time (ns)."""


@dataclass(slots=True)
class Span:
    """A period in which a partition's ownership did not change; `until` is None while it lasts.

    `state` is OWNED (by the process in `processes`), PALE (the connection of its owner is gone, and the owner's session still runs),
    UNOWNED (`processes` is empty), SHARED (several members own the partition), JOINT (several
    members of a share group read it, as they should), or UNKNOWN (the rows begin later).
    """

    partition: Partition
    state: str
    processes: tuple[str, ...]
    since: int
    until: int | None = None


class Listeners(NamedTuple):
    """The functions that are called with the history of a group: `changed` after each change of ownership, and `spans` with each span
    that begins, whose end is set later. `stands` is called when a member of a streams group has other standby tasks."""

    changed: Changed | None = None
    spans: Callable[[Span], None] | None = None
    stands: Changed | None = None


class Ownership:
    """The owners of the partitions of a group. `first` maps each partition to the time (ns) when it was first owned. Memory grows
    with members and partitions, but not with time if `forget` is called now and then. `listeners` are for a caller that keeps the
    history. `jointly` says that several members may have one partition, as in a share group."""

    __slots__ = ("_last", "_open", "_owned", "_owners", "_pale", "_process_of", "first", "jointly", "listeners")

    def __init__(self, process_of: Callable[[str], str], listeners: Listeners, jointly: bool = False) -> None:
        self.listeners = listeners
        self.jointly = jointly
        self.first: dict[Partition, int] = {}
        self._process_of = process_of
        self._owned: dict[str, Partitions] = {}
        self._owners: dict[Partition, set[str]] = {}
        self._open: dict[Partition, Gap] = {}
        self._pale: dict[str, list[Gap]] = {}  # The gaps that began when the connection of a member ended.
        self._last: dict[Partition, Span] = {}  # The last span of each partition, if somebody wants spans.

    def of(self, member: str) -> Partitions:
        """Return the partitions that the member owns."""
        return self._owned.get(member, NOTHING)

    def owns(self, member: str, partitions: Partitions, at: int, hung_up: bool = False) -> list[Gap]:
        """Note that a member owns exactly these partitions from now on. Gaps that end are closed, and the gaps that begin are returned.
        `hung_up` says that the member's connection ended and that its session still runs."""
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
        gaps = [self._lost(partition, member, at) for partition in sorted(before - partitions) if self._let_go(partition, member)]
        if not hung_up:
            self.lapses(member, at)
            self._lapse(gaps, at)
        elif gaps:
            self._pale.setdefault(member, []).extend(gaps)
        self._show(before ^ partitions, at)
        if self.listeners.changed is not None and before != partitions:
            self.listeners.changed(member, before, partitions, at)
        return gaps

    def lapses(self, member: str, at: int, but: Partitions = NOTHING) -> None:
        """Note that a member whose connection had ended has no right to its former partitions any more, except `but`."""
        gaps = self._pale.pop(member, ())
        kept = [gap for gap in gaps if gap.until is None and gap.partition in but]
        if kept:
            self._pale[member] = kept
        self._lapse([gap for gap in gaps if gap.until is None and gap.partition not in but], at)

    def returns(self, member: str, at: int) -> None:
        """Note that a member whose connection had ended has another one: it owns the partitions again that nobody owns since then."""
        left = frozenset(gap.partition for gap in self._pale.get(member, ()) if gap.until is None)
        if left:
            self.owns(member, self.of(member) | left, at)

    def is_pale(self, member: str) -> bool:
        """Return whether the member's connection ended while it owned partitions that nobody owns since then."""
        return member in self._pale

    def wants(self, partitions: Iterable[Partition], at: int) -> None:
        """Note that the group wants partitions from now on. Those that nobody owned yet have no owner."""
        self._show([each for each in partitions if each not in self.first], at)

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
            self._pale.clear()
        if len(self._last) > most + 2 * len(self._owners):
            self._last = {partition: span for partition, span in self._last.items() if partition in self._owners}

    def _let_go(self, partition: Partition, member: str) -> bool:
        """Remove a member from the owners of a partition. Return whether the partition has no owner left."""
        owners = self._owners[partition]
        owners.discard(member)
        if not owners:
            del self._owners[partition]
        return not owners

    def _lost(self, partition: Partition, member: str, at: int) -> Gap:
        gap = self._open[partition] = Gap(partition, at, process=self._process_of(member))
        return gap

    def _lapse(self, gaps: Sequence[Gap], at: int) -> None:
        for gap in gaps:
            gap.lapsed = max(at, gap.since)
        self._show([gap.partition for gap in gaps], at)

    def _show(self, partitions: Iterable[Partition], at: int) -> None:
        """Begin the spans of partitions whose ownership changed."""
        if self.listeners.spans is None:
            return
        for partition in partitions:
            state, processes = self._state(partition)
            last = self._last.get(partition)
            if last is not None:
                if (last.state, last.processes) == (state, processes):
                    continue
                last.until = max(at, last.since)
            span = self._last[partition] = Span(partition, state, processes, at)
            self.listeners.spans(span)

    def _state(self, partition: Partition) -> tuple[str, tuple[str, ...]]:
        owners = self._owners.get(partition)
        if owners:
            several = JOINT if self.jointly else SHARED
            return several if len(owners) > 1 else OWNED, tuple(sorted(map(self._process_of, owners)))
        gap = self._open.get(partition)
        return (PALE, (gap.process,)) if gap is not None and gap.lapsed is None else (UNOWNED, ())
