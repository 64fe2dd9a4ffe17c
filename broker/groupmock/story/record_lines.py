"""Make the lines about the records of a share group: who got which, what became of them, and why a record is delivered again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from ..journal.rows import NoteRow, ReplyRow
from ..journal.whose import field
from .asked import Asked
from .exchanged import TopicNames, errors_of, items, named, number
from .folding import Line
from .people import People
from .releases import Releases, Runs, place
from .words import MOST, SENTENCE, count, text

ACQUIRED: Final = "records_acquired"
ACKNOWLEDGED: Final = "records_acknowledged"
RELEASED: Final = "records_released"
LOST: Final = "INVALID_RECORD_STATE"
"""The error of an acknowledgement of records that the member does not have any more."""
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


class Tale(Protocol):
    """The parts of a group's story that lines about records need (`tale.Tale`)."""

    people: People
    releases: Releases
    names: TopicNames

    def refused(self, row: ReplyRow, asked: Asked, what: str, error: str, because: str = "") -> Line: ...


def acquired(tale: Tale, row: NoteRow) -> Iterator[Line]:
    """Say which records a member got; of those that it did not get as the first one, why they were available."""
    member_id = str(row.fields["member_id"])
    who, ids = tale.people.name(member_id), (member_id,)
    new = [run for run in row.fields["records"] if run[2] == 1]
    if new:
        yield Line(row.t, f"{who} gets {_records(row, new)}", ids, ("gets", who, *place(row)))
    for run in [run for run in row.fields["records"] if run[2] > 1][:MOST]:
        times = TIMES.get(run[2], f"{run[2]}th")
        reason = tale.releases.reason(place(row), run[0])
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


def refused(tale: Tale, row: ReplyRow, asked: Asked) -> Iterator[Line]:
    """Describe the errors in an answer to ShareFetch or ShareAcknowledge: refused acknowledgements with their records, and others alone."""
    batches = _acknowledged(tale, asked)
    told = []
    for topic in items(row.message, "responses"):
        for each in items(topic, "partitions"):
            code = field(each, "acknowledge_error_code")
            error = named(field(each, "error_code") if code is None else code)
            name = tale.names.of(topic, "topic_name")
            where = (name or "an unknown topic", number(each, "partition_index"))
            if error is not None and (runs := batches.get(where)):
                told.append(error)
                because = tale.releases.reason(where, runs[0][0]) if error == LOST else None
                yield tale.refused(row, asked, f"acknowledgement of {records_text(runs, *where)}", error, because or "")
    yield from (tale.refused(row, asked, text(asked.api), error) for error in errors_of(row)[:MOST] if error not in told)


def _acknowledged(tale: Tale, asked: Asked) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Return the runs of records that a request acknowledges, by partition."""
    return {
        (tale.names.of(topic, "topic_name") or "an unknown topic", number(each, "partition_index")): [
            (number(batch, "first_offset"), number(batch, "last_offset")) for batch in batches
        ]
        for topic in items(asked.message, "topics")
        for each in items(topic, "partitions")
        if (batches := items(each, "acknowledgement_batches"))
    }


def _exhausted(row: NoteRow, runs: Runs, reason: str, ids: tuple[str, ...]) -> Line:
    return Line(row.t, f"{_records(row, runs)} {_are(runs)} ARCHIVED without being accepted: {reason}", ids)


def _records(row: NoteRow, runs: Runs) -> str:
    return records_text(runs, str(row.fields["topic"]), int(row.fields["partition"]))


def records_text(runs: Runs, topic: str, partition: int) -> str:
    """Return a name of the records: record 7 of orders/0, or records 3 to 9 and 12 of orders/0."""
    return f"{'record' if _one(runs) else 'records'} {runs_text(runs)} of {text(topic)}/{partition}"


def runs_text(runs: Runs) -> str:
    """Return the offsets of records: 3 to 9, 12."""
    shown = [str(run[0]) if run[0] == run[1] else f"{run[0]} to {run[1]}" for run in runs[:MOST]]
    more = f" and {count(len(runs) - MOST, 'more run')}" if len(runs) > MOST else ""
    return f"{', '.join(shown)}{more}"


def _one(runs: Runs) -> bool:
    return len(runs) == 1 and runs[0][0] == runs[0][1]


def _are(runs: Runs) -> str:
    return "is" if _one(runs) else "are"


def _them(runs: Runs) -> str:
    return "it" if _one(runs) else "them"
