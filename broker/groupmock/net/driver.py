"""The loop around the pure core: decode -> core -> effects -> encode, timers, and answers in slices (architecture section 3).

Everything here runs on one loop's thread. The core is entered from three places only: a request, a timer, a command (and the
notice that a connection is gone); what it wants done is done here, in order.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec.errors import CodecError

from ..core.effects import Abandoned, Close, Effects, Lease, Replies, Reply, Silent
from ..core.events import Command, Disconnected, Event, Request
from ..journal.rows import DISCONNECTED, NOT_READING
from .connection import STOPPED, Connection
from .counters import Counters
from .exchange import FETCH, HEARTBEAT, Exchange, Exchanges, Refused, unknown_api_versions
from .record import Record
from .repeat import Repeat

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..clock import Clock, Handle
    from ..journal.journal import Journal
    from .core import Core
    from .limits import Limits

LOOK_AT_CLOCK_EVERY: Final = 8
"""Answers between two looks at the clock while a slice lasts."""


class Current(NamedTuple):
    """The heartbeat that changed nothing and that the core is answering right now."""

    connection: Connection
    frame: bytes
    body_at: int
    client_id: str | None


class Driver:
    """Owns the connections of one cluster and performs what its core wants. `vacated` is called when a connection is gone."""

    def __init__(self, cluster: Core, clock: Clock, journal: Journal, limits: Limits) -> None:
        self.cluster = cluster
        self.clock = clock
        self.journal = journal
        self.limits = limits
        self.now = clock.now
        self.renew = cluster.renew
        self.record = Record(journal)
        self.counters = Counters()
        self.exchanges = Exchanges(cluster.identity.advertised)
        self.connections: dict[int, Connection] = {}
        self.leases = True
        self.vacated: Callable[[], None] = _nothing
        self._tickets: dict[int, Connection] = {}
        self._current: Current | None = None
        self._resumable: deque[Connection] = deque()
        self._backlog: deque[Iterator[Reply]] = deque()
        self._slice: asyncio.Handle | None = None
        self._alarm: Handle | None = None
        self._alarm_at = 0
        self._performers: dict[type, Callable[[Any, int], None]] = {
            Reply: self._reply,
            Replies: self._replies,
            Silent: self._silent,
            Abandoned: self._abandoned,
            Close: self._close,
            **self.record.effects,
        }

    # What connections report

    def opened(self, connection: Connection) -> None:
        """A connection is there."""
        now = connection.active = self.now()
        self.connections[connection.number] = connection
        self.counters.connections_opened += 1
        self.record.opened(connection, now)

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
        if connection.ticket and connection.exchange is not None and connection.exchange.key == FETCH:
            self._done(connection.ticket)  # the core forgot this fetch (events.Disconnected); joins and syncs are still answered
        self.settle()
        self.vacated()

    def holds(self, connection: Connection, change: int) -> None:
        """So many more (or fewer) bytes wait in this connection."""
        self.counters.held_bytes += change
        if change > 0 and self.counters.held_bytes > self.limits.queued_max_request_bytes:
            limit = self.limits.queued_max_request_bytes
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
        """One whole frame, its turn having come."""
        connection.repeat = None
        try:
            exchange = self.exchanges[frame[:4]]
            client_id, at = exchange.header(frame)
            message, end = exchange.decode(frame, at)
        except (Refused, CodecError) as refusal:
            self._not_taken(connection, frame, received, refusal)
            return
        now = self.now()
        ticket = self._open(connection, exchange, frame, now)
        numbers = (ticket, connection.number, connection.node)
        event = Request(*numbers, exchange.key, exchange.version, client_id, connection.client_host, message)
        try:
            effects = self.cluster.handle(event, now)
        except Exception as defect:
            self.record.request(connection, exchange, client_id, message, frame, received)
            self._defect(connection, f"{exchange.name} v{exchange.version}", defect)
            return
        quiet = exchange.key == HEARTBEAT and _changed_nothing(effects)
        self.record.request(connection, exchange, client_id, message, frame, received, len(frame) - end, quiet)
        self._current = Current(connection, frame, at, client_id) if quiet else None
        self.perform(effects, now)
        self._current = None

    def refuse(self, connection: Connection, reason: str) -> None:
        """Close who sent something that Kafka does not take."""
        self.counters.refused += 1
        self.shut(connection, reason)

    def shut(self, connection: Connection, reason: str, linger: bool = True) -> None:
        """Close a connection from our side: one row, what was answered goes out, then FIN (and no more patience without `linger`)."""
        if connection.gone or (connection.closing and linger):
            return
        if not connection.closing:
            self.record.closed(connection, "server", reason, self.now())
        connection.shut(linger)

    # What steers

    def submit(self, command: Command) -> Effects:
        """Run a command through the core and do what follows. Raises what the command raises; then nothing is recorded."""
        now = self.now()
        effects = self.cluster.handle(command, now)
        self.record.command(command, now)
        self.perform(effects, now)
        self.settle()
        return effects

    def use_leases(self, use: bool) -> None:
        """Off: every heartbeat takes the full path (fault rules, tests)."""
        self.leases = use
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
            effects = self.cluster.expire(now)
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

    def _reply(self, effect: Reply, now: int) -> None:
        connection = self._done(effect.ticket)
        if connection is None:
            return
        exchange = connection.exchange
        assert exchange is not None
        try:
            answer = exchange.answer(connection.correlation, effect.message)
        except CodecError as defect:
            self._defect(connection, f"answer to {exchange.name} v{exchange.version}", defect)
            return
        current = self._current
        quiet = current is not None and current.connection is connection
        self.record.reply(connection, exchange, effect.ticket, effect.message, len(answer) - 4, now, quiet)
        if connection.deaf:
            self.counters.lost_replies += 1
            return
        self.counters.replies += 1
        if effect.lease is not None and current is not None and quiet:
            self._remember(current, exchange, effect.lease, answer, effect.message)
        connection.answer(answer)
        self._continue(connection)

    def _remember(self, current: Current, exchange: Exchange, lease: Lease, answer: bytes, message: Message) -> None:
        connection = current.connection
        if self.leases and connection.idle:
            connection.repeat = Repeat(self, exchange, current, answer, message, lease)

    def _replies(self, effect: Replies, now: int) -> None:
        self._backlog.append(effect.replies)
        if self._slice is None:
            self._drain(now)

    def _drain(self, now: int) -> None:
        """Answers until there are no more or the slice is over; the rest after a turn of the loop."""
        end = time.monotonic_ns() + self.limits.replies_slice_us * 1000
        count = 0
        while self._backlog:
            reply = self._next_reply()
            if reply is None:
                continue
            self._reply(reply, now)
            count += 1
            if count % LOOK_AT_CLOCK_EVERY == 0 and time.monotonic_ns() > end:
                self._slice = asyncio.get_running_loop().call_soon(self._next_slice)
                return

    def _next_reply(self) -> Reply | None:
        """From the oldest of the backlog; None: that one is done (or broke)."""
        try:
            reply = next(self._backlog[0], None)
        except Exception as defect:
            self._defect(None, "many answers", defect)
            reply = None
        if reply is None:
            self._backlog.popleft()
        return reply

    def _next_slice(self) -> None:
        self._slice = None
        self._drain(self.now())
        self.settle()

    def _silent(self, effect: Silent, now: int) -> None:
        connection = self._done(effect.ticket)
        if connection is not None and connection.exchange is not None:
            self.record.reply(connection, connection.exchange, effect.ticket, None, 0, now)
            self._continue(connection)

    def _abandoned(self, effect: Abandoned, now: int) -> None:
        connection = self._done(effect.ticket)
        if connection is None:
            return
        self.counters.abandoned += 1
        self.record.abandoned(connection, effect.ticket, effect.reason, now)
        connection.wedge()

    def _close(self, effect: Close, now: int) -> None:
        connection = self._done(effect.ticket)
        if connection is not None:
            self.refuse(connection, effect.reason)

    # Inside

    def _open(self, connection: Connection, exchange: Exchange, frame: bytes, now: int) -> int:
        """The connection waits for an answer from now on; the request's ticket."""
        counters = self.counters
        counters.handled = ticket = counters.handled + 1
        counters.requests[exchange.key] = counters.requests.get(exchange.key, 0) + 1
        connection.ticket = ticket
        connection.exchange = exchange
        connection.correlation = frame[4:8]
        connection.handled = now
        self._tickets[ticket] = connection
        return ticket

    def _done(self, ticket: int) -> Connection | None:
        """The connection of an open request, which is open no more. None: the core answered twice, a defect of ours."""
        connection = self._tickets.pop(ticket, None)
        if connection is None:
            self.counters.internal_errors += 1
            self.record.remark("internal error", self.now(), ticket=ticket, error="an answer to no open request")
            return None
        connection.ticket = 0
        return connection

    def _continue(self, connection: Connection) -> None:
        if (connection.waiting or connection.framer) and connection.out is None:
            self._resumable.append(connection)

    def _not_taken(self, connection: Connection, frame: bytes, received: int, refusal: Refused | CodecError) -> None:
        """Refused or broken: closed with the reason, unless it is ApiVersions in a version we have not."""
        try:
            unknown = unknown_api_versions(frame, self.exchanges.advertised) if isinstance(refusal, Refused) and len(frame) >= 8 else None
        except CodecError as broken:
            self.refuse(connection, str(broken))
            return
        if unknown is None:
            self.refuse(connection, str(refusal))
            return
        header, message, answer = unknown
        exchange = Exchange(header.api_key, 0)
        now = self.now()
        ticket = self._open(connection, exchange, frame, now)
        note = f"{refusal}; answered in version 0"
        self.record.request(connection, exchange, header.client_id, None, frame, received, note=note)
        self._done(ticket)
        self.record.reply(connection, exchange, ticket, message, len(answer) - 4, now)
        connection.answer(answer)

    def _happen(self, event: Event, now: int) -> None:
        try:
            effects = self.cluster.handle(event, now)
        except Exception as defect:
            self._defect(None, type(event).__name__, defect)
            return
        self.perform(effects, now)

    def _defect(self, connection: Connection | None, where: str, defect: Exception) -> None:
        """An error of groupmock itself: a note with the traceback; its connection is closed, all others go on."""
        self.counters.internal_errors += 1
        text = "".join(traceback.format_exception(defect))
        error = f"{type(defect).__name__}: {defect}"
        self.record.remark("internal error", self.now(), where=where, error=error, traceback=text)
        if connection is not None:
            self._tickets.pop(connection.ticket, None)
            connection.ticket = 0
            self.shut(connection, f"internal error in {where}: {error}")

    def _arm(self) -> None:
        """One appointment for all timers, made again only when an earlier deadline comes up."""
        deadline = self.cluster.deadline()
        if deadline is None or (self._alarm is not None and self._alarm_at <= deadline):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = deadline
        self._alarm = self.clock.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = self.now()
        deadline = self.cluster.deadline()
        if deadline is not None and deadline <= now:
            self.expire(now)
        self.settle()

    def stop(self) -> None:
        """No more timers, no more slices: what is still to be answered is answered now."""
        if self._alarm is not None:
            self._alarm.cancel()
        if self._slice is not None:
            self._slice.cancel()
            self._slice = None
        now = self.now()
        while self._backlog:
            reply = self._next_reply()
            if reply is not None:
                self._reply(reply, now)


def _changed_nothing(effects: Effects) -> bool:
    """A heartbeat's effects: was it only answered, with leave to repeat?"""
    return len(effects) == 1 and isinstance(effects[0], Reply) and effects[0].lease is not None


def _nothing() -> None:
    """Nobody waits for room."""
