"""Rows as plain sentences: a group's story for failure texts, the text log, the demo. A sentence is one line, whatever peers put into
their ids, names and reasons (`groupmock.printable`)."""

from __future__ import annotations

from typing import Any, Final

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
from ..journal.whose import field
from ..printable import printable

# Of its own, not of core.units: the journal imports nothing of ours (docs/reference/architecture.md#rule-3).
NS_PER_S: Final = 1_000_000_000


def at(row: Row) -> str:
    """When, in seconds since the start of the run."""
    return f"{row.t / NS_PER_S:9.3f} s"


def sentence(row: Row) -> str:
    """What the row says, without time and number. A kind without a sentence of its own says its name and its fields."""
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
    text = f"connection {row.connection}: {printable(row.api_name)} v{row.api_version}"
    text += f" from {printable(row.client_id) if row.client_id else 'a nameless client'}"
    text += _named(row.message, REQUEST_FACTS)
    return text + (f" ({printable(row.note)})" if row.note else "")


def _answered(row: ReplyRow) -> str:
    text = f"connection {row.connection}: {printable(row.api_name)} answered {printable(row.error or 'without error')}"
    text += _named(row.message, REPLY_FACTS)
    if row.waited >= NS_PER_S // 1000:
        text += f", after {row.waited / NS_PER_S:.3f} s"
    return text if row.delivered else text + ", but it did not arrive"


def _abandoned(row: AbandonedRow) -> str:
    api, reason = printable(row.api_name), printable(row.reason)
    return f"connection {row.connection}: {api} will never be answered, its connection stays mute: {reason}"


def _moved(row: MovedRow) -> str:
    states = f"{printable(row.before) or '(new)'} -> {printable(row.after)}"
    text = f"group {printable(row.group)}: {states}, generation {row.generation}, {row.members} members"
    if row.leader:
        text += f", leader {printable(row.leader)}"
    if row.protocol_name:
        text += f", protocol {printable(row.protocol_name)}"
    return f"{text}: {printable(row.reason)}"


def _member(row: MemberRow) -> str:
    instance = f" ({printable(row.group_instance_id)})" if row.group_instance_id is not None else ""
    client = f" of client {printable(row.client_id)}" if row.client_id else ""
    who = f"group {printable(row.group)}: member {printable(row.member_id)}{instance}{client}"
    return f"{who} {printable(row.what)}: {printable(row.reason)}"


def _fired(row: TimerRow) -> str:
    if not row.timer:
        return "time was looked at, nothing was due"
    return f"timer {printable(row.timer)} fired for {', '.join(map(printable, row.subject))}"


def _faulted(row: FaultRow) -> str:
    where = f"connection {row.connection}: " if row.connection is not None else ""
    return f"{where}fault rule {row.rule!r} at stage {printable(row.stage)}: {printable(row.action)} {_facts(row.fields)}".rstrip()


def _told(row: CommandRow) -> str:
    return f"command {printable(row.name)} {_facts(row.arguments)}".rstrip()


def _client(row: ClientRow) -> str:
    return f"client {printable(row.client)}: {printable(row.what)} {_facts(row.fields)}".rstrip()


def _noted(row: NoteRow) -> str:
    return f"{printable(row.what)} {_facts(row.fields)}".rstrip()


def _found(row: FindingRow) -> str:
    said = f"{printable(row.rule)} {'broken' if row.waived is None else 'waived'}: {printable(row.sentence)}"
    return f"{said}; right: {printable(row.instead)}" + (f" (waived: {printable(row.waived)})" if row.waived is not None else "")


def _named(message: Any, facts: tuple[tuple[str, str], ...]) -> str:
    # -1 and "" are what a message without generation, member or instance carries.
    told = ((label, field(message, name)) for label, name in facts)
    return "".join(f", {label} {printable(str(value))}" for label, value in told if value not in (None, "", -1))


def _facts(fields: dict[str, Any]) -> str:
    told = {name: value for name, value in fields.items() if name != "traceback" and not isinstance(value, bytes)}
    return " ".join(f"{printable(name)}={value!r}" for name, value in told.items())


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
