"""Follow the owners of partitions over time, from the changes that `groupmock.rounds` reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..rounds import UNKNOWN, Partition, Partitions, Span
from .interned import Tables
from .model import OWNERSHIP, Band, Stretch
from .thinning import Spans

OWNER, STANDBY = "owner", "standby"
"""The roles in which a member has partitions or tasks."""


@dataclass(slots=True)
class Room:
    """The spans of time that are kept for all groups in a journal."""

    bands: Spans[Band]
    owners: Spans[Span]


class Holdings:
    """The spans of time in which the members of one group owned partitions, and those of its ownership map. `name` is the group's key in
    `room`; `lane` maps member ids to indexes of lanes."""

    def __init__(self, name: str, tables: Tables, room: Room, lane: Callable[[str], int]) -> None:
        self._name, self._tables, self._room, self._lane = name, tables, room, lane
        self._now: dict[tuple[str, str], Band] = {}

    def changed(self, member: str, _: Partitions, after: Partitions, at: int) -> None:
        """Note a change of ownership that `groupmock.rounds.Listeners` reports."""
        self._band(member, after, at)

    def stands(self, member: str, _: Partitions, after: Partitions, at: int) -> None:
        """Note other standby tasks of a member that `groupmock.rounds.Listeners` reports."""
        self._band(member, after, at, STANDBY)

    def bands(self, member: str, role: str = OWNER) -> list[Band]:
        """Return the partitions of one member over time, or its standby tasks, without those that lasted no time."""
        return [each for each in self._room.bands.of((self._name, member, role)) if each.until is None or each.until > each.since]

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

    def _band(self, member: str, after: Partitions, at: int, role: str = OWNER) -> None:
        old = self._now.pop((member, role), None)
        if old is not None:
            old.until = max(at, old.since)  # Rows come in the journal's order, which is not always the order of their times.
        if after:
            new = self._now[member, role] = Band(at, None, self._tables.held(after))
            self._room.bands.add((self._name, member, role), new)
        self._lane(member)


def _when(item: tuple[Iterable[object], object]) -> tuple[int, int]:
    since, until, *_ = item[0]
    assert isinstance(since, int)
    return since, until if isinstance(until, int) else 1 << 62
