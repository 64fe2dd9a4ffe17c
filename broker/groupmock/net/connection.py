"""A connection cuts a client's bytes into frames, passes on one request at a time, and sends the answers in order with one write for each
read.

A connection is mute (as in Kafka's SocketServer) while its request is open: later requests are not dispatched, but bytes are read on up to
a limit, because a loop that does not read does not notice that the peer disconnected.
"""

from __future__ import annotations

import asyncio
import socket
from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol, cast

from groupmock_codec.frame import FrameError

from ..core.events import ANONYMOUS, PLAINTEXT
from .inbox import Inbox
from .repeat import ID_AT, ID_END
from .strangers import reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..config.limits import Limits
    from ..core.effects import Effects, Lease
    from ..journal.journal import Journal
    from .call import Call
    from .counters import Counters
    from .repeat import Repeat, Run
    from .turns import Turns

# Bits of `Connection.state` that say why a connection is not served, or what else is special about it.
BLOCKED: Final = 1  # The peer does not read its answers.
WEDGED: Final = 2  # A request on the connection will never be answered.
CLOSING: Final = 4  # The connection was closed by groupmock: nothing is read or answered any more.
LOST: Final = 8  # The connection's transport is closed, so nothing can be sent.
FINISHED: Final = 16  # The peer sends no more, but may still read.
PAUSED: Final = 32  # Reading from the socket is paused.
STALLED: Final = 64  # The node is stalled: nothing is read, and answers wait.
DUE: Final = 128  # The connection waits in the queue of `net.turns`.
STOPPED: Final = BLOCKED | WEDGED | CLOSING | LOST | STALLED
DEAF: Final = CLOSING | LOST

LINGER_S: Final = 1.0
"""A closing connection has this many seconds to read the rest and to close its half."""
NO_LINGER: Final = Struct("ii").pack(1, 0)  # With SO_LINGER on and 0 s, close() sends RST instead of FIN.

_length = Struct(">i").unpack_from


class Repetitions(Protocol):
    """Records the repeated heartbeats that a connection has answered."""

    def repeated(self, connection: Connection, repeat: Repeat, identifiers: bytes, now: int) -> None:
        """Record repeated heartbeats, one for each correlation id, before they are counted."""


class Guarding(Protocol):
    """Stands between the connection and the driver until the client has authenticated itself, as `net.guard.Guard` does."""

    def lets(self, frame: bytes) -> bool:
        """Return whether a frame is a request that may be decoded and handled. Any other frame is handled here."""

    def belongs(self, key: int, now: int) -> bool:
        """Return whether a request of this API belongs to the authentication."""

    def answers(self, call: Call, now: int) -> Effects | None:
        """Return the effects of a request that belongs to the authentication, or None if the core has to handle it."""

    def until(self, lease: Lease) -> Lease:
        """Return the lease under which a heartbeat may be repeated: no longer than the session lives."""

    def bad_length(self, reason: str) -> None:
        """Close the connection after a frame with a bad length."""

    def unwelcome(self, why: str) -> None:
        """Refuse the client at the end of the authentication that its next request begins."""


class Dispatcher(Protocol):
    """Handles the requests of connections, as `net.driver.Driver` does."""

    limits: Limits
    counters: Counters
    journal: Journal
    now: Callable[[], int]
    turns: Turns[Connection]

    @property
    def record(self) -> Repetitions:
        """The recorder, used only while a sink wants rows of heartbeats."""

    def opened(self, connection: Connection) -> None:
        """Register a connection that has a transport now."""

    def arrived(self, connection: Connection, data: bytes) -> None:
        """Handle received bytes that are not a repeated heartbeat."""

    def request(self, connection: Connection, frame: bytes, received: int) -> None:
        """Handle one whole frame of a connection whose turn has come."""

    def refuse(self, connection: Connection, reason: str) -> None:
        """Close a connection for a request for which Kafka closes it."""

    def holds(self, connection: Connection, change: int) -> None:
        """Add to the count of bytes that wait in connections (a negative change subtracts)."""

    def not_reading(self, connection: Connection) -> None:
        """Note that the peer does not read its answers, which therefore wait in memory."""

    def serve_soon(self, connection: Connection) -> None:
        """Serve the connection in its turn, after the event that is being handled."""

    def settle(self) -> None:
        """Finish the handling of an event: serve waiting connections and set the alarm."""

    def lost(self, connection: Connection, failure: Exception | None) -> None:
        """Note that a connection was lost."""


