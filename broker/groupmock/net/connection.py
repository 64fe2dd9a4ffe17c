"""One client connection: bytes in, frames cut, one request at a time, answers out in order, one write per read.

A connection waits ("mute", as Kafka's SocketServer has it) while its request is open: nothing behind it is dispatched, but bytes
are read on up to a limit, because a loop that does not read does not notice that the peer went away.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, Final, cast

from groupmock_codec.frame import FrameError, Framer

from .repeat import ID_AT, ID_END

if TYPE_CHECKING:
    from .codecs import ApiCodec
    from .driver import Driver
    from .repeat import Repeat

# Bits of `Connection.state`: why it is not served, or what else is special about it.
BLOCKED: Final = 1  # the peer does not read its answers
WEDGED: Final = 2  # its request will never be answered
CLOSING: Final = 4  # closed by us: nothing is read or answered any more
LOST: Final = 8  # the transport is gone
FINISHED: Final = 16  # the peer sends no more (it may still read)
PAUSED: Final = 32  # we read no more for now
STALLED: Final = 64  # its node is stalled: nothing is heard, what is answered waits
STOPPED: Final = BLOCKED | WEDGED | CLOSING | LOST | STALLED
DEAF: Final = CLOSING | LOST

LINGER_S: Final = 1.0
"""How long a connection that we close may take to read the rest and to close its half."""
NO_LINGER: Final = Struct("ii").pack(1, 0)
CHUNK_OVERHEAD: Final = 128
"""What a waiting piece costs beyond its bytes; counted, so that a megabyte sent byte by byte is no hundred megabytes here."""

_length = Struct(">i").unpack_from


class Connection(asyncio.Protocol):
    """The loop's callbacks on top, what the driver calls below. `ticket` is that of the open request, 0: none."""

    __slots__ = (
        "active",
        "chunks",
        "client_host",
        "codec",
        "correlation",
        "driver",
        "frame",
        "framer",
        "frames",
        "handled",
        "held",
        "late",
        "node",
        "number",
        "out",
        "out_bytes",
        "port",
        "repeat",
        "state",
        "ticket",
        "transport",
        "waiting",
    )

    def __init__(self, driver: Driver, number: int, node: int, client_host: str, port: int) -> None:
        self.driver = driver
        self.number = number
        self.node = node
        self.client_host = client_host
        self.port = port
        self.transport: asyncio.Transport | None = None
        self.state = 0
        self.ticket = 0
        self.codec: ApiCodec | None = None
        self.correlation = b""
        self.frame = b""  # of the request that is open
        self.handled = 0
        self.active = 0
        self.repeat: Repeat | None = None  # only while idle: nothing open, cut, waiting or stopped
        self.framer: Framer | None = None
        self.frames: deque[tuple[int, bytes]] | None = None
        self.chunks: deque[tuple[int, bytes]] | None = None
        self.waiting = 0
        self.held = 0
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
                now = self.active = driver.now()
                driver.renew(repeat.lease, now)
                if len(identifiers) == 4:
                    driver.counters.handled += 1
                    self.transport.write(repeat.answer_head + identifiers + repeat.answer_tail)  # type: ignore[union-attr]  # connected
                else:
                    driver.counters.handled += len(identifiers) >> 2
                    self.transport.write(repeat.answers(identifiers))  # type: ignore[union-attr]  # connected
                if driver.journal.heartbeats:
                    driver.record.repeated(self, repeat, identifiers, now)
                return
        self.driver.arrived(self, data)

    def eof_received(self) -> bool:
        """The peer sends no more. It still gets the answers it waits for, unless there will never be one."""
        self.state |= FINISHED
        self.repeat = None
        return not self.state & (WEDGED | CLOSING) and self._owes()

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is gone, by whoever closed it."""
        self.state |= LOST
        self.repeat = None
        self.driver.lost(self, exc)
        self.frames = self.chunks = self.framer = None
        self.waiting = 0
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
            self.driver.resume(self)

    # What the driver calls

    @property
    def idle(self) -> bool:
        """Nothing is open, cut, waiting or stopped: the next bytes start a request that is handled at once."""
        return not (self.ticket or self.state or self.waiting or self.framer)

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
        return self.framer.buffered if self.framer else 0

    def take(self, data: bytes, received: int) -> None:
        """New bytes: handle them now, or keep them until the open request is answered."""
        if self.state & (CLOSING | LOST):
            return
        if self.ticket or self.waiting or self.state & STOPPED:
            self._keep(data, received)
            return
        if not self.framer and len(data) >= 4 and _length(data)[0] == len(data) - 4 <= self.driver.limits.socket_request_max_bytes:
            self.driver.request(self, data[4:], received)
            return
        self.out, self.out_bytes = [], 0
        self._cut(data, received)
        self._serve()
        self._flush()

    def serve(self) -> None:
        """Handle what waited, until an answer is waited for again."""
        self.out, self.out_bytes = [], 0
        self._serve()
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
        elif self.out is None:
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
        transport = self.transport
        if transport is not None:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            transport.abort()

    def how_it_ended(self, failure: Exception | None) -> str:
        """Why there is no connection any more, for its row, when it was not us who closed it."""
        how = f"the connection broke: {failure}" if failure is not None else "the client closed"
        if self.cut_bytes:
            how += f" in the middle of a frame, of which {self.cut_bytes} bytes had come"
        if self.state & LOST and self.ticket:
            how += ", with a request unanswered"
        return how

    # Inside

    def _serve(self) -> None:
        while not (self.ticket or self.state & STOPPED):
            if self.frames:
                received, frame = self.frames.popleft()
                self.waiting -= len(frame) + CHUNK_OVERHEAD
                self.driver.request(self, frame, received)
            elif self.framer is not None and self.framer.broken is not None:
                self.driver.refuse(self, str(self.framer.broken))
            elif self.chunks:
                received, chunk = self.chunks.popleft()
                self.waiting -= len(chunk) + CHUNK_OVERHEAD
                self._cut(chunk, received)
            else:
                break
        self._settle()

    def _settle(self) -> None:
        """Nothing more can be done for now: let go of empty queues, read on, or close for a peer that finished."""
        self._account()
        if not self.waiting:
            self.frames = self.chunks = None
        self._flow()

    def _flow(self) -> None:
        """Read on while not too much waits."""
        transport = self.transport
        if transport is None or self.state & (CLOSING | LOST):
            return
        full = self.waiting >= self.driver.limits.connection_read_ahead_bytes
        if full and not self.state & PAUSED:
            self.state |= PAUSED
            transport.pause_reading()
        elif not full and self.state & PAUSED:
            self.state &= ~PAUSED
            transport.resume_reading()

    def _owes(self) -> bool:
        return bool(self.ticket or self.frames or self.chunks or self.late or self.state & BLOCKED)

    def _cut(self, data: bytes, received: int) -> None:
        """Frames out of bytes, into `frames`. A bad length is left in `framer.broken`, found when the frames before it are done."""
        framer = self.framer
        if framer is None:
            framer = self.framer = Framer(self.driver.limits.socket_request_max_bytes)
        self.repeat = None
        try:
            cut = framer.feed(data)
        except FrameError:
            return
        if not framer.buffered and framer.broken is None:
            self.framer = None
        if cut:
            if self.frames is None:
                self.frames = deque()
            self.frames.extend((received, frame) for frame in cut)
            self.waiting += sum(map(len, cut)) + CHUNK_OVERHEAD * len(cut)

    def _keep(self, data: bytes, received: int) -> None:
        if self.chunks is None:
            self.chunks = deque()
        self.chunks.append((received, data))
        self.waiting += len(data) + CHUNK_OVERHEAD
        self._account()
        self._flow()

    def _account(self) -> None:
        held = self.waiting + (self.framer.buffered if self.framer else 0)
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
        if transport is None or self.state & LOST:
            return
        if self.state & FINISHED or not transport.can_write_eof():
            transport.close()
            return
        if self.state & PAUSED:
            self.state &= ~PAUSED
            transport.resume_reading()
        transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, transport.abort)
