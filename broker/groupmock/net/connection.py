"""One client connection: bytes in, frames cut, one request at a time, answers out in order, one write per read.

A connection waits ("mute", as Kafka's SocketServer has it) while its request is open: nothing behind it is dispatched, but bytes
are read on up to a limit, because a loop that does not read does not notice that the peer went away.
"""

from __future__ import annotations

import asyncio
import socket
from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol, cast

from groupmock_codec.frame import FrameError

from ..core.events import PLAINTEXT
from .inbox import Inbox
from .repeat import ID_AT, ID_END
from .strangers import reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..config.limits import Limits
    from ..core.effects import Lease
    from ..journal.journal import Journal
    from .call import Call
    from .counters import Counters
    from .repeat import Repeat, Run
    from .turns import Turns

# Bits of `Connection.state`: why it is not served, or what else is special about it.
BLOCKED: Final = 1  # the peer does not read its answers
WEDGED: Final = 2  # its request will never be answered
CLOSING: Final = 4  # closed by us: nothing is read or answered any more
LOST: Final = 8  # the transport is gone
FINISHED: Final = 16  # the peer sends no more (it may still read)
PAUSED: Final = 32  # we read no more for now
STALLED: Final = 64  # its node is stalled: nothing is heard, what is answered waits
DUE: Final = 128  # it stands in the queue of `turns`
STOPPED: Final = BLOCKED | WEDGED | CLOSING | LOST | STALLED
DEAF: Final = CLOSING | LOST

LINGER_S: Final = 1.0
"""How long a connection that we close may take to read the rest and to close its half."""
NO_LINGER: Final = Struct("ii").pack(1, 0)  # SO_LINGER on, 0 s: close() then sends RST instead of FIN

_length = Struct(">i").unpack_from


class Repetitions(Protocol):
    """Where heartbeats are told that were answered here."""

    def repeated(self, connection: Connection, repeat: Repeat, identifiers: bytes, now: int) -> None:
        """So many as there are correlation ids; they are not counted yet."""


class Dispatcher(Protocol):
    """What a connection needs of who handles its requests: `net.driver.Driver` is one."""

    limits: Limits
    counters: Counters
    journal: Journal
    now: Callable[[], int]
    renew: Callable[[Lease, int], None]
    turns: Turns[Connection]

    @property
    def record(self) -> Repetitions:
        """Asked only while a sink wants heartbeats."""

    def opened(self, connection: Connection) -> None:
        """It has a transport."""

    def arrived(self, connection: Connection, data: bytes) -> None:
        """Bytes that are no repeated heartbeat."""

    def request(self, connection: Connection, frame: bytes, received: int) -> None:
        """One whole frame, its turn having come."""

    def refuse(self, connection: Connection, reason: str) -> None:
        """Close it: it sent something that Kafka does not take."""

    def holds(self, connection: Connection, change: int) -> None:
        """So many more (or fewer) bytes wait in it."""

    def not_reading(self, connection: Connection) -> None:
        """Its answers pile up."""

    def serve_soon(self, connection: Connection) -> None:
        """It can be served again, when the present entry is done and its turn has come."""

    def settle(self) -> None:
        """The end of an entry."""

    def lost(self, connection: Connection, failure: Exception | None) -> None:
        """Its transport is gone."""


