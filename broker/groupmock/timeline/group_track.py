"""Collect one group of a picture row by row: its states, rebalances and generations, its members, their requests, and its events."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from groupmock_codec.group_states import ASSIGNING, COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, RECONCILING

from ..journal.rows import MovedRow
from ..rounds import GroupFold, Rebalance
from ..rounds.group_fold import LIVES_ON
from ..rounds.rebalance_model import Generation
from ..story.words import member_text, shortened, text
from .holdings import STANDBY, Holdings, Room
from .interned import Tables
from .lanes import BEFORE, Lanes
from .model import OK, Event, GenerationFacts, Group, Lane, Life, Mark, Round, State
from .record_track import RecordTrack
from .said import Unsaid
from .thinning import Dots
from .words import by_number

MOST_STATES: Final = 20_000
"""At most this many states of a group are kept; its rebalances and generations are fewer."""


@dataclass(slots=True)
class Asking:
    """Requests of one member with equal results, which become one `Mark` when their texts are entered in the table of texts."""

    at: int
    until: int
    count: int
    latency: int
    seq: int
    asked: Unsaid | str = ""
    answered: Unsaid | str = ""


def more_asking(old: Asking, new: Asking) -> None:
    """Merge further requests with an equal result into those of a mark."""
    old.until, old.count, old.latency = max(old.until, new.until), old.count + new.count, max(old.latency, new.latency)


def more_events(old: Event, new: Event) -> None:
    """Merge further equal events into one event with a count."""
    old.until, old.count = max(old.until, new.until), old.count + new.count


class GroupTrack:
    """The history of one group, from which the picture is made. `lanes`, `holdings` and `records` are fed directly; the rest comes by
    `moved`, `over` and `generation`."""

    def __init__(self, name: str, tables: Tables, room: Room) -> None:
        self.name = name
        self.lanes = Lanes()
        self.holdings = Holdings(name, tables, room, self.lanes.place)
        self.records = RecordTrack()
        self.left_out = 0
        self._tables = tables
        self._states: list[State] = []
        self._rounds: list[Round] = []
        self._last: Rebalance | None = None  # Answers that come after its end may still add moves to it.
        self._generations: list[GenerationFacts] = []
        self._newest: Generation | None = None
        self._processes: dict[str, int] = {}

    def moved(self, row: MovedRow) -> None:
        """Note a change of the group's state."""
        if self._states:
            last = self._states[-1]
            last.until = max(row.t, last.since)
        if len(self._states) >= MOST_STATES:
            self.left_out += 1
            self._states.pop()
        self._states.append(
            State(row.t, None, text(row.after), row.generation, row.members, shortened(row.reason), text(row.cause or ""))
        )  # fmt: skip
        if row.after == DEAD and row.cause not in LIVES_ON:
            self.lanes.all_gone(row.t, row.reason)

    def over(self, found: Rebalance) -> None:
        """Note a rebalance when it has ended, or at the end of the journal."""
        self._rounds, self._last = self._ended(), found

    def generation(self, fold: GroupFold) -> None:
        """Note the newest generation, once for each. Everything about the generation before is known by then."""
        if fold.generation is not self._newest and fold.generation is not None:
            self._generations += self._newest_facts()
            self._newest = fold.generation

    def group(
        self, source: int, asked: Dots[Asking], done: Dots[Event], fold: GroupFold | None, begin: int | None = None,
        under_way: Rebalance | None = None,
    ) -> Group:  # fmt: skip
        """Return the group up to now, with lists of its own, because more rows may come. `asked`, `done` are those of all groups of the
        journal; `under_way` is a rebalance that has not ended. `fold` is None if the group never existed. If `begin` is given, the owners
        of partitions are unknown from then on until the rows show them."""
        rounds = [*self._ended(), *([self._round(under_way)] if under_way is not None else [])]
        found = Group(self.name, source, [*self._states], rounds, [*self._generations, *self._newest_facts()])
        marks: defaultdict[int, list[Mark]] = defaultdict(list)
        befell: defaultdict[int, list[Event]] = defaultdict(list)
        for (group, place, api, result), dots in asked.items():
            if group == self.name:
                marks[place] += [self._mark(api, result, each) for each in dots]
        for (group, where, *_), events in done.items():
            if group == self.name:
                (found.events if where is None else befell[where]).extend(events)
        lanes = list(self.lanes.finished())
        process_of = {lane.member_id: fold.processes.of(lane.member_id) for _, lane in lanes if fold is not None and _is_member(lane, fold)}
        for name in sorted({*process_of.values()} - self._processes.keys(), key=by_number):
            self._process(name)
        for place, lane in lanes:
            bands = self.holdings.bands(lane.member_id) if lane.member_id else []
            standbys = self.holdings.bands(lane.member_id, STANDBY) if lane.member_id else []
            marks[place].sort(key=lambda each: (each.at, each.seq))
            befell[place].sort(key=lambda each: each.at)
            self._began_before(lane.lives, [each.since for each in bands] + self._accepted(marks[place]))
            process = self._process(process_of[lane.member_id]) if lane.member_id in process_of else -1
            shown = {"bands": bands, "standbys": standbys, "marks": marks[place], "events": befell[place]}
            found.lanes.append(structs.replace(lane, process=process, **shown))
        found.events.sort(key=lambda each: each.at)
        found.records = self.records.lanes(
            lambda member: self.lanes.label(member) if self.lanes.known(member) is not None else member_text(member),
            lambda member: self._process(process_of[member]) if member in process_of else -1,
        )
        found.owners = self.holdings.stretches(self._process, begin)
        found.processes = [text(each) for each in self._processes]
        found.name = text(self.name)
        return found

    def forget(self, before: int) -> None:
        """Forget everything that ended before a time (ns)."""
        self._states = [each for each in self._states if each.until is None or each.until >= before]
        self._rounds = [each for each in self._rounds if each.ended is None or each.ended >= before]
        if self._last is not None and self._last.ended is not None and self._last.ended < before:
            self._last = None
        self._generations = [each for each in self._generations if each.began >= before]
        self.records.forget(before)

    def _ended(self) -> list[Round]:
        last = [] if self._last is None or len(self._rounds) >= MOST_STATES else [self._round(self._last)]
        return [*self._rounds, *last]

    def _process(self, name: str) -> int:
        return self._processes.setdefault(name, len(self._processes))

    def _round(self, found: Rebalance) -> Round:
        label = self.lanes.label
        return Round(
            found.number, found.began, found.ended, found.ended_in or "", shortened(found.reason), text(found.cause),
            found.generation_before, found.generation_after, found.members_after,
            leader=label(found.leader) if found.leader else "",
            last_joined=label(found.last_joined) if found.last_joined else "", moves=found.moved, first_join=found.first_join,
            preparing=found.spent(PREPARING_REBALANCE, ASSIGNING), completing=found.spent(COMPLETING_REBALANCE, RECONCILING),
        )  # fmt: skip

    def _accepted(self, marks: list[Mark]) -> list[int]:
        accepted = self._tables.texts.get(OK)
        return [each.at for each in marks if each.result == accepted][:1]

    @staticmethod
    def _began_before(lives: list[Life], seen: list[int]) -> None:
        """Add the stay of a member that joined before the rows begin, as it owned partitions or got an answer that only members get.
        That is so in a journal that begins in the middle."""
        if not lives and seen:
            lives.append(Life(min(seen), BEFORE))

    def _mark(self, api: int, result: str, asking: Asking) -> Mark:
        tables = self._tables
        return Mark(
            asking.at, asking.until, api, tables.text(result), asking.count, asking.latency, asking.seq, tables.said(asking.asked),
            tables.said(asking.answered),
        )  # fmt: skip

    def _newest_facts(self) -> list[GenerationFacts]:
        last = self._newest
        if last is None or len(self._generations) >= MOST_STATES:
            return []
        told = GenerationFacts(
            last.number, last.began, self.lanes.label(last.leader), text(last.protocol), len(last.claims), last.planned,
            len(last.heard.keys() & last.claims.keys()), last.settled,
        )  # fmt: skip
        return [told]


def _is_member(lane: Lane, fold: GroupFold) -> bool:
    return bool(lane.member_id) and (bool(lane.lives) or lane.member_id in fold.processes)
