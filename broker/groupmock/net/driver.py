"""The driver is the loop around the pure core: requests go in, effects come out. Everything here runs on the thread of one loop.

One request. A connection passes on a whole frame when it is its turn. The first four bytes name API and version, which select the codec. A
request that is not served closes the connection, except for ApiVersions, which has an answer for that (KIP-511). Header and body are
decoded once, into a `Call` with a ticket, and the connection becomes mute. The call then passes these steps: gate `before` ->
core -> request row -> effects, in the core's order -> gate `after` -> encode -> reply row -> write. Then the connection goes on. The core
sees messages and tickets, never bytes or sockets. Only requests, timers, commands and closed connections enter it.

Muting. A connection has one open request at a time, so its answers come in the order of its requests. Kafka's kafka.network.SocketServer
does the same: its Processor mutes the channel (KafkaChannel.mute) when it has handed a request to the RequestChannel, and unmutes it when
the response was sent. Clients that send several requests ahead rely on the order: aiokafka matches each answer with its oldest request and
gives up if the correlation ids differ. A mute connection handles no request but still reads bytes, up to a limit, because a loop that does
not read does not notice that the peer disconnects (`net.inbox`).

Parked tickets. An answer that has to wait (a JoinGroup until all members joined, a Fetch until there are records: Kafka's delayed
operations) is not a coroutine: the core keeps the ticket in its own state and names it in a later `Reply`. `tickets` maps it to the `Call`,
which has all that the answer needs. If the client has disconnected by then, the answer is made and counted as lost, because groups ignore
disconnections (P1-d7). Only a Fetch ends with its connection.

Abandoned requests. Kafka never answers the parked JoinGroup of a member that has joined again, nor the parked SyncGroup of a removed one.
The connection stays open and mute for ever, because only a response unmutes it (P1-d6, P2-d1). The effect `Abandoned` does that: it writes
a row, the connection stays mute, and the bytes behind the request are still counted.

Turns. A single request is handled when it arrives. A connection with more requests waits in a queue (`net.turns`). Between two iterations
of the loop the queue is served for about 2 ms, each connection for an equal part. So a peer that sends thousands of requests ahead gets
only its share, and heartbeats of other connections, timers, signals and writes come in between. The ends of connections
wait in the same queue if hundreds are lost at once.

Slices. The end of a join phase answers all waiting members by one effect with a lazy iterator. The state of the group has changed at once;
the answers are made one by one, for about 2 ms (`replies_slice_us`) between two iterations of the loop. Effects and requests that come
meanwhile are handled at once, but no answer can overtake an earlier one on the same connection, because that connection is mute.

Work. Long work is done in steps (`core.work`), and the effects of each step are performed before the next step. The first slice of about 2
ms comes at once, and the rest between later iterations of the loop, as for timers that are due together (`net.slices`). For replays, a
complete journal has a row for each slice that ended before the work did.

Arrivals before timers. One alarm is set to the core's next deadline. When it rings, everything that has reached the sockets is handled
first (`clock.LoopClock`): in Kafka 4 timers of the group coordinator are events of the queue in which its requests wait
(org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime), so a heartbeat that came in time saves its member, however busy the broker
is. `settle`, the end of every entry, serves the connections whose turn it is before it looks at the deadline.

The gates. `gate` is set while a fault rule could fire (`net.fault_gate`). It lets a call pass, or keeps it and later passes it to `apply`
or `deliver`, which come after the gate. Without rules, a request costs one comparison more.

The guard. A connection of a listener with SASL has a guard until its client has authenticated itself (`net.guard`). It sees each frame
before it is decoded, and handles instead of the core what belongs to the authentication.

Defects. An exception in the core is a defect of groupmock: a note has the traceback, the connection of that request is closed, and all
others go on.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from groupmock_codec.api_keys import FETCH, SHARE_FETCH
from groupmock_codec.errors import CodecError

from ..core.effects import Abandoned, Close, Effects, Replies, Reply, Silent
from ..core.events import Command, Disconnected, Event, Request
from ..core.work import Work
from ..journal.journal import ALWAYS, NEVER
from ..journal.rows import GOES_ON, NOT_READING, PAUSES
from .backlog import Backlog
from .call import Call, Tickets
from .clock import ClockAlarm
from .codecs import Codecs, Refused
from .connection import DEAF, DUE, LOST, STALLED, STOPPED, Connection
from .nodes import Nodes
from .not_taken import not_taken
from .record import Recorder
from .repeat import Repeat, Run
from .slices import Slices
from .turns import Turns

if TYPE_CHECKING:
    from ..config.limits import Limits
    from ..core.core import Core
    from ..journal.journal import Journal
    from .clock import Alarm, Clock
    from .fault_gate import FaultGate


class Driver:
    """Owns one cluster's connections, passes their requests to its core and performs the effects. `vacated` is called when a connection has
    ended.

    `tickets`, `backlog`, `slices`, `turns` and `alarm` have defaults for a server on a loop; a replay, a virtual world or a rig passes its
    own."""

    def __init__(
        self,
        core: Core,
        clock: Clock,
        journal: Journal,
        limits: Limits,
        *,
        tickets: Tickets | None = None,
        backlog: Backlog | None = None,
        slices: Slices | None = None,
        turns: Turns[Connection] | None = None,
        alarm: Alarm | None = None,
    ) -> None:
        self.core = core
        self.clock = clock
        self.journal = journal
        self.limits = limits
        self.now: Callable[[], int] = clock.now
        self.tickets = Tickets() if tickets is None else tickets
        self.counters = self.tickets.counters
        self.record = Recorder(journal, self.counters)
        self.connections: dict[int, Connection] = {}
        self.nodes = Nodes(self.connections, self.record, clock)
        self.codecs = Codecs(core.environment.identity.advertised, limits.request_max_elements)
        self.gate: FaultGate[Call] | None = None  # `gate` is set by `arm` while a fault rule could fire.
        self.shows_certificates = True
        """False if fault rules cannot show other certificates, because the authority of the run's certificates is elsewhere."""
        self._leases = True
        self.vacated: Callable[[], None] = lambda: None
        self.turns = Turns[Connection](limits.requests_slice_us) if turns is None else turns
        self.turns.again = self.settle
        self._backlog = Backlog(limits.replies_slice_us) if backlog is None else backlog
        self._backlog.again = self._next_slice
        self._backlog.broken = partial(self._defect, "many answers")
        self._backlog.done = self.tickets.tidy
        self._slices = Slices(limits.work_slice_us) if slices is None else slices
        self._slices.driven(core.go_on, self.perform, self._defect, partial(self.record.replayed, PAUSES), self.work_on)
        self._alarm = ClockAlarm(clock) if alarm is None else alarm
        self._alarm.ring = self._ring
        self._performers: dict[type, Callable[[Any, int], None]] = {
            Replies: lambda effect, now: self._backlog.send(self._answer, now, effect.replies),
            Work: self._slices.begun,
            Silent: self._silent,
            Abandoned: self._abandoned,
            Close: self._close,
            **self.record.effects,
            **self.nodes.effects,
        }
        journal.rearranged = self.end_repeats
        self.arm(None)

    @cached_property
    def rules(self) -> FaultGate[Call]:
        """Return the gate that applies fault rules, which is loaded on first use because a server without rules has to start fast."""
        from .fault_gate import gate_of

        return gate_of(self)

    def arm(self, gate: FaultGate[Call] | None) -> None:
        """Set the gate that applies fault rules to requests and answers from now on. None means that no fault rule could fire, so
        answers pass no gate."""
        self.gate = gate
        self._before = None if gate is None else gate.before
        self._answer = self._performers[Reply] = self.deliver if gate is None else gate.after

    def opened(self, connection: Connection) -> None:
        """Register a connection that has a transport."""
        now = connection.active = self.now()
        self.connections[connection.number] = connection
        self.counters.connections_opened += 1
        self.record.opened(connection, now)
        if self.nodes.stalled:
            self.nodes.opened(connection)
        if self.gate is not None:
            self.gate.connect(connection, now)

    def arrived(self, connection: Connection, data: bytes) -> None:
        """Handle bytes that are not a repeated heartbeat. `settle` is inlined, because every request takes this path."""
        now = connection.active = self.now()
        connection.take(data, now)
        if self.turns.waiting:
            self._serve()
        self._alarm.set(self.core.deadline())

    def request(self, connection: Connection, frame: bytes, received: int) -> None:
        """Handle one whole frame of a connection whose turn has come."""
        connection.repeat = None
        if connection.guard is not None and not connection.guard.lets(frame):
            return
        try:
            codec = self.codecs[frame[:4]]
            client_id, at = codec.header(frame)
            message, end = codec.decode(frame, at)
        except (Refused, CodecError) as refusal:
            not_taken(self, connection, frame, received, refusal)
            return
        now = self.now()
        call = Call(connection, codec, frame, client_id, message, end, received, now)
        self.tickets.open(call)
        if self._before is None or self._before(call, now):
            self.apply(call, now)
        else:
            connection.run = None
        if end > codec.quick_below and connection.guard is None:
            connection.slow = self.now() - received > self.turns.slice_ns

    def apply(self, call: Call, now: int) -> None:
        """Pass a request that no fault rule holds back to the core. The code is flat, because every request takes this path."""
        connection, codec = call.connection, call.codec
        asked, client = call.message or call.asked(), connection.client_host
        event = Request(
            call.ticket, connection.number, connection.node, codec.key, codec.version, call.client_id, client, asked, connection.listener,
            connection.principal,
        )  # fmt: skip
        try:
            answers = None if connection.guard is None else connection.guard.answers(call, now)
            effects = self.core.handle(event, now) if answers is None else answers
        except Exception as defect:
            # The row is written although nothing was done, because it shows which request broke the core.
            if not call.recorded:
                self.record.request(call)
            self._defect(f"{codec.name} v{codec.version}", defect, call)
            return
        journal = self.journal
        first = effects[0] if len(effects) == 1 else None
        # A heartbeat changed nothing if its only effect is an answer that may be repeated.
        if codec.beats and not call.recorded and isinstance(first, Reply) and first.lease is not None:
            call.quiet = True
            if journal.pulse:
                run = connection.run
                if run is None or now > run.until or call.frame[8:] != run.tail or codec is not run.codec or connection.out is not None:
                    # More bytes than this heartbeat arrived together: perhaps the client did not wait for the answer to the previous
                    # heartbeat.
                    call.told = True
            call.hidden = not (call.told or journal.heartbeats)
        else:
            connection.run = None
        if (journal.routine or codec.key in journal.apis) and not (call.hidden or call.recorded):
            self.record.request(call, told=call.told)
            if call.quiet and not call.told:
                connection.beat_row = journal.sequence
        for effect in effects:
            self._performers[effect.__class__](effect, now)
        if connection.call is call and self.gate is None:
            call.message = None  # The decoded message of a parked request is dropped, see `Call.asked`.

    def lost(self, connection: Connection, failure: Exception | None) -> None:
        """Record that a connection was lost and tell the core, in its turn if so many are lost at once that this takes a whole slice."""
        connection.failure = failure
        self.serve_soon(connection)
        if self.turns.is_rush():
            self.turns.order()
        self.settle()

    def _end(self, connection: Connection) -> None:
        now = self.now()
        if connection.number in self.connections:
            self.record.lost(connection, now)
            self.forget(connection, now)
            self.vacated()
        connection.drop_inbox()

    def forget(self, connection: Connection, now: int) -> None:
        """Forget a connection after its last row was written, and tell the core. Its open JoinGroup or SyncGroup stays open."""
        del self.connections[connection.number]
        self.counters.connections_closed += 1
        self._happen(Disconnected(connection.number), now)
        call = connection.call
        # A parked JoinGroup or SyncGroup outlives its connection, but a Fetch and a ShareFetch do not (P1-d7).
        if call is not None and call.codec.key in (FETCH, SHARE_FETCH):
            self.tickets.close(call.ticket)  # The core forgot this Fetch when it handled events.Disconnected.

    def holds(self, connection: Connection, change: int) -> None:
        """Add to the count of bytes that wait in connections (a negative change subtracts)."""
        self.counters.held_bytes += change
        limit = self.limits.queued_max_request_bytes
        # Kafka stops reading above queued.max.request.bytes (KIP-72), whereas groupmock closes the connection. The default of -1 means no
        # limit.
        if change > 0 and 0 <= limit < self.counters.held_bytes:
            self.shut(connection, f"all connections together hold more than queued.max.request.bytes ({limit})")

    def not_reading(self, connection: Connection) -> None:
        """Record that the peer does not read its answers."""
        waiting = connection.transport.get_write_buffer_size() if connection.transport else 0
        self.record.remark(NOT_READING, self.now(), connection=connection.number, bytes=waiting)

    def serve_soon(self, connection: Connection) -> None:
        """Serve a connection in its turn, after the event that is being handled. Other effects of the entry come first, in their order."""
        if not connection.state & DUE:
            connection.state |= DUE
            self.turns.waiting.append(connection)

    def submit(self, command: Command) -> Effects:
        """Run a command through the core, or here if it changes fault rules, and perform the effects. If it raises an error, nothing is
        recorded."""
        from ..core.steering.register import COMMANDS

        if command.name not in COMMANDS:
            # This import registers the commands about fault rules. The core's own commands are imported by the core.
            from . import fault_commands as fault_commands
        now = self.now()
        effects: Effects = []
        if command.name in COMMANDS and COMMANDS[command.name].on_rules:
            self.rules.command(command, now)
        else:
            effects = self.steer(command, now)
        self.settle()
        return effects

    def steer(self, command: Command, now: int) -> Effects:
        """Run a command of the core while another event is being handled, at whose end `settle` is called."""
        effects = self.core.handle(command, now)
        # The command is recorded between its check and its effects, so that a refused command leaves no row and the row of an accepted
        # command precedes its effects.
        self.record.command(command, now)
        self.perform(effects, now)
        return effects

    def use_leases(self, use: bool) -> None:
        """Allow or forbid that heartbeats are answered without asking the core. Tests forbid it, so that every heartbeat goes through
        the core."""
        self._leases = use
        self.end_repeats()

    def end_repeats(self) -> None:
        """Make the next heartbeat of every connection go through the core."""
        for connection in self.connections.values():
            connection.repeat = connection.run = None

    def expire(self, now: int) -> None:
        """Fire timers whose deadline has passed, for at most one time slice. The alarm rings again if more timers are due."""
        fired = self.record.timers
        self._slices.begin()
        self._slices.go_on("a timer", self.core.expire, now)
        self._slices.end()
        if fired == self.record.timers:
            self.record.looked(now)

    def work_on(self) -> None:
        """Spend one time slice on unfinished work of the core."""
        now = self.now()
        self.record.replayed(GOES_ON, now)
        self._slices.take(now)
        self.settle()

    def settle(self) -> None:
        """Finish the handling of an event: serve the connections whose turn it is, then look at the timers."""
        if self.turns.waiting:
            self._serve()
        self._alarm.set(self.core.deadline())

    def stop(self) -> None:
        """Cancel the timers and the work that waits for its turn, and send the answers that are still due."""
        self._alarm.cancel()
        for connection in [each for each in self.turns.waiting if each.gone]:
            self._end(connection)
        for each in self._backlog, self._slices, self.turns:
            each.stop()
        if "rules" in self.__dict__:
            self.rules.stop()
        now = self.now()
        # A due timer may have to answer a static member that waits for a record to be written (core.groups.classic.replacement).
        self._expire_due(now)
        for reply in self._backlog.rest():
            self._answer(reply, now)

    def _serve(self) -> None:
        for connection in self.turns.due():
            connection.state &= ~DUE
            if connection.state & LOST:
                self._end(connection)
            elif connection.call is None and not connection.state & STOPPED:
                connection.serve()

    def perform(self, effects: Effects, now: int) -> None:
        """Perform the core's effects in order."""
        for effect in effects:
            self._performers[effect.__class__](effect, now)

    def deliver(self, reply: Reply, now: int) -> None:
        """Send an answer to which fault rules were applied. The code is flat, because every answer takes this path."""
        call = self.tickets.pop(reply.ticket, None)
        if call is None:
            self._nobody_asked(reply.ticket)
            return
        connection = call.connection
        connection.call = None
        try:
            answer = call.codec.answer(call.frame[4:8], reply.message)
        except CodecError as defect:
            self._defect(f"answer to {call.codec.name} v{call.codec.version}", defect, call)
            return
        if self.journal.wanted and not (call.hidden and call.quiet):
            written = None if connection.state & STALLED else now
            self.record.reply(call, reply.message, len(answer) - 4, now, told=call.told, written=written)
        if connection.state & DEAF:
            self.counters.lost_replies += 1  # The core goes on as if the peer had received the answer (P1-d7).
            return
        self.counters.replies += 1
        if call.quiet and (lease := reply.lease) is not None:
            connection.beaten = now
            connection.unreported += not call.told
            may_repeat = self.gate is None or self.gate.lets_repeat
            if call.told:
                connection.run = Run(call.codec, call.frame, self.journal.silence(connection.number)) if may_repeat else None
            told_until = NEVER if connection.run is None else connection.run.until
            # The connection may not repeat heartbeats by itself if a sink with `pulse` wants each of them.
            if self._leases and may_repeat and connection.idle and told_until != ALWAYS:
                until = ALWAYS if self.journal.heartbeats else told_until
                if connection.guard is not None:
                    lease = connection.guard.until(lease)
                connection.repeat = Repeat(call.codec, call.frame, answer, reply.message, lease, until, self.core.renew(lease))
        connection.answer(answer)
        if connection.out is None and connection.inbox is not None:
            self.serve_soon(connection)

    def drain(self, now: int) -> None:
        """Send the waiting answers of effects that gave many answers."""
        self._backlog.send(self._answer, now)

    def _next_slice(self) -> None:
        self.drain(self.now())
        self.settle()

    def _silent(self, effect: Silent, now: int) -> None:
        if (call := self._closed(effect.ticket)) is not None:
            self.record.reply(call, None, 0, now)
            self.go_on(call.connection)

    def _abandoned(self, effect: Abandoned, now: int) -> None:
        if (call := self._closed(effect.ticket)) is not None:
            self.counters.abandoned += 1
            self.record.abandoned(call, effect.reason, now)
            call.connection.wedge()

    def _close(self, effect: Close, now: int) -> None:
        if (call := self._closed(effect.ticket)) is not None:
            self.counters.over_budget += effect.over_budget
            self.refuse(call.connection, effect.reason, now)

    def _closed(self, ticket: int) -> Call | None:
        """Close and return the request that an effect of the core answers. None means that the core answered twice, which is a defect of
        groupmock."""
        call = self.tickets.close(ticket)
        if call is None:
            self._nobody_asked(ticket)
        return call

    def go_on(self, connection: Connection) -> None:
        """Serve the requests that wait on a connection whose open request is done."""
        if connection.out is None and connection.inbox is not None:
            self.serve_soon(connection)

    def refuse(self, connection: Connection, reason: str, now: int | None = None) -> None:
        """Close a connection because of a request on which Kafka closes the connection, too."""
        self.counters.refused += 1
        self.shut(connection, reason, now=now)

    def shut(self, connection: Connection, reason: str, linger: bool = True, now: int | None = None) -> None:
        """Close a connection from the broker's side: write one row, send the answers that wait, then FIN. Without `linger` the peer gets
        no time to close its half. `now` is the time of the event that causes the close, so that a replay has the same row."""
        # A connection that is closing is closed a second time only without `linger`: the server's end cuts the wait for its peer short.
        if connection.gone or (connection.closing and linger):
            return
        if not connection.closing:
            self.record.closed(connection, "server", reason, self.now() if now is None else now)
        connection.shut(linger)

    def break_off(self, connection: Connection, reason: str, now: int) -> None:
        """Close a connection with RST and write one row. Answers that were not sent yet are lost."""
        if not connection.deaf:
            self.record.closed(connection, "server", reason, now)
            connection.break_off()

    def _happen(self, event: Event, now: int) -> None:
        try:
            effects = self.core.handle(event, now)
        except Exception as defect:
            self._defect(type(event).__name__, defect)
            return
        self.perform(effects, now)

    def _ring(self) -> None:
        self._expire_due(self.now())
        self.settle()

    def _expire_due(self, now: int) -> None:
        if (deadline := self.core.deadline()) is not None and deadline <= now:
            self.expire(now)

    def _nobody_asked(self, ticket: int) -> None:
        self.counters.internal_errors += 1
        self.record.remark("internal error", self.now(), ticket=ticket, error="an answer to no open request")

    def _defect(self, where: str, defect: Exception, call: Call | None = None) -> None:
        """Record an error of groupmock itself as a note with the traceback. Only the connection of the failed request is closed."""
        self.counters.internal_errors += 1
        text = "".join(traceback.format_exception(defect))
        error = f"{type(defect).__name__}: {defect}"
        self.record.remark("internal error", self.now(), where=where, error=error, traceback=text)
        if call is not None:
            self.tickets.close(call.ticket)
            self.shut(call.connection, f"internal error in {where}: {error}")
