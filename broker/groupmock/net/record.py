"""What the driver saw, as journal rows. Nothing is built that no sink wants."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from groupmock_codec.errors import ErrorCode

from ..core.effects import Effects, MemberChanged, Moved, Note, TimerFired
from ..journal.journal import Journal
from ..journal.rows import (
    AbandonedRow,
    ClientRow,
    CloseRow,
    CommandRow,
    FaultRow,
    MemberRow,
    MovedRow,
    NoteRow,
    OpenRow,
    ReplyRow,
    RequestRow,
    Row,
    TimerRow,
)
from .details import EMBEDDED, details_of

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.events import Command
    from .codecs import ApiCodec
    from .connection import Connection
    from .repeat import Repeat


class Record:
    """One method per thing that can be seen; each appends at most one row."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._kinds: dict[str, str] = {}  # group -> protocol type; what rides inside its messages is read by it
        self._open_kinds: dict[int, str] = {}  # ticket of an open JoinGroup or SyncGroup -> protocol type of its group
        self.effects: dict[type, Callable[[Any, int], None]] = {
            Moved: self.moved,
            MemberChanged: self.member,
            TimerFired: self.timer,
            Note: self.note,
        }

    def opened(self, connection: Connection, now: int) -> None:
        """A client connected."""
        if "open" in self._journal.wanted:
            self._journal.append(
                OpenRow(
                    t=now,
                    node=connection.node,
                    connection=connection.number,
                    client_host=connection.client_host,
                    client_port=connection.port,
                )
            )

    def closed(self, connection: Connection, by: str, reason: str, now: int) -> None:
        """A connection ended or is being ended."""
        if "close" in self._journal.wanted:
            self._journal.append(
                CloseRow(
                    t=now,
                    node=connection.node,
                    connection=connection.number,
                    by=by,
                    reason=reason,
                    cut_bytes=connection.cut_bytes,
                    unread_bytes=connection.waiting,
                )
            )

    def request(
        self,
        connection: Connection,
        codec: ApiCodec,
        client_id: str | None,
        message: Message | None,
        frame: bytes,
        received: int,
        trailing: int = 0,
        quiet: bool = False,
        note: str | None = None,
    ) -> None:
        """A request was handled. `quiet`: a heartbeat that changed nothing."""
        journal = self._journal
        if "request" not in journal.wanted or (quiet and not journal.heartbeats) or not (journal.routine or note):
            return
        shown: Any = message
        embedded = payloads = None
        if journal.details:
            shown, embedded, payloads = details_of(codec, message, True, self._kind_of(codec, message, connection.ticket))
        row = RequestRow(
            t=connection.handled,
            node=connection.node,
            connection=connection.number,
            ticket=connection.ticket,
            correlation_id=int.from_bytes(connection.correlation, "big", signed=True),
            api_key=codec.key,
            api_name=codec.name,
            api_version=int.from_bytes(frame[2:4], "big", signed=True),
            client_id=client_id,
            received=received,
            handled=connection.handled,
            size=len(frame),
            message=shown,
            trailing_bytes=trailing,
            note=note,
            embedded=embedded,
            payloads=payloads,
            raw=frame if journal.details else None,
        )
        (journal.append_quiet if quiet else journal.append)(row)

    def reply(
        self,
        connection: Connection,
        codec: ApiCodec,
        ticket: int,
        message: Message | None,
        size: int,
        now: int,
        quiet: bool = False,
        delivered: bool = True,
    ) -> None:
        """A request was answered; `message` None: no answer is due. `delivered` False: a fault rule took it."""
        journal = self._journal
        if "reply" not in journal.wanted or (quiet and not journal.heartbeats):
            return
        error = error_of(message)
        if not (journal.routine or error):
            return
        shown: Any = message
        embedded = payloads = None
        if journal.details:
            shown, embedded, payloads = details_of(codec, message, True, self._open_kinds.pop(ticket, None))
        row = ReplyRow(
            t=now,
            node=connection.node,
            connection=connection.number,
            ticket=ticket,
            correlation_id=int.from_bytes(connection.correlation, "big", signed=True),
            api_key=codec.key,
            api_name=codec.name,
            api_version=codec.version,
            waited=now - connection.handled,
            error=error,
            size=size,
            delivered=delivered and not connection.deaf,
            message=shown,
            embedded=embedded,
            payloads=payloads,
        )
        (journal.append_quiet if quiet else journal.append)(row)

    def _kind_of(self, codec: ApiCodec, message: Message | None, ticket: int) -> str | None:
        """The protocol type of the group that a JoinGroup or SyncGroup is about: neither every version nor any answer says it."""
        if not self._journal.details or codec.key not in EMBEDDED:
            return None
        group = getattr(message, "group_id", "")
        kind = getattr(message, "protocol_type", None) or self._kinds.get(group)
        if kind is not None:
            self._kinds[group] = self._open_kinds[ticket] = kind
        return kind

    def repeated(self, connection: Connection, repeat: Repeat, identifiers: bytes, now: int) -> None:
        """Heartbeats answered under a lease, after they were counted; called only when a sink wants such."""
        count = len(identifiers) // 4
        first_ticket = repeat.driver.counters.handled - count + 1
        self._journal.append_repeated(RepeatedHeartbeats(connection, repeat, identifiers, first_ticket, now), 2 * count)

    def abandoned(self, connection: Connection, ticket: int, reason: str, now: int) -> None:
        """A request will never be answered."""
        codec = connection.codec
        self._open_kinds.pop(ticket, None)
        if "abandoned" in self._journal.wanted and codec is not None:
            self._journal.append(
                AbandonedRow(
                    t=now,
                    node=connection.node,
                    connection=connection.number,
                    ticket=ticket,
                    correlation_id=int.from_bytes(connection.correlation, "big", signed=True),
                    api_key=codec.key,
                    api_name=codec.name,
                    api_version=codec.version,
                    reason=reason,
                )
            )

    def moved(self, effect: Moved, now: int) -> None:
        """A group changed its state."""
        if effect.after == "Dead":
            self._kinds.pop(effect.group, None)
        if "moved" in self._journal.wanted:
            self._journal.append(
                MovedRow(
                    t=now,
                    group=effect.group,
                    before=effect.before,
                    after=effect.after,
                    generation=effect.generation,
                    cause=effect.cause,
                    reason=effect.reason,
                    leader=effect.leader,
                    protocol_type=effect.protocol_type,
                    protocol_name=effect.protocol_name,
                    members=effect.members,
                )
            )

    def member(self, effect: MemberChanged, now: int) -> None:
        """Something happened to one member."""
        if "member" in self._journal.wanted:
            self._journal.append(
                MemberRow(
                    t=now,
                    group=effect.group,
                    member_id=effect.member_id,
                    what=effect.what,
                    cause=effect.cause,
                    reason=effect.reason,
                    group_instance_id=effect.group_instance_id,
                    client_id=effect.client_id,
                    client_host=effect.client_host,
                )
            )

    def timer(self, effect: TimerFired, now: int) -> None:
        """A deadline passed and did something."""
        if "timer" in self._journal.wanted:
            self._journal.append(TimerRow(t=now, timer=effect.timer, subject=effect.subject))

    def expired(self, effects: Effects, now: int) -> None:
        """Time was looked at; if nothing fired, that alone is a row for those who want to replay."""
        if self._journal.details and "timer" in self._journal.wanted and not any(isinstance(effect, TimerFired) for effect in effects):
            self._journal.append(TimerRow(t=now))

    def fault(
        self, rule: str, stage: str, action: str, connection: Connection, ticket: int | None, fields: dict[str, Any], now: int
    ) -> None:
        """A fault rule struck, or what it made wait goes on."""
        if "fault" in self._journal.wanted:
            self._journal.append(
                FaultRow(
                    t=now,
                    node=connection.node,
                    rule=rule,
                    stage=stage,
                    action=action,
                    connection=connection.number,
                    ticket=ticket,
                    fields=fields,
                )
            )

    def command(self, command: Command, now: int) -> None:
        """Somebody steered."""
        if "command" in self._journal.wanted:
            self._journal.append(CommandRow(t=now, name=command.name, arguments=arguments_as_json(command.arguments)))

    def client(self, client: str, what: str, fields: dict[str, Any], now: int) -> None:
        """A client of ours says something about itself."""
        if "client" in self._journal.wanted:
            self._journal.append(ClientRow(t=now, client=client, what=what, fields=fields))

    def note(self, effect: Note, now: int) -> None:
        """A note of the core."""
        self.remark(effect.what, now, **effect.fields)

    def remark(self, what: str, now: int, **fields: object) -> None:
        """A note of the driver."""
        if "note" in self._journal.wanted:
            self._journal.append(NoteRow(t=now, what=what, fields=fields))