class Connection(asyncio.Protocol):
    """The loop's callbacks on top, what the driver calls below. `call`: the request that is open; `inbox`: what waits behind it."""

    __slots__ = (
        "active",
        "beat_row",
        "beaten",
        "call",
        "client_host",
        "driver",
        "held",
        "inbox",
        "late",
        "listener",
        "node",
        "number",
        "out",
        "out_bytes",
        "port",
        "repeat",
        "run",
        "slow",
        "state",
        "transport",
    )

    def __init__(self, driver: Dispatcher, number: int, node: int, client_host: str, port: int, listener: str = PLAINTEXT) -> None:
        self.driver = driver
        self.number = number
        self.node = node
        self.listener = listener
        self.client_host = client_host
        self.port = port
        self.transport: asyncio.Transport | None = None
        self.state = 0
        self.call: Call | None = None
        self.active = 0  # when bytes came that were no repeated heartbeat
        self.beaten = 0  # when a heartbeat came last that changed nothing
        self.beat_row = 0  # the number of its row; 0: it has none
        self.run: Run | None = None  # what the heartbeats are equal to that a sink hears of now and then
        self.repeat: Repeat | None = None  # only while idle: nothing open, cut, waiting or stopped
        self.inbox: Inbox | None = None  # only while something is in it
        self.slow = False  # its last request took longer than a slice (`net.turns`)
        self.held = 0  # bytes of the inbox, as the driver was told last
        self.out: list[bytes] | None = None
        self.out_bytes = 0
        self.late: list[bytes] | None = None  # answers of a stalled node

    # What the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from asyncio's
        self.transport.set_write_buffer_limits(high=self.driver.limits.connection_write_buffer_bytes)
        self.driver.opened(self)

    def data_received(self, data: bytes) -> None:
        """Bytes. Heartbeats that repeat the last one cost a few comparisons (see `repeat`); everything else takes the full path.

        Written flat: in ping-pong every microsecond here costs a tenth of the rate.
        """
        repeat = self.repeat
        if repeat is not None and repeat.group.epoch == repeat.epoch:
            if len(data) != repeat.length:
                identifiers = repeat.several(data)
            else:  # slices compare faster than startswith and endswith
                identifiers = data[ID_AT:ID_END] if data[:ID_AT] == repeat.head and data[ID_END:] == repeat.tail else b""
            if identifiers:
                driver = self.driver
                now = driver.now()
                if now > repeat.until:  # before anything of it counts: whoever is told may look at the heartbeat before it
                    if now > repeat.lease.until:
                        driver.arrived(self, data)
                        return
                    driver.record.repeated(self, repeat, identifiers, now)
                self.beaten = now
                # It moves a number, no timer: `call_later` and `cancel` would double the cost (docs/kafka/limits.md#heartbeats).
                driver.renew(repeat.lease, now)
                if len(identifiers) == 4:
                    driver.counters.handled += 1
                    self.transport.write(repeat.answer_head + identifiers + repeat.answer_tail)  # type: ignore[union-attr]  # connected
                else:
                    driver.counters.handled += len(identifiers) >> 2
                    self.transport.write(repeat.answers(identifiers))  # type: ignore[union-attr]  # connected
                return
        self.driver.arrived(self, data)

    def eof_received(self) -> bool:
        """The peer sends no more. It still gets the answers it waits for, unless there will never be one."""
        # P2-d13: a half-closed client still gets its answer.
        # The fast path looks at `repeat` alone, so whatever ends idleness drops that.
        self.state |= FINISHED
        self.repeat = None
        return not self.state & (WEDGED | CLOSING) and self._owes()

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is gone, by whoever closed it."""
        self.state |= LOST
        self.repeat = None
        # The inbox goes after it: the row of the end counts the bytes that are still in there.
        self.driver.lost(self, exc)
        self.inbox = None
        self._account()

    def pause_writing(self) -> None:
        """The peer does not read: serve it no further until it does."""
        self.state |= BLOCKED
        self.repeat = None
        self.driver.not_reading(self)

    def resume_writing(self) -> None:
        """The peer reads again."""
        self.state &= ~BLOCKED
        if not self.state & STOPPED:
            self.driver.serve_soon(self)
            self.driver.settle()

    # What the driver calls

    @property
    def heard(self) -> int:
        """When bytes came last."""
        return max(self.active, self.beaten)

    @property
    def idle(self) -> bool:
        """Nothing is open, cut, waiting or stopped: the next bytes start a request that is handled at once."""
        return not (self.call is not None or self.state or self.inbox is not None)

    @property
    def gone(self) -> bool:
        """The transport is gone."""
        return bool(self.state & LOST)

    @property
    def deaf(self) -> bool:
        """Gone, or closed from our side: nothing can be sent any more."""
        return bool(self.state & DEAF)

    @property
    def closing(self) -> bool:
        """Closed from our side."""
        return bool(self.state & CLOSING)

    @property
    def cut_bytes(self) -> int:
        """Bytes that have come of a frame whose rest has not."""
        return self.inbox.cut_bytes if self.inbox is not None else 0

    @property
    def waiting(self) -> int:
        """Bytes of requests that wait for the open one, with what each piece costs."""
        return self.inbox.waiting if self.inbox is not None else 0

    def take(self, data: bytes, received: int) -> None:
        """New bytes: handle them now, or keep them until the open request is answered."""
        driver, inbox, waits = self.driver, self.inbox, self.call is not None or self.state & STOPPED
        limit = driver.limits.socket_request_max_bytes
        # One read, one whole frame, is the usual case: no inbox is made for it, nothing is counted.
        if inbox is None and not waits and not self.slow and len(data) >= 4 and _length(data)[0] == len(data) - 4 <= limit:
            driver.request(self, data[4:], received)
            return
        if self.state & DEAF:
            return
        if inbox is None:
            inbox = self.inbox = Inbox(limit)
        self.repeat = None
        # Not cut yet: Kafka notices garbage behind a parked JoinGroup only when that one was answered (P2-d13).
        inbox.keep(data, received)
        if not waits:
            driver.serve_soon(self)
        if waits or driver.turns.ordered:
            self._account()
            self._flow()

    def serve(self) -> None:
        """Handle what waited, until an answer is waited for again or its part of the slice is over; the answers go out together."""
        # One write per read is 4.7 times as fast as one per answer (docs/kafka/limits.md#reading-and-writing).
        self.out, self.out_bytes = [], 0
        over = self.driver.turns.over
        while (inbox := self.inbox) is not None and self.call is None and not self.state & STOPPED:
            try:
                found = inbox.pop()
            # Found behind the good frames of the same segment, which Kafka answers first (docs/kafka/seen-on-brokers.md#bad-bytes).
            except FrameError as broken:
                self.driver.refuse(self, reason(broken))
                break
            if inbox.empty:
                self.inbox = None
            if found is None:
                break
            self.driver.request(self, found[1], found[0])
            if over():
                break
        if self.waiting and self.call is None and not self.state & STOPPED:
            self.driver.serve_soon(self)
        self._account()
        self._flow()
        self._flush()

    def answer(self, frame: bytes) -> None:
        """One answer: goes out with the others of this read, or now."""
        if self.out is None:
            self._write(frame)
            return
        self.out.append(frame)
        self.out_bytes += len(frame)
        if self.out_bytes > self.driver.limits.connection_write_buffer_bytes:
            self._write(b"".join(self.out))
            self.out, self.out_bytes = [], 0

    def wedge(self) -> None:
        """Its request will never be answered: stay open and mute, as Kafka does; a peer that hung up already is let go."""
        self.state |= WEDGED
        self.repeat = None
        if self.state & FINISHED and self.transport is not None:
            self.transport.close()

    def shut(self, linger: bool = True) -> None:
        """Close: what was answered goes out first, then FIN. No request is handled any more. `linger`: let the peer close its half."""
        self.state |= CLOSING
        self.repeat = None
        if not linger and self.transport is not None:
            self.transport.close()
        elif self.out is None:  # else `_flush` finishes: what this read was answered goes out first
            self._finish()

    def stall(self) -> None:
        """Hear and say nothing."""
        self.state |= STALLED
        self.repeat = None

    def unstall(self) -> None:
        """Say what was to be said meanwhile, and go on."""
        self.state &= ~STALLED
        late, self.late = self.late, None
        if late:
            self._write(b"".join(late))
        if not self.state & STOPPED:
            self.driver.serve_soon(self)

    def break_off(self) -> None:
        """End it by RST: the peer reads that the connection was reset."""
        self.state |= CLOSING
        self.repeat = None
        if self.out is not None:
            self.out = []  # what this read was answered before is lost with it, as with any reset
        transport = self.transport
        if transport is not None:
            link = transport.get_extra_info("socket")
            if link is not None:  # else there is no network, and nothing to be reset
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            transport.abort()

    def how_it_ended(self, failure: Exception | None) -> str:
        """Why there is no connection any more, for its row, when it was not us who closed it."""
        how = f"the connection broke: {failure}" if failure is not None else "the client closed"
        if self.cut_bytes:
            how += f" in the middle of a frame, of which {self.cut_bytes} bytes had come"
        if self.state & LOST and self.call is not None:
            how += ", with a request unanswered"
        return how

    # Inside

    def _flow(self) -> None:
        """Read on while not too much waits, and nothing that could be handled if it were its turn."""
        transport = self.transport
        if transport is None or self.state & (CLOSING | LOST):
            return
        full = self.state & DUE or self.waiting >= self.driver.limits.connection_read_ahead_bytes
        if full and not self.state & PAUSED:
            self.state |= PAUSED
            transport.pause_reading()
        elif not full and self.state & PAUSED:
            self.state &= ~PAUSED
            transport.resume_reading()

    def _owes(self) -> bool:
        return bool(self.call is not None or self.waiting or self.late or self.state & BLOCKED)

    def _account(self) -> None:
        inbox = self.inbox
        held = inbox.waiting + inbox.cut_bytes if inbox is not None else 0
        if held != self.held:
            change, self.held = held - self.held, held
            self.driver.holds(self, change)

    def _flush(self) -> None:
        out, self.out = self.out, None
        if out:
            self._write(out[0] if len(out) == 1 else b"".join(out))
        if self.state & CLOSING:
            self._finish()
        elif self.state & FINISHED and not self._owes() and self.transport is not None:
            self.transport.close()

    def _write(self, data: bytes) -> None:
        if self.state & STALLED:
            self.late = self.late or []
            self.late.append(data)
        elif self.transport is not None and not self.state & LOST:
            self.transport.write(data)
        if self.state & FINISHED and self.out is None and not self._owes() and self.transport is not None:
            self.transport.close()

    def _finish(self) -> None:
        """FIN, then read and drop what is still coming: closing with unread bytes would send RST and could cost the peer its answers."""
        transport = self.transport
        if transport is None or self.state & LOST or transport.is_closing():
            return
        if self.state & FINISHED or not transport.can_write_eof():
            transport.close()
            return
        if self.state & PAUSED:
            self.state &= ~PAUSED
            transport.resume_reading()
        # What a client of Kafka sees of a refusal is FIN, not RST (docs/kafka/seen-on-brokers.md#bad-bytes).
        transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, transport.abort)  # a peer that never closes its half would keep the descriptor
