"""Follow the owners of partitions over time, from the changes that `groupmock.rounds` reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..rounds import UNKNOWN, Gap, Partition, Partitions, Span
from .interned import Tables
from .model import OWNERSHIP, Band, Double, Hole, Stretch
from .thinning import Spans


@dataclass(slots=True)
class Shared:
    """A partition that several members own at once, from when until when."""

    partition: Partition
    members: frozenset[str]
    since: int
    until: int | None = None


@dataclass(slots=True)
class Room:
    """The spans of time that are kept for all groups in a journal."""

    bands: Spans[Band]
    gaps: Spans[Gap]
    doubles: Spans[Shared]
    owners: Spans[Span]


class Holdings:
    """The spans of time in which the members of one group owned partitions, or in which partitions had no owner or several. `name` is
    the group's key in `room`; `lane` maps member ids to indexes of lanes."""

    def __init__(self, name: str, tables: Tables, room: Room, lane: Callable[[str], int]) -> None:
        self._name, self._tables, self._room, self._lane = name, tables, room, lane
        self._now: dict[str, Band] = {}
        self._owners: dict[Partition, set[str]] = {}
        self._shared: dict[Partition, Shared] = {}

    def changed(self, member: str, before: Partitions, after: Partitions, at: int, gaps: Sequence[Gap]) -> None:
        """Note a change of ownership that `groupmock.rounds.Listeners` reports."""
        self._band(member, after, at)
        for partition in before - after:
            self._owners[partition].discard(member)
            self._share(partition, at)
        for partition in after - before:
            self._owners.setdefault(partition, set()).add(member)
            self._share(partition, at)
        for gap in gaps:
            self._room.gaps.add(self._name, gap)

    def bands(self, member: str) -> list[Band]:
        """Return the partitions of one member over time, without those that lasted no time."""
        return [each for each in self._room.bands.of((self._name, member)) if each.until is None or each.until > each.since]

    def gaps(self) -> list[Hole]:
        """Return the partitions without an owner; those that began and ended together are one entry."""
        found: defaultdict[tuple[int, int | None], set[Partition]] = defaultdict(set)
        for gap in self._room.gaps.of(self._name):
            if gap.until is None or gap.until > gap.since:
                found[gap.since, gap.until].add(gap.partition)
        return [Hole(since, until, self._tables.held(frozenset(each))) for (since, until), each in sorted(found.items(), key=_when)]

    def doubles(self) -> list[Double]:
        """Return the partitions with several owners; those of the same members that began and ended together are one entry."""
        found: defaultdict[tuple[int, int | None, frozenset[str]], set[Partition]] = defaultdict(set)
        for each in self._room.doubles.of(self._name):
            if each.until is None or each.until > each.since:
                found[each.since, each.until, each.members].add(each.partition)
        return [
            Double(since, until, self._tables.held(frozenset(partitions)), sorted(map(self._lane, members)))
            for (since, until, members), partitions in sorted(found.items(), key=_when)
        ]

    def began(self, span: Span) -> None:
        """Note a span of the ownership map, whose end is set later."""
        self._room.owners.add(self._name, span)

    def stretches(self, place_of: Callable[[str], int], begin: int | None) -> list[Stretch]:
        """Return the parts of the ownership map. `place_of` maps the name of a process to its index. If `begin` is not None, the owner of
        a partition is unknown from then until its first span."""
        found: defaultdict[tuple[int, int | None, str, tuple[str, ...]], set[Partition]] = defaultdict(set)
        last: dict[Partition, Span] = {}
        for span in self._room.owners.of(self._name):
            if span.until is not None and span.until <= span.since:
                continue
            before = last.get(span.partition)
            if before is None and begin is not None and begin < span.since:
                found[begin, span.since, UNKNOWN, ()].add(span.partition)
            if before is not None and (before.state, before.processes, before.until) == (span.state, span.processes, span.since):
                # The partition was lost and owned again at the same time.
                found[before.since, before.until, before.state, before.processes].discard(span.partition)
                span = Span(span.partition, span.state, span.processes, before.since, span.until)
            found[span.since, span.until, span.state, span.processes].add(span.partition)
            last[span.partition] = span
        return [
            Stretch(since, until, self._tables.held(frozenset(each)), OWNERSHIP.index(state), [place_of(one) for one in processes])
            for (since, until, state, processes), each in sorted(found.items(), key=_when)
            if each
        ]

    def _band(self, member: str, after: Partitions, at: int) -> None:
        old = self._now.pop(member, None)
        if old is not None:
            old.until = max(at, old.since)  # Rows come in the journal's order, which is not always the order of their times.
        if after:
            new = self._now[member] = Band(at, None, self._tables.held(after))
            self._room.bands.add((self._name, member), new)
        self._lane(member)

    def _share(self, partition: Partition, at: int) -> None:
        old = self._shared.pop(partition, None)
        if old is not None:
            old.until = max(at, old.since)
        owners = self._owners[partition]
        if len(owners) > 1:
            new = self._shared[partition] = Shared(partition, frozenset(owners), at)
            self._room.doubles.add(self._name, new)
        elif not owners:
            del self._owners[partition]


def _when(item: tuple[Iterable[object], object]) -> tuple[int, int]:
    since, until, *_ = item[0]
    assert isinstance(since, int)
    return since, until if isinstance(until, int) else 1 << 62
