"""The recorder writes what a driver or a recording (`groupmock.record`) observes as journal rows. Rows that no sink wants are not built."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.api_keys import SASL_AUTHENTICATE
from groupmock_codec.error_codes import error_name
from groupmock_codec.group_states import DEAD
from groupmock_codec.response_errors import error_codes

from ..core.effects import MemberChanged, Moved, Note, TimerFired
from ..journal.journal import Journal
from ..journal.rows import (
    DISCONNECTED,
    MOST_ERRORS,
    AbandonedRow,
    ClientRow,
    CloseRow,
    CommandRow,
    ErrorAt,
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
from .details import EMBEDDED, SECRETS, details_of, without_secret, without_token

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.events import Command
    from ..faults.plan import Rule
    from .connection import Connection
    from .counters import Counters
    from .repeat import Repeat
    from .seen import Peer, Repeating, Seen

SECRET_ARGUMENTS: Final = frozenset(("password",))
"""Arguments of commands that no journal shows."""


def moved_row(effect: Moved, now: int) -> MovedRow:
    return MovedRow(
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


def member_row(effect: MemberChanged, now: int) -> MemberRow:
    return MemberRow(
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


def timer_row(effect: TimerFired, now: int) -> TimerRow:
    return TimerRow(t=now, timer=effect.timer, subject=effect.subject)


def note_row(effect: Note, now: int) -> NoteRow:
    return NoteRow(t=now, what=effect.what, fields=effect.fields)


ROW_OF: Final[dict[type, Callable[[Any, int], Row]]] = {
    Moved: moved_row,
    MemberChanged: member_row,
    TimerFired: timer_row,
    Note: note_row,
}
"""Maps each effect of the core that is written as it is to the function that makes its row."""


class Recorder:
    """Writes journal rows, with one method for each kind of observation."""

    def __init__(self, journal: Journal, counters: Counters) -> None:
        self._journal = journal
        self._counters = counters
        # Maps a group to its protocol type, by which the embedded bytes of its messages are read. The type comes from the core and not from
        # requests, because a refused JoinGroup neither makes nor alters a group.
        self._protocol_types: dict[str, str] = {}
        self.effects: dict[type, Callable[[Any, int], None]] = {
            Moved: self.moved,
            MemberChanged: self.member_changed,
            TimerFired: self.fired,
            Note: self.noted,
        }
        """Maps each effect of the core that is written as a row to the method that writes it."""
        self.timers = 0
        """The number of timers that fired and changed something."""

    def opened(self, connection: Peer, now: int) -> None:
        """Record that a client has connected."""
        if "open" in self._journal.wanted:
            self._journal.append(
                OpenRow(
                    t=now,
                    node=connection.node,
                    connection=connection.number,
                    client_host=connection.client_host,
                    client_port=connection.port,
                    listener=connection.listener,
                )
            )

    def closed(self, connection: Peer, by: str, reason: str, now: int) -> None:
        """Record that a connection has ended or is being closed."""
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

    def lost(self, connection: Connection, now: int) -> None:
        """Record that a connection has ended. A replay also needs this moment if groupmock has closed the connection."""
        if connection.closing:
            self.replayed(DISCONNECTED, now, connection=connection.number)
        else:
            self.closed(connection, "client", connection.how_it_ended(), now)

    def request(self, call: Seen, note: str | None = None, whole: bool = True, told: bool = False, cut: int = 0) -> None:
        """Write the row of a request that was handled. `whole` includes its frame, if a sink wants frames. `told` marks a quiet
        heartbeat that does not merely repeat the last heartbeat. `cut` is the number of bytes at the end of the frame that were not
        kept."""
        journal, quiet = self._journal, call.quiet
        if "request" not in journal.wanted or (quiet and not (journal.heartbeats or told)):
            return
        connection, codec, frame = call.connection, call.codec, call.frame
        if not (journal.routine or note or codec.key in journal.apis):
            return
        shown: Any = call.message
        embedded = payloads = None
        if journal.details:
            call.protocol_type = self._protocol_type_of(call)
            shown, embedded, payloads = details_of(codec, call.message, True, call.protocol_type)
        if codec.key in SECRETS and shown is not None:
            shown, frame = without_secret(shown, frame)
        # CPython 3.11 passes at most 15 arguments by name without a dict, which would take five times as long.
        row = RequestRow(
            t=call.handled,
            node=connection.node,
            connection=connection.number,
            ticket=call.ticket,
            correlation_id=int.from_bytes(frame[4:8], "big", signed=True),
            api_key=codec.key,
            api_name=codec.name,
            # The row has the requested version and not the codec's, because ApiVersions in an unknown version is answered in version 0
            # (P2-d12).
            api_version=int.from_bytes(frame[2:4], "big", signed=True),
            client_id=call.client_id,
            received=call.received,
            handled=call.handled,
            size=len(frame) + cut,
            message=shown,
            trailing_bytes=len(frame) - call.end,  # Kafka ignores bytes after the body (docs/kafka/seen-on-brokers.md#bad-bytes).
            note=note,
        )
        if journal.details:
            row.embedded, row.payloads, row.raw = embedded, payloads, frame if whole else None
        if call.by_listener:
            row.by_listener = True
        if quiet:
            journal.append_quiet(row, told)
        else:
            journal.append(row)

    def reply(
        self,
        call: Seen,
        message: Message | None,
        size: int,
        now: int,
        delivered: bool = True,
        told: bool = False,
        written: int | None = None,
    ) -> None:
        """Write the row of an answer; a `message` of None means that the request gets none. `delivered` is False if a fault rule kept
        the answer back. `told` is that of `request`. `written` is the time (ns) at which the answer goes to the connection, or None if
        it goes later or never."""
        journal, quiet = self._journal, call.quiet
        if "reply" not in journal.wanted or (quiet and not (journal.heartbeats or told)):
            return
        connection, codec = call.connection, call.codec
        errors, more = errors_of(message, codec.version)
        if errors is None:
            if not (journal.routine or codec.key in journal.apis):
                return
        else:
            self._counters.met(codec.key, {each.error for each in errors})
        shown: Any = message
        embedded = payloads = None
        if journal.details:
            shown, embedded, payloads = details_of(codec, message, True, call.protocol_type)
        if codec.key == SASL_AUTHENTICATE and shown is not None:
            shown = without_token(shown)
        delivered = delivered and not connection.deaf
        row = ReplyRow(
            t=now,
            node=connection.node,
            connection=connection.number,
            ticket=call.ticket,
            correlation_id=int.from_bytes(call.frame[4:8], "big", signed=True),
            api_key=codec.key,
            api_name=codec.name,
            api_version=codec.version,
            waited=now - call.handled,
            size=size,
            delivered=delivered,
            written=written if delivered else None,
            message=shown,
        )
        if errors is not None:
            row.error, row.errors, row.errors_left_out = errors[0].error, errors, more
        if journal.details:
            row.embedded, row.payloads = embedded, payloads
        if quiet:
            journal.append_quiet(row, told)
        else:
            journal.append(row)

    def _protocol_type_of(self, call: Seen) -> str | None:
        """Return the protocol type of the group in a JoinGroup or SyncGroup; it is remembered, because not every version contains it."""
        if call.codec.key not in EMBEDDED:
            return None
        return getattr(call.message, "protocol_type", None) or self._protocol_types.get(getattr(call.message, "group_id", ""))

    def repeated(self, connection: Connection, repeat: Repeat, identifiers: bytes, now: int) -> None:
        """Record heartbeats that were answered without asking the core, before they are counted. The connection calls this if a sink
        wants all of them, or once the time has passed in which none have to be reported."""
        journal, run, count = self._journal, connection.run, len(identifiers) // 4
        burst = RepeatedHeartbeats(connection, repeat, identifiers, self._counters.handled + 1, now, journal.details)
        if journal.heartbeats:
            journal.append_repeated(burst, 2 * count)
        if run is not None and now > run.until:
            journal.tell_repeated(burst)
            connection.unreported -= 1  # The connection counts all of them, and the first one is reported.
            run.until = journal.silence(connection.number)
            if not journal.heartbeats:
                repeat.until = min(run.until, repeat.lease.until)
        if journal.heartbeats:
            connection.beat_row = burst.first + 2 * count - 2

    def abandoned(self, call: Seen, reason: str, now: int) -> None:
        """Record that a request will never be answered."""
        if "abandoned" in self._journal.wanted:
            self._journal.append(
                AbandonedRow(
                    t=now,
                    node=call.connection.node,
                    connection=call.connection.number,
                    ticket=call.ticket,
                    correlation_id=int.from_bytes(call.correlation, "big", signed=True),
                    api_key=call.codec.key,
                    api_name=call.codec.name,
                    api_version=call.codec.version,
                    reason=reason,
                )
            )

    def moved(self, effect: Moved, now: int) -> None:
        """Record that a group changed its state, and remember its protocol type."""
        if effect.after == DEAD:
            self._protocol_types.pop(effect.group, None)
        elif effect.protocol_type is not None:
            self._protocol_types[effect.group] = effect.protocol_type
        if "moved" in self._journal.wanted:
            self._journal.append(moved_row(effect, now))

    def member_changed(self, effect: MemberChanged, now: int) -> None:
        """Record that a member joined, left or changed."""
        if "member" in self._journal.wanted:
            self._journal.append(member_row(effect, now))

    def forget_group(self, group: str) -> None:
        """Forget a group that is no longer observed."""
        self._protocol_types.pop(group, None)

    def fired(self, effect: TimerFired, now: int) -> None:
        """Record that a timer fired and changed something."""
        self.timers += 1
        if "timer" in self._journal.wanted:
            self._journal.append(timer_row(effect, now))

    def noted(self, effect: Note, now: int) -> None:
        """Record a note of the core about an event that is not part of the protocol."""
        if "note" in self._journal.wanted:
            self._journal.append(note_row(effect, now))

    def looked(self, now: int) -> None:
        """Record that the driver found no timer due, which only a replay needs."""
        if self._journal.details and "timer" in self._journal.wanted:
            self._journal.append(TimerRow(t=now))

    def fault(self, rule: Rule, action: str, connection: Peer, ticket: int | None, fields: dict[str, Any], now: int) -> None:
        """Record that a fault rule fired, or that its delay of a request has ended."""
        if "fault" in self._journal.wanted:
            self._journal.append(
                FaultRow(
                    t=now,
                    node=connection.node,
                    rule=rule.name,
                    stage=str(rule.stage),
                    action=action,
                    connection=connection.number,
                    ticket=ticket,
                    fields=fields,
                )
            )

    def command(self, command: Command, now: int) -> None:
        """Record a command that steered the cluster."""
        if "command" in self._journal.wanted:
            self._journal.append(CommandRow(t=now, name=command.name, arguments=arguments_as_json(command.arguments)))

    def client(self, client: str, what: str, fields: dict[str, Any], now: int) -> None:
        """Record what one of groupmock's own clients says about itself."""
        if "client" in self._journal.wanted:
            self._journal.append(ClientRow(t=now, client=client, what=what, fields=fields))

    def replayed(self, what: str, now: int, **fields: object) -> None:
        """Record a note of the driver that only a replay needs."""
        if self._journal.details:
            self.remark(what, now, **fields)

    def remark(self, what: str, now: int, **fields: object) -> None:
        """Record a note of the driver."""
        if "note" in self._journal.wanted:
            self._journal.append(NoteRow(t=now, what=what, fields=fields))


