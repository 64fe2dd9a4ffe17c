"""Follow the records in flight of one share group row by row: which member had which records of a partition from when to when, and what
became of those that it did not accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import structs

from ..journal.rows import NoteRow
from ..rounds import Partition
from ..rounds.record_runs import Run, joined, without
from ..story.record_lines import ACKNOWLEDGED, ACQUIRED, RELEASED, TIMES, runs_text
from ..story.words import shortened, text
from .model import Possession, RecordEvent, RecordLane
from .words import by_number

MOST: Final = 5_000
"""At most this many changes of records in flight are kept."""
MOST_LANES: Final = 100
"""At most this many pairs of a partition and a member have rows."""
Runs = Sequence[Sequence[int]]
GONE: Final = ("accepted", "released", "rejected", "gaps", "exhausted", "available", "archived")
"""The fields of notes with records that the member does not have any more."""
AGAIN, LOST, ARCHIVED, ACCEPTED = "again", "lost", "archived", "accepted"
"""The kinds of events: records are delivered again, are available again because the member lost or released them, are archived without
being accepted, or are accepted."""


class RecordTrack:
    """The records in flight of one group. `left_out` counts the changes that had no room."""

    def __init__(self) -> None:
        self.left_out = 0
        self._lanes: dict[tuple[Partition, str], RecordLane] = {}
        self._held: dict[tuple[Partition, str], list[Run]] = {}
        self._changes = 0

    def note(self, row: NoteRow) -> None:
        """Read a note about records that a member acquired, acknowledged or lost."""
        if row.what not in (ACQUIRED, ACKNOWLEDGED, RELEASED):
            return
        fields = row.fields
        place, member = (str(fields["topic"]), int(fields["partition"])), str(fields["member_id"])
        key = place, member
        if self._changes >= MOST or (key not in self._lanes and len(self._lanes) >= MOST_LANES):
            self.left_out += 1
            if self._held.pop(key, None):
                _end(self._lanes[key], row.t)  # What the member has from now on is not known.
            return
        self._changes += 1
        lane = self._lanes.setdefault(key, RecordLane(f"{text(place[0])}/{place[1]}", member))
        before = self._held.get(key, [])
        if row.what == ACQUIRED:
            held = joined([*before, *fields["records"]])
        else:
            held = without(before, [run for what in GONE for run in fields.get(what, ())])
        self._held[key] = held
        self._changed(lane, row.t, before, held)
        lane.events += _events(row)

    def lanes(self, label: Callable[[str], str], process: Callable[[str], int]) -> list[RecordLane]:
        """Return the rows in the order of partitions and of labels. `label` and `process` give those of a member."""
        found = [
            structs.replace(
                lane, label=label(member) if member else "nobody", process=process(member), spans=[*lane.spans], events=[*lane.events]
            )
            for (_, member), lane in sorted(self._lanes.items(), key=lambda each: each[0])
            if lane.spans or lane.events
        ]  # fmt: skip
        return sorted(found, key=lambda lane: (by_number(lane.partition), lane.label))

    def forget(self, before: int) -> None:
        """Forget everything that ended before a time (ns)."""
        for key, lane in [*self._lanes.items()]:
            kept = len(lane.spans) + len(lane.events)
            lasting_records([lane], before)
            self._changes -= min(self._changes, kept - len(lane.spans) - len(lane.events))
            if not lane.spans and not lane.events:
                del self._lanes[key]
                self._held.pop(key, None)

    @staticmethod
    def _changed(lane: RecordLane, at: int, before: Runs, held: Runs) -> None:
        if list(before) == list(held):
            return
        _end(lane, at)
        if held:
            number = sum(last - first + 1 for first, last in held)
            lane.spans.append(Possession(at, None, number, runs_text(held)))


def _end(lane: RecordLane, at: int) -> None:
    """End the present possession of records, and drop one that took no time."""
    if lane.spans and lane.spans[-1].until is None:
        lane.spans[-1].until = max(at, lane.spans[-1].since)
        if lane.spans[-1].until == lane.spans[-1].since:
            lane.spans.pop()


def _events(row: NoteRow) -> Iterator[RecordEvent]:
    fields, at = row.fields, row.t
    for run in [run for run in fields["records"] if run[2] > 1] if row.what == ACQUIRED else ():
        times = TIMES.get(run[2], f"{run[2]}th")
        yield RecordEvent(at, AGAIN, f"{runs_text([run])}: {times} time", f"{runs_text([run])} delivered for the {times} time")
    if accepted := fields.get("accepted"):
        yield RecordEvent(at, ACCEPTED, "", f"{runs_text(accepted)} accepted")
    if released := fields.get("released"):
        yield RecordEvent(at, LOST, f"{runs_text(released)} released", f"{runs_text(released)} released by the member")
    if rejected := fields.get("rejected"):
        yield RecordEvent(at, ARCHIVED, f"{runs_text(rejected)} rejected", f"{runs_text(rejected)} rejected: archived")
    reason = shortened(str(fields.get("reason", "released after the last delivery")))
    short = str(fields.get("cause", "")).replace("_", " ")
    if available := fields.get("available"):
        yield RecordEvent(at, LOST, f"{runs_text(available)}: {short}", f"{runs_text(available)} available again", reason)
    for runs in (fields.get("exhausted"), fields.get("archived")):
        if runs:
            yield RecordEvent(at, ARCHIVED, f"{runs_text(runs)} archived", f"{runs_text(runs)} archived without being accepted", reason)


def lasting_records(lanes: list[RecordLane], begin: int) -> list[RecordLane]:
    """Return the rows without what ended before a time (ns)."""
    for lane in lanes:
        lane.spans = [each for each in lane.spans if each.until is None or each.until >= begin]
        lane.events = [each for each in lane.events if each.at >= begin]
    return [lane for lane in lanes if lane.spans or lane.events]