def arguments_as_json(arguments: dict[str, Any]) -> dict[str, Any]:
    """Bytes become {"base64": text}, so that they can be told from texts when a journal is read back."""
    return {name: {"base64": b64encode(value).decode()} if isinstance(value, bytes) else value for name, value in arguments.items()}


def error_of(message: Message | None) -> str | None:
    """Kafka's name of the top-level error of a response, None if there is none or it has no such field."""
    code = getattr(message, "error_code", 0)
    return ErrorCode(code).name if code else None


class RepeatedHeartbeats:
    """The rows of heartbeats under a lease: exactly those that the full path would have made."""

    __slots__ = ("connection", "first", "first_ticket", "identifiers", "now", "repeat")

    def __init__(self, connection: Connection, repeat: Repeat, identifiers: bytes, first_ticket: int, now: int) -> None:
        self.connection = connection
        self.repeat = repeat
        self.identifiers = identifiers  # correlation ids, four bytes each
        self.first_ticket = first_ticket
        self.now = now
        self.first = 0

    @property
    def template(self) -> object:
        """What a sink keeps with the heartbeat."""
        return self.repeat.template

    @template.setter
    def template(self, made: object) -> None:
        self.repeat.template = made

    def sample(self) -> tuple[RequestRow, ReplyRow]:
        """The first pair of rows."""
        return self.repeat.rows(self.connection, self.identifiers[:4], self.first_ticket, self.now)

    def rows(self) -> Iterator[Row]:
        """Request and reply rows in turn."""
        sequence, now = self.first, self.now
        for at in range(0, len(self.identifiers), 4):
            request, reply = self.repeat.rows(self.connection, self.identifiers[at : at + 4], self.first_ticket + at // 4, now)
            request.seq, reply.seq = sequence, sequence + 1
            sequence += 2
            yield request
            yield reply