def arguments_as_json(arguments: dict[str, Any]) -> dict[str, Any]:
    """Convert bytes among the arguments to {"base64": text}, so that they differ from strings in a journal, and leave out secrets."""
    return {
        name: {"base64": b64encode(value).decode()} if isinstance(value, bytes) else "" if name in SECRET_ARGUMENTS else value
        for name, value in arguments.items()
    }


def errors_of(message: Message | None, version: int) -> tuple[list[ErrorAt] | None, int]:
    """Return the first MOST_ERRORS errors of an answer, at any depth, and the number of further errors. The result is (None, 0) without
    errors."""
    if message is None:
        return None, 0
    codes = error_codes(message.__class__, version)
    if not codes.first(message):
        return None, 0
    each = codes.each(message)
    first_errors = [ErrorAt(path=path, error=error_name(code)) for path, code in islice(each, MOST_ERRORS)]
    return first_errors, sum(1 for _ in each)


class RepeatedHeartbeats:
    """The rows of heartbeats that were answered without asking the core, equal to those that heartbeats through the core would give."""

    __slots__ = ("connection", "details", "first", "first_ticket", "identifiers", "now", "repeat", "waited")

    def __init__(
        self, connection: Peer, repeat: Repeating, identifiers: bytes, first_ticket: int, now: int, details: bool, waited: int = 0
    ) -> None:
        self.connection = connection
        self.repeat = repeat
        self.identifiers = identifiers  # The correlation ids follow each other, four bytes each.
        self.first_ticket = first_ticket
        self.now = now
        self.details = details
        self.waited = waited
        self.first = 0

    @property
    def template(self) -> object:
        """The template from which a sink writes the rows, kept here by that sink."""
        return self.repeat.template

    @template.setter
    def template(self, made: object) -> None:
        self.repeat.template = made

    def sample(self) -> tuple[RequestRow, ReplyRow]:
        """Return the request row and reply row of the first heartbeat."""
        return self._pair(0)

    def rows(self) -> Iterator[Row]:
        """Yield request and reply rows alternately."""
        for place in range(len(self.identifiers) // 4):
            request, reply = self._pair(place)
            request.seq = self.first + 2 * place
            reply.seq = request.seq + 1
            yield request
            yield reply

    def _pair(self, number: int) -> tuple[RequestRow, ReplyRow]:
        repeat, codec = self.repeat, self.repeat.codec
        identifier = self.identifiers[4 * number : 4 * number + 4]
        frame = repeat.frame(identifier)
        client_id, at = codec.header(frame)
        message, end = codec.decode(frame, at)
        place: dict[str, Any] = {
            "t": self.now,
            "node": self.connection.node,
            "connection": self.connection.number,
            "ticket": self.first_ticket + number,
            "correlation_id": int.from_bytes(identifier, "big", signed=True),
            "api_key": codec.key,
            "api_name": codec.name,
            "api_version": codec.version,
        }
        request = RequestRow(
            **place,
            client_id=client_id,
            received=self.now,
            handled=self.now,
            size=len(frame),
            message=message,
            trailing_bytes=len(frame) - end,
            raw=frame if self.details else None,
        )
        place["t"] += self.waited
        return request, ReplyRow(**place, waited=self.waited, written=place["t"], size=repeat.answer_size, message=repeat.message)
