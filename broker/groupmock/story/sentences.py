"""Describe a journal row in one sentence, for the log and for lists of rows, in the words of the story (`words`).

A sentence is one line, whatever peers put into their ids, names and reasons (`groupmock.text.printable`).
"""

from __future__ import annotations

from typing import Any, Final

from groupmock_codec.units import NS_PER_S

from ..journal.rows import (
    AbandonedRow,
    ClientRow,
    CloseRow,
    CommandRow,
    FaultRow,
    FindingRow,
    MemberRow,
    MovedRow,
    NoteRow,
    OpenRow,
    ReplyRow,
    RequestRow,
    Row,
    TimerRow,
    kind_of,
)
from ..journal.whose import UNKNOWN_VERSION, asks_again, field
from ..text.printable import printable
from .words import SENTENCE, count, facts, listed, member_text, seconds, shortened, text

OF_TRANSACTIONS: Final = frozenset(("transaction_moved", "producer_fenced", "markers_held", "transaction_not_logged"))
NS_PER_MS: Final = NS_PER_S // 1000


def at(row: Row) -> str:
    """Return the time of a row in seconds since the start of the run."""
    return f"{seconds(row.t):>9} s"


def sentence(row: Row) -> str:
    """Return a description of the row, without time and number. A kind without a sentence of its own is shown by its name and its
    fields."""
    for kind, tell in TELL.items():
        if isinstance(row, kind):
            return str(tell(row))
    fields = {name: getattr(row, name) for name in row.__struct_fields__ if name not in Row.__struct_fields__}
    return f"{kind_of(row)} {_facts(fields)}".rstrip()


def _opened(row: OpenRow) -> str:
    return f"connection {row.connection}: opened by {printable(row.client_host.lstrip('/'))}:{row.client_port}"


def _closed(row: CloseRow) -> str:
    return f"connection {row.connection}: closed by the {printable(row.by)}: {printable(row.reason)}"


def _asked(row: RequestRow) -> str:
    told = f"connection {row.connection}: {printable(row.api_name)} v{row.api_version}"
    told += f" from {printable(row.client_id) if row.client_id else 'a nameless client'}"
    told += _named(row.message, REQUEST_FACTS)
    return told + (f" ({printable(row.note)})" if row.note else "")


def _answered(row: ReplyRow) -> str:
    told = f"connection {row.connection}: {printable(row.api_name)} {_outcome(row)}"
    told += _named(row.message, REPLY_FACTS)
    if row.waited >= NS_PER_MS:
        told += f", after {seconds(row.waited)} s"
    return told if row.delivered else told + ", but it did not arrive"


def refusal(row: ReplyRow) -> str:
    """Return the errors of an answer, each once with its first path and the number of further occurrences."""
    places: dict[str, list[str]] = {}
    for each in row.errors or ():
        places.setdefault(each.error, []).append(each.path)
    if not places or row.errors_left_out:
        return _outcome(row)
    return f"REFUSED: {text(listed([_once(error, paths) for error, paths in places.items()]), SENTENCE)}"


def _once(error: str, paths: list[str]) -> str:
    where = f"{error} at {paths[0]}" if paths[0] != WHOLE else error
    return where + (f" and {count(len(paths) - 1, 'place')} more" if len(paths) > 1 else "")


def _outcome(row: ReplyRow) -> str:
    """Return the errors of an answer, with the path of each error that does not concern the whole answer."""
    if not row.error:
        return "answered without error"
    if asks_again(row):
        return f"answered in version 0 with {UNKNOWN_VERSION}: the client is to ask again in a version of the list (KIP-511)"
    told = [f"{each.error} at {each.path}" if each.path != WHOLE else each.error for each in row.errors or ()] or [row.error]
    return f"REFUSED: {text(listed(told), SENTENCE)}"


def _abandoned(row: AbandonedRow) -> str:
    api, reason = printable(row.api_name), printable(row.reason)
    return f"connection {row.connection}: {api} will never be answered, its connection stays mute: {reason}"


def _moved(row: MovedRow) -> str:
    states = f"{printable(row.before) or '(new)'} -> {printable(row.after)}"
    parts = [f"group {text(row.group)}: {states}", f"generation {row.generation}", count(row.members, "member")]
    parts += [f"{member_text(row.leader)} leads"] if row.leader else []
    parts += [f"protocol {text(row.protocol_name)}"] if row.protocol_name else []
    return f"{', '.join(parts)}: {shortened(row.reason)}"


def _member(row: MemberRow) -> str:
    return f"group {text(row.group)}: {member_text(row.member_id, row.group_instance_id or row.client_id)} {member_did(row)}"


def member_did(row: MemberRow) -> str:
    """Return a description of what happened to the member, to be put after the member's name."""
    if row.what == "added":
        static = f" (static id, client {text(row.client_id or 'without a name')})" if row.group_instance_id is not None else ""
        return f"joins{static}"
    if row.what == "removed":
        return f"is gone: {how_gone(row)}"
    if row.what in TOWARDS_TARGET or row.reason.endswith(OF_STREAMS):
        return shortened(row.reason.removeprefix(f"member {row.member_id} "))
    told = DID.get(row.what, f"{text(row.what)}: ")
    return f"{told}{shortened(row.reason)}" if told.endswith(": ") else told


