"""Say in a few sentences what happened to a group and what it cost, the dearest thing first.

The figures are those of the fold (`groupmock.rounds`): rebalances, partitions that moved, and periods without an owner, in which nobody
reads a partition. A sentence says that a process was killed only if a row says so. `Headlines` gets the rows that a fold gets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from groupmock_codec.group_states import COMPLETING_REBALANCE, DEAD, EMPTY, NOT_READY, PREPARING_REBALANCE
from groupmock_codec.units import NS_PER_MS, NS_PER_S

from ..journal.read import UnknownRow
from ..journal.rows import ClientRow, CommandRow, MemberRow, Row
from ..rounds import Gap, GroupFold, Partition, Rebalance, Rebalances
from ..rounds.rebalance_model import JOINED
from ..rounds.tasks import is_task
from .words import NAMED, count, named, partitions_text, rebalances_text, text

NOTABLE: Final = NS_PER_S // 2
"""A period without an owner is told if it lasted at least this long (ns)."""
HANGS: Final = NS_PER_S
"""An unfinished rebalance is told if it lasts at least this long (ns)."""
KEPT: Final = 1_000
"""At most this many removed members, processes and costs are remembered, each."""
EXPIRED, LEFT, SILENT, REPLACED = "session_expired", "member_left", "member_silent", "replaced"
SESSION: Final = re.compile(r" expired after (\d+) ms$")
KILLED: Final = "killed"
"""The `what` of a client row that says that the client's process was killed."""
LISTED: Final = 16
"""At most this many partitions are named; more are counted."""


class Unit(NamedTuple):
    """The words for what the members of a group own: its name, what they do with it, and how it is if nobody does."""

    noun: str
    done: str
    undone: str


PARTITION: Final = Unit("partition", "read", "unread")
OF_TASKS: Final = Unit("task", "processed", "unprocessed")
K = TypeVar("K")
V = TypeVar("V")


class Removal(NamedTuple):
    """The coordinator's word for why a process was removed, its session timeout in ms or None, and whether a command did it."""

    cause: str
    session: str | None
    ordered: bool


class Reason(NamedTuple):
    """The event after which partitions had no owner: the connection of a `process` ended at `at` (`pale`), the process was removed then, or
    a rebalance took partitions away ("")."""

    process: str
    at: int
    pale: bool
    cause: str


@dataclass(slots=True)
class Cost:
    """The partitions that had no owner for one reason, the partition-ns, the shortest time of one of them and the longest. `open` says that
    it still lasts, and `lapsed` is when the former owner was removed."""

    partitions: set[Partition] = field(default_factory=set)
    total: int = 0
    shortest: int | None = None
    longest: int = 0
    open: bool = False
    lapsed: int | None = None

    def add(self, gap: Gap, now: int) -> None:
        lasted = gap.lasted(0, now)
        if len(self.partitions) < KEPT:
            self.partitions.add(gap.partition)
        self.total += lasted
        self.shortest = lasted if self.shortest is None else min(self.shortest, lasted)
        self.longest = max(self.longest, lasted)
        self.open |= gap.until is None
        self.lapsed = gap.lapsed

    def with_more(self, other: Cost) -> Cost:
        """Return this cost with another one added."""
        times = [each.shortest for each in (self, other) if each.shortest is not None]
        return replace(
            self, partitions=self.partitions | other.partitions, total=self.total + other.total, shortest=min(times, default=None),
            longest=max(self.longest, other.longest), open=self.open or other.open,
        )  # fmt: skip


class Event(NamedTuple):
    """A reason for which partitions had no owner, and what it cost. `rebalance` is what the rebalance that followed cost on top of that."""

    reason: Reason
    cost: Cost
    rebalance: Cost | None

    @property
    def total(self) -> int:
        return self.cost.total + (self.rebalance.total if self.rebalance is not None else 0)

    @property
    def longest(self) -> int:
        return max(self.cost.longest, self.rebalance.longest if self.rebalance is not None else 0)