class Connection(asyncio.Protocol):
    """A client connection has first the methods that asyncio calls, then those that the driver calls. `call` is the open request, `inbox`
    holds the bytes behind it."""

    __slots__ = (
        "active", "beat_row", "beaten", "call", "client_host", "driver", "failure", "guard", "held", "inbox", "late", "limit", "listener",
        "node", "number", "out", "out_bytes", "port", "principal", "repeat", "run", "slow", "state", "transport", "unreported",
    )  # fmt: skip

    def __init__(self, driver: Dispatcher, number: int, node: int, client_host: str, port: int, listener: str = PLAINTEXT) -> None:
        self.driver = driver
        self.number = number
        self.node = node
        self.listener = listener
        self.client_host = client_host
        self.port = port
        self.principal = ANONYMOUS
        self.limit = driver.limits.socket_request_max_bytes  # The largest frame that is accepted.
        self.guard: Guarding | None = None  # The guard of a listener that asks for authentication, while it is needed.
        self.transport: asyncio.Transport | None = None
        self.state = 0
        self.call: Call | None = None
        self.active = 0  # Run time of the last bytes that were not a repeated heartbeat.
        self.beaten = 0  # Run time of the last heartbeat that changed nothing.
        self.beat_row = 0  # Number of the row of the last heartbeat that changed nothing, or 0 without a row.
        self.unreported = 0  # Count of heartbeats that changed nothing and were not reported to sinks with `pulse`.
        self.run: Run | None = None  # The heartbeat with which the next ones are compared, for sinks that want only some of them (`pulse`).
        # `repeat` is set only while the connection is idle: nothing is open, incomplete, waiting or stopped.
        self.repeat: Repeat | None = None
        self.inbox: Inbox | None = None  # The inbox exists only while bytes wait in it.
        self.slow = False  # True if the last request took longer than a slice (`net.turns`).
        self.held = 0  # Bytes of the inbox that were last reported to the driver.
        self.out: list[bytes] | None = None
        self.out_bytes = 0
        self.late: list[bytes] | None = None  # Answers that wait while the node is stalled.
        self.failure: Exception | None = None  # The error with which the transport was closed.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport does not derive from asyncio's class.
        self.transport.set_write_buffer_limits(high=self.driver.limits.connection_write_buffer_bytes)
        self.driver.opened(self)

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the peer. Heartbeats that repeat the last heartbeat cost a few comparisons (see `repeat`); everything else
        takes the full path. The code is flat, because in ping-pong every microsecond here costs a tenth of the rate."""
        repeat, driver = self.repeat, self.driver
        if repeat is not None and repeat.group.epoch == repeat.epoch:
            identifier = data[ID_AT:ID_END]
            # A concatenation and a comparison are faster than three slices, and than startswith and endswith.
            if repeat.head + identifier + repeat.tail == data:
                answers, count = repeat.answer_head + identifier + repeat.answer_tail, 1
            else:
                answers, count = repeat.several(data), len(data) // repeat.length
            if answers:
                now = driver.now()
                # The rows are written before `beaten` changes, because a sink may look at the time of the previous heartbeat.
                if now > repeat.until:
                    if now > repeat.lease.until:
                        driver.arrived(self, data)
                        return
                    driver.record.repeated(self, repeat, repeat.identifiers(data), now)
                # Only the time is noted: a timer of the loop would double the cost (docs/kafka/limits.md#heartbeats).
                self.beaten = repeat.beats.last = now
                self.unreported += count
                driver.counters.handled += count
                self.transport.write(answers)  # type: ignore[union-attr]  # connected
                return
        driver.arrived(self, data)

    def eof_received(self) -> bool:
        """Note that the peer sends no more. Return True to keep the transport, so that the peer still gets the answers it waits for."""
        # A half-closed client still gets its answer (P2-d13). The fast path checks `repeat` alone, so everything that ends idleness sets it
        # to None.
        self.state |= FINISHED
        self.repeat = None
        return not self.state & (WEDGED | CLOSING) and self._owes()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection was closed by either side or is broken."""
        self.state |= LOST
        self.repeat = None
        self.driver.lost(self, exc)

    def drop_inbox(self) -> None:
        """Drop the bytes that wait, after the row about the end of the connection has counted them."""
        self.inbox = None
        self._account()

    def pause_writing(self) -> None:
        """Stop serving a peer that does not read its answers."""
        self.state |= BLOCKED
        self.repeat = None
        self.driver.not_reading(self)

    def resume_writing(self) -> None:
        """Serve the peer again, because it reads its answers."""
        self.state &= ~BLOCKED
        if not self.state & STOPPED:
            self.driver.serve_soon(self)
            self.driver.settle()

    @property
    def heard(self) -> int:
        """The run time in ns at which the last bytes arrived."""
        return max(self.active, self.beaten)

    @property
    def idle(self) -> bool:
        """True if nothing is pending and the connection is not stopped, so that the next bytes begin a request that is handled at once."""
        return not (self.call is not None or self.state or self.inbox is not None)

    @property
    def gone(self) -> bool:
        return bool(self.state & LOST)

    def show_certificate(self, which: str) -> None:
        """Show a certificate with a fault in the TLS handshake, which has not begun."""
        show = getattr(self.transport, "show_certificate", None)
        if show is not None:  # A replay has no transport.
            show(which)

    @property
    def deaf(self) -> bool:
        """True if nothing can be sent any more, because the connection was lost or groupmock closed it."""
        return bool(self.state & DEAF)

    @property
    def closing(self) -> bool:
        """True if groupmock closed the connection."""
        return bool(self.state & CLOSING)

    @property
    def cut_bytes(self) -> int:
        """The number of bytes of an incomplete frame."""
        return self.inbox.cut_bytes if self.inbox is not None else 0

    @property
    def waiting(self) -> int:
        """The memory of waiting requests: the bytes that came after the open request, plus an overhead for each piece."""
        return self.inbox.waiting if self.inbox is not None else 0

    def take(self, data: bytes, received: int) -> None:
        """Handle new bytes now, or keep them until the open request is answered."""
        driver, inbox, limit, waits = self.driver, self.inbox, self.limit, self.call is not None or self.state & STOPPED
        # Most reads bring one whole frame, so for them no inbox is made and nothing is counted.
        if inbox is None and not waits and not self.slow and len(data) >= 4 and _length(data)[0] == len(data) - 4 <= limit:
            driver.request(self, data[4:], received)
            return
        if self.state & DEAF:
            return
        if inbox is None:
            inbox = self.inbox = Inbox(limit)
        self.repeat = None
        # The bytes are not cut into frames yet, because Kafka notices garbage behind a parked JoinGroup only after the JoinGroup was
        # answered (P2-d13).
        inbox.keep(data, received)
        if not waits:
            driver.serve_soon(self)
        if waits or driver.turns.ordered:
            self._account()
            self._flow()

    def serve(self) -> None:
        """Handle waiting requests until one stays open or the connection's share of the time slice is used up. The answers are sent
        together."""
        # One write for each read is 4.7 times as fast as a write for each answer (docs/kafka/limits.md#reading-and-writing).
        self.out, self.out_bytes = [], 0
        over = self.driver.turns.over
        while (inbox := self.inbox) is not None and self.call is None and not self.state & STOPPED:
            try:
                found = inbox.pop()
            # The bad frame stands behind good frames of the same segment, which Kafka answers first
            # (docs/kafka/seen-on-brokers.md#bad-bytes).
            except FrameError as broken:
                if self.guard is not None:
                    self.guard.bad_length(reason(broken))
                else:
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
        """Send an answer at once, or together with the other answers of the current read."""
        if self.out is None:
            self._write(frame)
            return
        self.out.append(frame)
        self.out_bytes += len(frame)
        if self.out_bytes > self.driver.limits.connection_write_buffer_bytes:
            self._write(b"".join(self.out))
            self.out, self.out_bytes = [], 0

    def admitted(self, principal: str) -> None:
        """Serve the connection as that of an authenticated client, whose frames may be as long as any."""
        self.principal = principal
        self.limit = self.driver.limits.socket_request_max_bytes
        if self.inbox is not None:
            self.inbox.allow(self.limit)

    def hold_back(self) -> None:
        """Handle no more requests, because the connection will be closed after a pause."""
        self.state |= WEDGED
        self.repeat = None

    def wedge(self) -> None:
        """Keep the connection open but handle nothing more, as Kafka does, because its request will never be answered. The connection is
        closed if the peer has closed its half."""
        self.state |= WEDGED
        self.repeat = None
        if self.state & FINISHED and self.transport is not None:
            self.transport.close()

    def shut(self, linger: bool = True) -> None:
        """Send the answers that were made and close the connection with a FIN. No request is handled any more. `linger` waits for the peer
        to close its half."""
        self.state |= CLOSING
        self.repeat = None
        if not linger and self.transport is not None:
            self.transport.close()
        elif self.out is None:  # Inside `serve` nothing is to do here, because `_flush` calls `_finish` after it has sent the answers.
            self._finish()

    def stall(self) -> None:
        """Stop reading and writing, because the node is stalled."""
        self.state |= STALLED
        self.repeat = None

    def unstall(self) -> None:
        """Send the answers that waited for the stalled node, and serve the connection again."""
        self.state &= ~STALLED
        late, self.late = self.late, None
        if late:
            self._write(b"".join(late))
        if not self.state & STOPPED:
            self.driver.serve_soon(self)

    def break_off(self) -> None:
        """Close the connection with RST, which the peer sees as a reset."""
        self.state |= CLOSING
        self.repeat = None
        if self.out is not None:
            self.out = []  # A reset of the connection loses the answers to the bytes that were just read, as on any TCP connection.
        transport = self.transport
        if transport is not None:
            link = transport.get_extra_info("socket")
            if link is not None:  # A transport without a socket has no connection to reset.
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            transport.abort()

    def how_it_ended(self) -> str:
        """Return the reason that the journal gives when the peer or the network ended the connection."""
        failure = self.failure
        how = f"the connection broke: {failure}" if failure is not None else "the client closed"
        if self.cut_bytes:
            how += f" in the middle of a frame, of which {self.cut_bytes} bytes had come"
        if self.state & LOST and self.call is not None:
            how += ", with a request unanswered"
        return how

    def _flow(self) -> None:
        """Pause reading while too many bytes wait, or while bytes wait only for the connection's turn; otherwise resume it."""
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
        """Send FIN, then read and drop what the peer still sends. Closing with unread bytes would send RST and could cost the peer its
        answers."""
        transport = self.transport
        if transport is None or self.state & LOST or transport.is_closing():
            return
        if self.state & FINISHED or not transport.can_write_eof():
            transport.close()
            return
        if self.state & PAUSED:
            self.state &= ~PAUSED
            transport.resume_reading()
        # Kafka's clients see a refusal as FIN and not as RST (docs/kafka/seen-on-brokers.md#bad-bytes).
        transport.write_eof()
        # The connection is aborted after a while, because a peer that never closes its half would keep the file descriptor.
        asyncio.get_running_loop().call_later(LINGER_S, transport.abort)