def how_gone(row: MemberRow) -> str:
    """Return the reason why a member was removed."""
    if row.cause == "session_expired":
        return "its session expired"
    if row.cause == "member_left":
        given = row.reason.partition(" left: ")[2]
        return "it left" + (f": {shortened(given)}" if given else "")
    if row.cause == "member_silent":
        return f"it did not join again in time: {shortened(row.reason.partition(': ')[2])}"
    return shortened(row.reason)


TOWARDS_TARGET: Final = frozenset(("revoking", "reconciled", "away", "fenced"))
"""Kinds of member rows in consumer groups whose reasons name the partitions concerned."""
OF_STREAMS: Final = " changed what the coordinator knows of it"
"""The end of a reason that only members of streams groups have, who subscribe to nothing."""
DID: Final = {
    "reserved": "asked to join and is told to come back with this id",
    "updated": "joins again with another subscription or other protocols",
    "refused": "is not let in: ",
    "led": "leads: ",
    "replaced": "takes a place: ",
}


def _fired(row: TimerRow) -> str:
    if not row.timer:
        return "time was looked at, nothing was due"
    return f"timer {text(row.timer)} fired for {', '.join(map(shortened, row.subject))}"


def _faulted(row: FaultRow) -> str:
    where = f"connection {row.connection}: " if row.connection is not None else ""
    return f"{where}fault rule {row.rule!r} at stage {printable(row.stage)}: {printable(row.action)} {_facts(row.fields)}".rstrip()


def _told(row: CommandRow) -> str:
    return f"command {printable(row.name)} {_facts(row.arguments)}".rstrip()


def plain(row: CommandRow | NoteRow) -> str:
    """Return a description of the row for the short log, without bytes and topic ids and with shortened member ids."""
    if isinstance(row, CommandRow):
        return f"command {text(row.name)} {facts(row.arguments)}".rstrip()
    if (told := of_transaction(row) or of_denied(row)) is not None:
        return told
    noted = {name: value for name, value in row.fields.items() if name != "topic_id"}
    return f"{text(row.what, SENTENCE)} {facts(noted)}".rstrip()


def of_denied(row: NoteRow) -> str | None:
    """Return a description of a note about a right that the sender of a request lacks, or None for another note."""
    if row.what != NOT_AUTHORIZED:
        return None
    kind, name = str(row.fields["resource_type"]).lower().replace("_", " "), row.fields["resource"]
    resource = "the cluster" if kind == "cluster" else f"{kind} {text(name)}"
    return f"{text(row.fields['operation'])} on {resource} denied to {text(row.fields['principal'])}"


def of_transaction(row: NoteRow) -> str | None:
    """Return a description of a note about a transactional id, or None for another note."""
    if row.what not in OF_TRANSACTIONS:
        return None
    before, after = row.fields.get("before"), row.fields.get("after")
    moved = f" ({text(before)} -> {text(after)})" if before and after else ""
    return f"transactional id {text(row.fields['transactional_id'])}{moved}: {text(row.fields['reason'], SENTENCE)}"


def _client(row: ClientRow) -> str:
    return f"client {printable(row.client)}: {printable(row.what)} {_facts(row.fields)}".rstrip()


def _noted(row: NoteRow) -> str:
    return f"{printable(row.what)} {_facts(row.fields)}".rstrip()


def _found(row: FindingRow) -> str:
    said = f"{printable(row.rule)} {'broken' if row.waived is None else 'waived'}: {printable(row.sentence)}"
    return f"{said}; right: {printable(row.instead)}" + (f" (waived: {printable(row.waived)})" if row.waived is not None else "")


def _named(message: Any, facts: tuple[tuple[str, str], ...]) -> str:
    # A message without generation, member or instance has -1 or "" there, which is left out.
    told = ((label, field(message, name)) for label, name in facts)
    return "".join(f", {label} {printable(str(value))}" for label, value in told if value not in (None, "", -1))


def _facts(fields: dict[str, Any]) -> str:
    told = {name: value for name, value in fields.items() if name != "traceback" and not isinstance(value, bytes)}
    return " ".join(f"{printable(name)}={value!r}" for name, value in told.items())


NOT_AUTHORIZED: Final = "not_authorized"
"""The `what` of a note about a right that the sender of a request lacks."""
WHOLE: Final = "error_code"
"""The path of an error that concerns a whole answer."""
REQUEST_FACTS: Final = (
    ("group", "group_id"),
    ("member", "member_id"),
    ("instance", "group_instance_id"),
    ("generation", "generation_id"),
    ("because", "reason"),
)
REPLY_FACTS: Final = (("generation", "generation_id"), ("member", "member_id"), ("leader", "leader"), ("protocol", "protocol_name"))
TELL: Final[dict[type[Row], Any]] = {
    OpenRow: _opened,
    CloseRow: _closed,
    RequestRow: _asked,
    ReplyRow: _answered,
    AbandonedRow: _abandoned,
    MovedRow: _moved,
    MemberRow: _member,
    TimerRow: _fired,
    FaultRow: _faulted,
    CommandRow: _told,
    ClientRow: _client,
    NoteRow: _noted,
    FindingRow: _found,
}