class GroupCosts:
    """The events of one group that its headline tells. `gaps` are those that have not ended, with the rebalance in which they began, and
    `total` has the partition-ns of the others. `joined` maps processes to the time when they last joined. The last rebalance is kept,
    because answers that come after its end may add to it."""

    def __init__(self) -> None:
        self.first_joins = self.rebalances = self.total = 0
        self.joined: dict[str, int] = {}
        self.left: dict[str, None] = {}
        self.back: dict[str, None] = {}
        self.removed: dict[tuple[str, int], Removal] = {}
        self.gaps: list[tuple[Gap, Rebalance]] = []
        self.costs: dict[Reason, Cost] = {}
        self._moved: int | None = 0
        self._last: Rebalance | None = None

    def ended(self, over: Rebalance, now: int) -> None:
        """Count a rebalance that ended, and sum up the gaps that ended before."""
        self._moved = self._moved_with(self._last)
        gaps, self.gaps = [*self.gaps, *_gaps(self._last)], []
        self.first_joins += over.first_join
        self.rebalances, self._last = self.rebalances + (not over.first_join), over
        for gap, rebalance in gaps:
            if gap.until is None:
                self.gaps.append((gap, rebalance))
            else:
                self.add(self.costs, gap, rebalance, now)
                self.total += gap.lasted(0, now)
        if len(self.costs) > KEPT:
            dearest = sorted(self.costs, key=lambda each: self.costs[each].total, reverse=True)[: KEPT // 2]
            self.costs = {each: self.costs[each] for each in dearest}

    def moved(self, fold: GroupFold) -> int | None:
        """Return how many partitions moved, or None if the rows do not say so."""
        return self._moved_with(self._last, fold.rebalance)

    def _moved_with(self, *more: Rebalance | None) -> int | None:
        found = [self._moved, *(each.moved for each in more if each is not None)]
        return None if None in found else sum(each or 0 for each in found)

    def add(self, costs: dict[Reason, Cost], gap: Gap, rebalance: Rebalance | None, now: int) -> None:
        pale = _is_pale(gap)
        if pale or (gap.process, gap.since) in self.removed or rebalance is None:
            reason = Reason(gap.process, gap.since, pale, "")
        else:
            reason = Reason("", rebalance.began, False, rebalance.cause)
        costs.setdefault(reason, Cost()).add(gap, now)

    def now(self, fold: GroupFold, now: int) -> tuple[list[Event], int]:
        """Return the events up to now, the dearest first, and the partition-ns of all. Partitions without an owner in a group
        without members do not count, unless the connection of their owner ended first."""
        costs = {reason: replace(each, partitions=set(each.partitions)) for reason, each in self.costs.items()}
        total, deserted = self.total, fold.state in (EMPTY, DEAD)
        lost = ((gap, None) for gap in fold.lost)
        for gap, rebalance in (*self.gaps, *_gaps(self._last), *_gaps(fold.rebalance), *lost):
            if not (deserted and gap.until is None and not _is_pale(gap)):
                self.add(costs, gap, rebalance, now)
                total += gap.lasted(0, now)
        return sorted(self._events(costs), key=lambda each: each.total, reverse=True), total

    def _events(self, costs: dict[Reason, Cost]) -> Iterator[Event]:
        """Yield the costs, that of a rebalance together with that of the removal which began it."""
        rebalances = {reason.at: reason for reason in costs if not reason.process}
        for reason, cost in costs.items():
            if reason.process:
                began = rebalances.pop(cost.lapsed if reason.pale and cost.lapsed is not None else reason.at, None)
                yield Event(reason, cost, None if began is None else costs[began])
        yield from (Event(reason, costs[reason], None) for reason in rebalances.values())


def _is_pale(gap: Gap) -> bool:
    """Return whether the gap began when the connection of the owner ended."""
    return gap.lapsed is None or gap.lapsed > gap.since


def _gaps(rebalance: Rebalance | None) -> Iterator[tuple[Gap, Rebalance]]:
    if rebalance is not None:
        yield from ((gap, rebalance) for gap in rebalance.gaps)


class Headlines:
    """Makes the headlines of groups from the rows of a run, passed to `feed` after `rebalances` has read them."""

    def __init__(self, rebalances: Rebalances) -> None:
        self._rebalances = rebalances
        self._groups: dict[str, GroupCosts] = {}
        self._killed: dict[str, int] = {}
        self._ordered = -1
        self._begin: int | None = None
        self._now = 0

    def feed(self, row: Row | UnknownRow, over: Rebalance | None) -> None:
        """Note a row of the run. `over` is the rebalance that ended with this row."""
        self.sees(row.t)
        if over is not None:
            self._of(over.group).ended(over, self._now)
        if isinstance(row, MemberRow):
            self._member(row)
        elif isinstance(row, ClientRow) and row.what == KILLED and len(self._killed) < KEPT:
            self._killed[row.client] = row.t
        elif isinstance(row, CommandRow):
            self._ordered = row.t

    def sees(self, at: int) -> None:
        """Note the time of a row of the run that says nothing about groups."""
        self._begin = at if self._begin is None else self._begin
        self._now = max(self._now, at)

    def until(self, now: int) -> None:
        """Extend what has not ended to a time (ns of the run) after the last row."""
        self._now = max(self._now, now)

    def of(self, group: str) -> str:
        """Return the headline of a group, "" if the group has had no rebalance."""
        fold = self._rebalances.groups.get(group)
        if fold is None:
            return ""
        costs = self._groups.get(group) or GroupCosts()
        first_joins, rebalances, now = costs.first_joins, costs.rebalances, fold.rebalance
        if now is not None:
            first_joins, rebalances = first_joins + now.first_join, rebalances + (not now.first_join)
        return " ".join(self._sentences(fold, costs, first_joins, rebalances)) if first_joins or rebalances else ""

    # -- rows

    def _of(self, group: str) -> GroupCosts:
        return self._groups.setdefault(group, GroupCosts())

    def _member(self, row: MemberRow) -> None:
        fold = self._rebalances.groups.get(row.group)
        if fold is None or row.what not in ("added", "removed", "away", REPLACED):
            return
        costs, process = self._of(row.group), fold.processes.of(row.member_id)
        if row.what == "added":
            if process in costs.left:
                _remember(costs.back, process, None)
            _remember(costs.joined, process, row.t)
            return
        found = SESSION.search(row.reason)
        if row.cause == LEFT or row.what == "away":
            _remember(costs.left, process, None)
        cause = {"away": LEFT, REPLACED: REPLACED}.get(row.what, row.cause or "")
        _remember(costs.removed, (process, row.t), Removal(cause, found[1] if found is not None else None, self._ordered == row.t))

    # -- sentences

    def _sentences(self, fold: GroupFold, costs: GroupCosts, first_joins: int, rebalances: int) -> Iterator[str]:
        events, total = costs.now(fold, self._now)
        dear = [each for each in events if each.longest >= NOTABLE]
        part = "" if fold.whole is not False else " of rows that begin in the middle of the run"
        told = rebalances_text(first_joins, rebalances)
        lasted = f"{told[0].upper()}{told[1:]} in {_lasted(self._now - (self._begin or 0))}{part}"
        moves = costs.moved(fold)
        unit = OF_TASKS if fold.protocol_type == "streams" else PARTITION
        none = f", no {unit.noun} moved" if moves == 0 and rebalances and fold.rebalance is None else ""
        moved = f", {count(moves, unit.noun)} moved" if moves else none
        hangs = self._hangs(fold)
        yield f"{lasted}{moved}{'' if dear or hangs else _who(costs)}."
        if hangs:
            yield hangs
        shown = 1 if hangs else 3 if len(dear) == 3 else 2  # "1 more time" would be as long as a third sentence.
        yield from (self._dear(costs, each) for each in sorted(dear[:shown], key=lambda each: each.reason.at))
        if dear[shown:]:
            times = _times(each.reason.at for each in dear[shown:])
            yield f"{unit.noun.title()}s were {unit.undone} {count(len(dear[shown:]), 'more time')}: from {times}."
        longest = max((each.longest for each in events), default=0)
        if longest >= NS_PER_MS:
            none = "" if dear or hangs else f"Nothing was {unit.undone} for longer than {_lasted(longest)}. "
            yield f"{none}In all, {total / NS_PER_S:.1f} {unit.noun}-seconds were {unit.undone}."
        elif not hangs:
            yield f"Nothing was {unit.undone}."

    def _hangs(self, fold: GroupFold) -> str:
        """Say whom a rebalance awaits that has not ended for long, or return ""."""
        now = fold.rebalance
        if now is None or not now.phases or self._now - now.began < HANGS:
            return ""
        began, process = now.phases[-1].began, fold.processes.of
        if fold.state == PREPARING_REBALANCE:
            missing = sorted({process(each) for each in fold.members if now.joined.get(each, -1) < began})
            awaited = f"JoinGroup of {named(missing)}" if missing else "members that join"
        elif fold.state == COMPLETING_REBALANCE:
            awaited = f"SyncGroup of its leader {text(process(now.leader))}" if now.leader else "SyncGroup of its leader"
        elif fold.state == NOT_READY:
            awaited = "the topics of its topology"
        else:
            late = sorted({process(each) for each in fold.members if fold.arrived.get(each, -1) < began})
            awaited = f"heartbeats of {named(late)}" if late else "a heartbeat"
        return f"The rebalance that began at {_at(now.began)} has not ended after {_lasted(self._now - now.began)}: it awaits {awaited}."

    def _dear(self, costs: GroupCosts, event: Event) -> str:
        reason, cost, rebalance = event
        if rebalance is not None and not reason.pale and _lasted_alike(cost, rebalance):
            cost, rebalance = cost.with_more(rebalance), None  # The same time without an owner is told once.
        further = "" if rebalance is None or rebalance.longest < NOTABLE else f"; the rebalance also left {_unread(rebalance, left=True)}"
        if not reason.process:
            trigger = _trigger(costs, reason)
            if trigger and not cost.open:
                return f"{trigger} at {_at(reason.at)}; the rebalance left {_unread(cost, left=True)}."
            began = f"The rebalance that began at {_at(reason.at)} ({text(reason.cause.replace('_', ' ') or 'cause unknown')})"
            return f"{f'{trigger} at {_at(reason.at)};' if trigger else f'{began}:'} {_unread(cost)}."
        name = text(reason.process)
        if not reason.pale:
            return f"{_removed(name, costs.removed.get((reason.process, reason.at)))} at {_at(reason.at)}; {_unread(cost)}{further}."
        killed = self._killed.get(reason.process)
        if killed is not None and 0 <= reason.at - killed <= NS_PER_S:
            how = f"{name} was killed at {_at(killed)}"
        else:
            leaving = "and it had not left" if _unit(cost) is OF_TASKS else "without LeaveGroup"
            how = f"{name}'s connection ended at {_at(reason.at)} {leaving}"
        return f"{how}; {_unread(cost)}{_until(costs.removed.get((reason.process, cost.lapsed or -1)), cost)}{further}."


def _remember(kept: dict[K, V], key: K, value: V) -> None:
    kept.pop(key, None)
    if len(kept) >= KEPT:
        del kept[next(iter(kept))]
    kept[key] = value


def _unit(cost: Cost) -> Unit:
    return OF_TASKS if any(map(is_task, cost.partitions)) else PARTITION


def _unread(cost: Cost, left: bool = False) -> str:
    """Say which partitions were unread and for how long, as a sentence, or after "the rebalance left" as its object."""
    number, unit = len(cost.partitions), _unit(cost)
    more = " or more" if number >= KEPT else ""
    where = partitions_text(cost.partitions) if number <= LISTED else f"{number} {unit.noun}s{more}"
    if cost.open and not left:
        return f"nobody has {unit.done} {where} since, for {_longest(cost)}"
    verb = "" if left else " was" if number == 1 else " were"
    return f"{where}{verb} {unit.undone} for {_longest(cost)}"


def _lasted_alike(one: Cost, other: Cost) -> bool:
    return not one.open and not other.open and _lasted(one.longest) == _lasted(other.longest)


def _longest(cost: Cost) -> str:
    """Return the time that partitions had no owner, or the longest of several."""
    longest = _lasted(cost.longest)
    return longest if cost.shortest is None or _lasted(cost.shortest) == longest else f"up to {longest}"


def _trigger(costs: GroupCosts, reason: Reason) -> str:
    """Name the process whose coming or going began a rebalance, or return ""."""
    if reason.cause == JOINED:
        came = [process for process, at in costs.joined.items() if at == reason.at]
        return f"{named(came)} joined" if came else ""
    gone = (each for each in costs.removed.items() if each[0][1] == reason.at and each[1].cause == reason.cause)
    return next((_removed(text(process), removal) for (process, _), removal in gone), "")


def _until(removal: Removal | None, cost: Cost) -> str:
    """Say what happened to a member whose connection had ended."""
    if cost.lapsed is None:
        return ", and its session still runs" if cost.open else " until it was back"
    if removal is None:
        return " until it was back" if not cost.open else ""
    session = f" of {removal.session} ms" if removal.session else ""
    ended = f"its session{session} expired" if removal.cause == EXPIRED else "it was removed"
    return f" ({'a command removed it' if removal.ordered else ended} at {_at(cost.lapsed)})"


def _removed(name: str, removal: Removal | None) -> str:
    if removal is None:
        return f"{name} lost its partitions"
    if removal.ordered:
        return f"A command removed {name}"
    if removal.cause == REPLACED:
        return f"Another client took the place of {name}"
    if removal.cause == EXPIRED:
        return f"{name} sent no heartbeat and its session{f' ({removal.session} ms)' if removal.session else ''} expired"
    told = {LEFT: "left", SILENT: "did not join again in time and was removed"}
    return f"{name} {told.get(removal.cause, 'was removed')}"


def _who(costs: GroupCosts) -> str:
    """Name the processes that joined and left, for a run in which nothing was dear."""
    joined, left = costs.joined.keys() - costs.back.keys(), costs.left.keys() - costs.back.keys()
    kinds = ((joined, "joined"), (left, "left"), (costs.back, "left and came back"))
    parts = [f"{named(sorted(who))} {what}" for who, what in kinds if who]
    return f": {', '.join(parts)}" if parts else ""


def _times(times: Iterable[int]) -> str:
    found = [_at(each) for each in sorted(times)]
    return ", ".join(found[:NAMED]) + (", ..." if len(found) > NAMED else "")


def _at(ns: int) -> str:
    return f"{ns / NS_PER_S:.1f} s"


def _lasted(ns: int) -> str:
    """Return a duration in seconds, or in ms if it is short."""
    return f"{ns / NS_PER_S:.1f} s" if ns >= 100 * NS_PER_MS else f"{ns / NS_PER_MS:.0f} ms"
