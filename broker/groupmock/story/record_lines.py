"""Make the lines about the records of a share group: who got which, what became of them, and why a record is delivered again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..journal.rows import NoteRow
from .folding import Line
from .releases import Runs, place
from .words import MOST, SENTENCE, count, text

if TYPE_CHECKING:
    from .tale import Tale

ACQUIRED: Final = "records_acquired"
ACKNOWLEDGED: Final = "records_acknowledged"
RELEASED: Final = "records_released"
TIMES: Final = {2: "second", 3: "third", 4: "fourth", 5: "fifth"}
BY_COMMAND: Final = {
    "expiry_ordered": "a command ended {}'s lock",
    "release_ordered": "a command released what {} had",
}
BY_MEMBER: Final = {
    "lock_ended": "{}'s lock ended",
    "session_closed": "{} closed its share session",
    "connection_closed": "{}'s connection closed",
    "leader_moved": "the leader moved while {} had it",
    "group_idle": "nobody of the group fetched any more",
}


def acquired(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Say which records a member got; of those that it did not get as the first one, why they were available."""
    member_id = str(row.fields["member_id"])
    who, ids = tale.people.name(member_id), (member_id,)
    new = [run for run in row.fields["records"] if run[2] == 1]
    if new:
        yield Line(row.t, f"{who} gets {_records(row, new)}", ids, ("gets", who, *place(row)))
    for run in [run for run in row.fields["records"] if run[2] > 1][:MOST]:
        times = TIMES.get(run[2], f"{run[2]}th")
        reason = tale.releases.reason(row, run[0])
        again = f"{_records(row, [run])} {_are([run])} delivered to {who} for the {times} time"
        yield Line(row.t, again if reason is None else f"{again}: {reason}", ids)


def acknowledged(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Say what a member did with records: accepted ones in one line, released, rejected and exhausted ones each with their offsets."""
    member_id = str(row.fields["member_id"])
    who, ids = tale.people.name(member_id), (member_id,)
    if accepted := row.fields.get("accepted"):
        yield Line(row.t, f"{who} accepts {_records(row, accepted)}", ids, ("accepts", who, *place(row)))
    if released := row.fields.get("released"):
        tale.releases.add(row, released, f"{who} released {_them(released)}")
        yield Line(row.t, f"{who} releases {_records(row, released)}", ids, ("releases", who, *place(row)))
    if renewed := row.fields.get("renewed"):
        yield Line(row.t, f"{who} renews its lock of {_records(row, renewed)}", ids, ("renews", who, *place(row)))
    if rejected := row.fields.get("rejected"):
        yield Line(row.t, f"{who} REJECTS {_records(row, rejected)}: archived, nobody gets {_them(rejected)} again", ids)
    if exhausted := row.fields.get("exhausted"):
        yield _exhausted(row, exhausted, f"{who} released {_them(exhausted)} after the last delivery", ids)


def released(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Say why records are available again, or archived."""
    member_id, cause = str(row.fields["member_id"]), str(row.fields.get("cause"))
    who, ids = tale.people.name(member_id) if member_id else "nobody", (member_id,) if member_id else ()
    told = text(row.fields["reason"], SENTENCE)
    if cause == "lock_ended":
        reason = f"{who}'s {told.removeprefix('the ')}"
    else:
        reason = (BY_COMMAND.get(cause) or BY_MEMBER.get(cause) or told).format(who)
    if available := row.fields.get("available"):
        tale.releases.add(row, available, reason)
        yield Line(row.t, f"{_records(row, available)} {_are(available)} available again: {reason}", ids, ("again", reason, *place(row)))
    if archived := row.fields.get("archived"):
        yield _exhausted(row, archived, reason, ids)


def _exhausted(row: NoteRow, runs: Runs, reason: str, ids: tuple[str, ...]) -> Line:
    return Line(row.t, f"{_records(row, runs)} {_are(runs)} ARCHIVED without being accepted: {reason}", ids)


def _records(row: NoteRow, runs: Runs) -> str:
    """Return a name of the records: record 7 of orders/0, or records 3 to 9 and 12 of orders/0."""
    shown = [str(run[0]) if run[0] == run[1] else f"{run[0]} to {run[1]}" for run in runs[:MOST]]
    more = f" and {count(len(runs) - MOST, 'more run')}" if len(runs) > MOST else ""
    where = f"{text(row.fields['topic'])}/{row.fields['partition']}"
    return f"{'record' if _one(runs) else 'records'} {', '.join(shown)}{more} of {where}"


def _one(runs: Runs) -> bool:
    return len(runs) == 1 and runs[0][0] == runs[0][1]


def _are(runs: Runs) -> str:
    return "is" if _one(runs) else "are"


def _them(runs: Runs) -> str:
    return "it" if _one(runs) else "them"
