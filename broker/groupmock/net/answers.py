"""Open requests and what becomes of them: answered now or in slices, left unanswered, refused. The lower half of the driver."""

from __future__ import annotations

import asyncio
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.errors import CodecError

from ..core.effects import Abandoned, Close, Lease, Replies, Reply, Silent
from .connection import DEAF, Connection
from .counters import Counters
from .record import Record
from .repeat import Current, Repeat

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..clock import Clock
    from ..journal.journal import Journal
    from .codecs import ApiCodec
    from .fault_gate import Faults
    from .limits import Limits

LOOK_AT_CLOCK_EVERY: Final = 8
"""Answers between two looks at the clock while a slice lasts."""


class Answers(ABC):
    """Knows which connection waits for which answer. `faults` is there while a fault rule could strike."""

    def __init__(self, clock: Clock, journal: Journal, limits: Limits) -> None:
        self.clock = clock
        self.journal = journal
        self.limits = limits
        self.now = clock.now
        self.record = Record(journal)
        self.counters = Counters()
        self.leases = True
        self.faults: Faults | None = None
        self._tickets: dict[int, Connection] = {}
        self._current: Current | None = None
        self._resumable: deque[Connection] = deque()
        self._backlog: deque[Iterator[Reply]] = deque()
        self._slice: asyncio.Handle | None = None
        self._performers: dict[type, Callable[[Any, int], None]] = {
            Reply: self._reply,
            Replies: self._replies,
            Silent: self._silent,
            Abandoned: self._abandoned,
            Close: self._close,
            **self.record.effects,
        }

    @abstractmethod
    def settle(self) -> None:
        """After every entry. See `Driver.settle`."""

    def refuse(self, connection: Connection, reason: str, now: int | None = None) -> None:
        """Close who sent something that Kafka does not take."""
        self.counters.refused += 1
        self.shut(connection, reason, now=now)

    def shut(self, connection: Connection, reason: str, linger: bool = True, now: int | None = None) -> None:
        """Close a connection from our side: one row, what was answered goes out, then FIN (and no more patience without `linger`).

        `now`: of the event that wants it, so that replay has the same row.
        """
        if connection.gone or (connection.closing and linger):
            return
        if not connection.closing:
            self.record.closed(connection, "server", reason, self.now() if now is None else now)
        connection.shut(linger)

    # Effects

    def _reply(self, effect: Reply, now: int) -> None:
        """Written flat: it is on the way of every answer."""
        if self.faults is not None and self.faults.reply(effect, now):
            return
        connection = self._tickets.pop(effect.ticket, None)
        if connection is None:
            self._nobody_asked(effect.ticket)
            return
        connection.ticket = 0
        codec = connection.codec
        assert codec is not None
        try:
            answer = codec.answer(connection.correlation, effect.message)
        except CodecError as defect:
            self._defect(connection, f"answer to {codec.name} v{codec.version}", defect)
            return
        current = self._current
        quiet = current is not None and current.connection is connection
        if self.journal.wanted:
            self.record.reply(connection, codec, effect.ticket, effect.message, len(answer) - 4, now, quiet)
        if connection.state & DEAF:
            self.counters.lost_replies += 1
            return
        self.counters.replies += 1
        if effect.lease is not None and current is not None and quiet:
            self._remember(current, codec, effect.lease, answer, effect.message)
        connection.frame = b""  # up to socket.request.max.bytes, for as long as the client likes to be idle
        connection.answer(answer)
        if connection.out is None and (connection.waiting or connection.framer):
            self._resumable.append(connection)

    def deliver(self, effect: Reply, now: int) -> None:
        """An answer that passed the fault rules goes out."""
        faults, self.faults = self.faults, None
        try:
            self._reply(effect, now)
        finally:
            self.faults = faults

    def send(self, effect: Reply, now: int) -> None:
        """The same, but its connection goes on only when the ticket is freed."""
        connection = self._tickets.get(effect.ticket)
        self.deliver(effect, now)
        if connection is not None and not connection.deaf:
            self._tickets[effect.ticket] = connection
            connection.ticket = effect.ticket

    def _remember(self, current: Current, codec: ApiCodec, lease: Lease, answer: bytes, message: Message) -> None:
        connection = current.connection
        if self.leases and connection.idle and (self.faults is None or self.faults.lets_repeat):
            connection.repeat = Repeat(self, codec, current, answer, message, lease)

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
        if connection is not None and connection.codec is not None:
            self.record.reply(connection, connection.codec, effect.ticket, None, 0, now)
            connection.frame = b""
            self.go_on(connection)

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
            self.refuse(connection, effect.reason, now)

    # What faults do to an open request

    def waits(self, ticket: int) -> Connection | None:
        """The connection that waits for this answer; None: nobody does (any more)."""
        return self._tickets.get(ticket)

    def forget(self, ticket: int) -> None:
        """It will not be answered. Harmless when nobody waits."""
        if ticket in self._tickets:
            self._done(ticket)

    def free(self, ticket: int) -> None:
        """It was answered before: its connection goes on now. Harmless when nobody waits."""
        connection = self._tickets.get(ticket)
        if connection is not None:
            self._done(ticket)
            self.go_on(connection)

    def abandon(self, ticket: int, reason: str, now: int) -> None:
        """It will never be answered, and its connection stays mute."""
        self._abandoned(Abandoned(ticket, reason), now)

    def break_off(self, connection: Connection, reason: str, now: int) -> None:
        """End a connection by RST: one row; what was not sent yet is lost."""
        if not connection.deaf:
            self.record.closed(connection, "server", reason, now)
            connection.break_off()

    # Inside

    def _open(self, connection: Connection, codec: ApiCodec, frame: bytes, now: int) -> int:
        """The connection waits for an answer from now on; the request's ticket."""
        counters = self.counters
        counters.handled = ticket = counters.handled + 1
        counters.requests[codec.key] = counters.requests.get(codec.key, 0) + 1
        connection.ticket = ticket
        connection.codec = codec
        connection.correlation = frame[4:8]
        connection.frame = frame
        connection.handled = now
        self._tickets[ticket] = connection
        return ticket

    def _done(self, ticket: int) -> Connection | None:
        """The connection of an open request, which is open no more. None: the core answered twice, a defect of ours."""
        connection = self._tickets.pop(ticket, None)
        if connection is None:
            self._nobody_asked(ticket)
            return None
        connection.ticket = 0
        return connection

    def _nobody_asked(self, ticket: int) -> None:
        self.counters.internal_errors += 1
        self.record.remark("internal error", self.now(), ticket=ticket, error="an answer to no open request")

    def serve_soon(self, connection: Connection) -> None:
        """Serve it when the present entry is done: what else it wants comes first, in its order."""
        self._resumable.append(connection)

    def go_on(self, connection: Connection) -> None:
        """Its request is dealt with: serve what waits behind it."""
        if connection.out is None and (connection.waiting or connection.framer):
            self._resumable.append(connection)

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
