"""Make the ownership map of a run: for each partition, which process owned it from when to when, and what each rebalance cost.

    for found in ownership_maps(JournalReader(file)).values():
        print(found.group, found.moved, found.lasted(PALE, UNOWNED))

A process is a group.instance.id or a client id (`processes`). All figures about moves and about partitions without an owner come from here
or from the same `Rebalance`s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ..journal.read import UnknownRow
from ..journal.rows import Row
from .embedded import Partition
from .fold import Rebalances
from .group_fold import GroupFold, Json
from .owners import JOINT, OWNED, PALE, SHARED, UNKNOWN, UNOWNED, Listeners, Span
from .rebalance_model import Rebalance

STATES: Final = (OWNED, PALE, UNOWNED, SHARED, UNKNOWN, JOINT)


@dataclass(slots=True)
class OwnershipMap:
    """The owners of one group's partitions from `begin` to `end` (ns, the times of the first and last row).

    `spans` has the periods of each partition without a hole, from the first one that the rows tell of. `rebalances` are those of the group,
    in order; each says what it `moved` and how long partitions had no owner because of it.
    """

    group: str
    begin: int
    end: int
    spans: dict[Partition, list[Span]]
    rebalances: list[Rebalance]

    @property
    def processes(self) -> list[str]:
        """Return the processes that owned a partition, in the order in which they first did."""
        firsts = sorted((span for spans in self.spans.values() for span in spans), key=lambda each: (each.since, each.partition))
        return list(dict.fromkeys(process for span in firsts for process in span.processes))

    @property
    def moved(self) -> int | None:
        """Return how many partitions all rebalances together moved, or None if the rows do not say so of some rebalance."""
        moved = [each.moved for each in self.rebalances]
        return None if None in moved else sum(each or 0 for each in moved)

    def lasted(self, *states: str, begin: int | None = None, end: int | None = None) -> int:
        """Return the partition-ns in these states, between `begin` and `end` if they are given."""
        first, last = self.begin if begin is None else begin, self.end if end is None else end
        return sum(
            max(0, (last if span.until is None else min(span.until, last)) - max(span.since, first))
            for spans in self.spans.values()
            for span in spans
            if span.state in states
        )


class OwnershipMaps:
    """Makes the ownership maps of the groups of a journal from its rows, which are passed to `feed` in order. With `group`, only the map of
    that group is made."""

    def __init__(self, group: str | None = None) -> None:
        self._begin: int | None = None
        self._end = 0
        self._spans: defaultdict[str, defaultdict[Partition, list[Span]]] = defaultdict(lambda: defaultdict(list))
        self._over: defaultdict[str, list[Rebalance]] = defaultdict(list)
        self._fold = Rebalances(group, self._listeners)

    def feed(self, row: Json | Row | UnknownRow) -> None:
        """Read the next row, which is a row object or a dict of its JSON."""
        at = row.t if isinstance(row, Row | UnknownRow) else row["t"]
        self._begin = at if self._begin is None else min(at, self._begin)
        self._end = max(at, self._end)
        over = self._fold.feed(row)
        if over is not None:
            self._over[over.group].append(over)

    def maps(self) -> dict[str, OwnershipMap]:
        """Return the maps of the rows so far, by the name of the group."""
        begin, open_now = self._begin or 0, {each.group: each for each in self._fold.close()}
        found = {}
        for name, group in self._fold.groups.items():
            spans = {partition: self._merged(group, spans, begin) for partition, spans in sorted(self._spans[name].items())}
            rebalances = [*self._over[name], *([open_now[name]] if name in open_now else [])]
            found[name] = OwnershipMap(name, begin, self._end, spans, rebalances)
        return found

    def _listeners(self, group: str) -> Listeners:
        spans = self._spans[group]
        return Listeners(spans=lambda span: spans[span.partition].append(span))

    def _merged(self, group: GroupFold, spans: list[Span], begin: int) -> list[Span]:
        """Return the spans without those that lasted no time, and neighbours of one state as one span. The time before the first is unknown
        if the rows do not show the group or the partition from its begin."""
        found: list[Span] = []
        first = spans[0]
        if not group.whole and first.partition not in self._fold.created and first.since > begin:
            found.append(Span(first.partition, UNKNOWN, (), begin, first.since))
        for span in spans:
            if span.until is not None and span.until <= span.since:
                continue
            last = found[-1] if found else None
            if last is not None and (last.state, last.processes) == (span.state, span.processes):
                last.until = span.until
            else:
                found.append(replace(span))
        return found


def ownership_maps(rows: Iterable[Json | Row | UnknownRow], group: str | None = None) -> dict[str, OwnershipMap]:
    """Return the ownership maps of a journal's groups by their names, or only that of `group`."""
    maps = OwnershipMaps(group)
    for row in rows:
        maps.feed(row)
    return maps.maps()
