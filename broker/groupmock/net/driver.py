"""The loop around the pure core: decode -> core -> effects -> encode, timers, and answers in slices (architecture section 3).

Everything here runs on one loop's thread. The core is entered from three places only: a request, a timer, a command (and the
notice that a connection is gone); what it wants done is done here, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from groupmock_codec.errors import CodecError

from ..core.effects import Effects, Reply
from ..core.events import Command, Disconnected, Event, Request
from ..journal.rows import DISCONNECTED, NOT_READING
from .answers import Answers
from .codecs import FETCH, HEARTBEAT, ApiCodec, Asked, Codecs, Refused, unknown_api_versions
from .connection import STOPPED, Connection
from .nodes import Nodes
from .repeat import Current

if TYPE_CHECKING:
    from ..clock import Clock, Handle
    from ..core.core import Core
    from ..journal.journal import Journal
    from .fault_gate import Faults
    from .limits import Limits


class Driver(Answers):
    """Owns the connections of one cluster and performs what its core wants. `vacated` is called when a connection is gone."""

    def __init__(self, core: Core, clock: Clock, journal: Journal, limits: Limits) -> None:
        super().__init__(clock, journal, limits)
        self.core = core
        self.renew = core.renew
        self.nodes = Nodes(self)
        self.codecs = Codecs(core.environment.identity.advertised)
        self.connections: dict[int, Connection] = {}
        self.vacated: Callable[[], None] = _nothing
        self._alarm: Handle | None = None
        self._alarm_at = 0
        self._performers |= self.nodes.effects

    @cached_property
    def rules(self) -> Faults:
        """The fault rules; loaded when somebody asks for them, since a server without any is to start fast."""
        from .fault_gate import Faults

        return Faults(self)

    # What connections report

    def opened(self, connection: Connection) -> None:
        """A connection is there."""
        now = connection.active = self.now()
        self.connections[connection.number] = connection
        self.counters.connections_opened += 1
        self.record.opened(connection, now)
        if self.nodes.stalled:
            self.nodes.opened(connection)
        if self.faults is not None:
            self.faults.connect(connection, now)

    def arrived(self, connection: Connection, data: bytes) -> None:
        """Bytes that are no repeated heartbeat."""
        now = connection.active = self.now()
        connection.take(data, now)
        self.settle()

    def lost(self, connection: Connection, failure: Exception | None) -> None:
        """The transport is gone. The core is told; an open request stays with it."""
        now = self.now()
        if self.connections.pop(connection.number, None) is None:
            return
        self.counters.connections_closed += 1
        if not connection.closing:
            self.record.closed(connection, "client", connection.how_it_ended(failure), now)
        elif self.journal.details:
            self.record.remark(DISCONNECTED, now, connection=connection.number)
        self._happen(Disconnected(connection.number), now)
        if connection.ticket and connection.codec is not None and connection.codec.key == FETCH:
            self._done(connection.ticket)  # the core forgot this fetch (events.Disconnected); joins and syncs are still answered
        self.settle()
        self.vacated()

    def holds(self, connection: Connection, change: int) -> None:
        """So many more (or fewer) bytes wait in this connection."""
        self.counters.held_bytes += change
        limit = self.limits.queued_max_request_bytes
        if change > 0 and 0 <= limit < self.counters.held_bytes:
            self.shut(connection, f"all connections together hold more than queued.max.request.bytes ({limit})")

    def not_reading(self, connection: Connection) -> None:
        """Its answers pile up."""
        waiting = connection.transport.get_write_buffer_size() if connection.transport else 0
        self.record.remark(NOT_READING, self.now(), connection=connection.number, bytes=waiting)

    def resume(self, connection: Connection) -> None:
        """It can be served again."""
        self._resumable.append(connection)
        self.settle()

    def request(self, connection: Connection, frame: bytes, received: int) -> None:
        """One whole frame, its turn having come. Written flat, as what is on the way of every request."""
        connection.repeat = None
        try:
            codec = self.codecs[frame[:4]]
            client_id, at = codec.header(frame)
            message, end = codec.decode(frame, at)
        except (Refused, CodecError) as refusal:
            self._not_taken(connection, frame, received, refusal)
            return
        now = self.now()
        ticket = self._open(connection, codec, frame, now)
        if self.faults is not None:
            self.faults.request(Asked(connection, codec, frame, at, end, client_id, message, received, ticket), now)
            return
        event = Request(
            ticket, connection.number, connection.node, codec.key, codec.version, client_id, connection.client_host, message
        )
        try:
            effects = self.core.handle(event, now)
        except Exception as defect:
            self.record.request(connection, codec, client_id, message, frame, received)
            self._defect(connection, f"{codec.name} v{codec.version}", defect)
            return
        quiet = codec.key == HEARTBEAT and _changed_nothing(effects)
        if self.journal.routine:
            self.record.request(connection, codec, client_id, message, frame, received, len(frame) - end, quiet)
        self._current = Current(connection, frame, at, client_id) if quiet else None
        self.perform(effects, now)
        self._current = None

    def apply(self, asked: Asked, now: int, recorded: bool) -> None:
        """The second half of `request`, for one that passed the fault rules. `recorded`: its row is there already, a rule struck it."""
        connection, codec, frame, at, end, client_id, message, received, ticket = asked
        event = Request(
            ticket, connection.number, connection.node, codec.key, codec.version, client_id, connection.client_host, message
        )
        try:
            effects = self.core.handle(event, now)
        except Exception as defect:
            if not recorded:
                self.record.request(connection, codec, client_id, message, frame, received)
            self._defect(connection, f"{codec.name} v{codec.version}", defect)
            return
        quiet = codec.key == HEARTBEAT and _changed_nothing(effects)
        if self.journal.routine and not recorded:
            self.record.request(connection, codec, client_id, message, frame, received, len(frame) - end, quiet)
        self._current = Current(connection, frame, at, client_id) if quiet else None
        self.perform(effects, now)
        self._current = None

    # What steers

    def submit(self, command: Command) -> Effects:
        """Run a command through the core (or, about fault rules, here) and do what follows. Raises what it raises; then nothing is
        recorded."""
        from ..core.steering.register import COMMANDS

        if command.name not in COMMANDS:
            from . import fault_commands as fault_commands  # those about rules are there from now on; the core loads its own
        now = self.now()
        effects: Effects = []
        if command.name in COMMANDS and COMMANDS[command.name].on_rules:
            self.rules.command(command, now)
        else:
            effects = self.steer(command, now)
        self.settle()
        return effects

    def steer(self, command: Command, now: int) -> Effects:
        """A command of the core, in the middle of something else: whoever calls settles."""
        effects = self.core.handle(command, now)
        self.record.command(command, now)
        self.perform(effects, now)
        return effects

    def use_leases(self, use: bool) -> None:
        """Off: every heartbeat takes the full path (tests)."""
        self.leases = use
        self.end_repeats()

    def end_repeats(self) -> None:
        """No heartbeat is repeated that was not seen again on the full path first."""
        for connection in self.connections.values():
            connection.repeat = None

    # Effects

    def perform(self, effects: Effects, now: int) -> None:
        """Do what the core wants, in order."""
        for effect in effects:
            self._performers[effect.__class__](effect, now)

    def expire(self, now: int) -> None:
        """Let every deadline that passed do what it does."""
        try:
            effects = self.core.expire(now)
        except Exception as defect:
            self._defect(None, "a timer", defect)
            effects = []
        self.record.expired(effects, now)
        self.perform(effects, now)

    def settle(self) -> None:
        """After every entry: serve connections whose answer came, then look at the timers."""
        while self._resumable:
            connection = self._resumable.popleft()
            if not connection.ticket and not connection.state & STOPPED:
                connection.serve()
        self._arm()

    # Inside

    def _not_taken(self, connection: Connection, frame: bytes, received: int, refusal: Refused | CodecError) -> None:
        """Refused or broken: closed with the reason, unless it is ApiVersions in a version we have not."""
        try:
            unknown = unknown_api_versions(frame, self.codecs.advertised) if isinstance(refusal, Refused) and len(frame) >= 8 else None
        except CodecError as broken:
            self.refuse(connection, str(broken))
            return
        if unknown is None:
            self.refuse(connection, str(refusal))
            return
        header, message, answer = unknown
        codec = ApiCodec(header.api_key, 0)
        now = self.now()
        ticket = self._open(connection, codec, frame, now)
        note = f"{refusal}; answered in version 0"
        self.record.request(connection, codec, header.client_id, None, frame, received, note=note)
        self._done(ticket)
        self.record.reply(connection, codec, ticket, message, len(answer) - 4, now)
        connection.answer(answer)

    def _happen(self, event: Event, now: int) -> None:
        try:
            effects = self.core.handle(event, now)
        except Exception as defect:
            self._defect(None, type(event).__name__, defect)
            return
        self.perform(effects, now)

    def _arm(self) -> None:
        """One appointment for all timers, made again only when an earlier deadline comes up."""
        deadline = self.core.deadline()
        if deadline is None or (self._alarm is not None and self._alarm_at <= deadline):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = deadline
        self._alarm = self.clock.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._expire_due(self.now())
        self.settle()

    def _expire_due(self, now: int) -> None:
        deadline = self.core.deadline()
        if deadline is not None and deadline <= now:
            self.expire(now)

    def stop(self) -> None:
        """No more timers, no more slices: what is still to be answered is answered now."""
        if self._alarm is not None:
            self._alarm.cancel()
        if self._slice is not None:
            self._slice.cancel()
            self._slice = None
        if "rules" in self.__dict__:
            self.rules.stop()
        now = self.now()
        self._expire_due(now)  # a static member may wait for a record that is written (core.group.replacement)
        while self._backlog:
            reply = self._next_reply()
            if reply is not None:
                self._reply(reply, now)


def _changed_nothing(effects: Effects) -> bool:
    """A heartbeat's effects: was it only answered, with leave to repeat?"""
    return len(effects) == 1 and isinstance(effects[0], Reply) and effects[0].lease is not None


def _nothing() -> None:
    """Nobody waits for room."""
