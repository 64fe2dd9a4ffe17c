"""A simulated network between virtual clients and the driver, where bytes take time, arrive in pieces, stay unread, or get lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from groupmock.net.connection import DEAF, STALLED, WEDGED
from groupmock.rig.wire_rig import Wire
from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from groupmock.net.clock import VirtualClock

LATENCY_NS: Final = NS_PER_MS // 2
"""The time from writing to arrival, in either direction. Also what keeps a client from calling the driver while the driver is busy."""
GLUED_NS: Final = 5 * NS_PER_MS
"""Requests that are to arrive together wait for each other for at most this time."""


class SimulatedWire(Wire):
    """The client's side of a simulated connection. `on_data` gets what the server wrote and `on_end` hears of the end, LATENCY_NS later,
    never at once.

    Set by whoever breaks things: `cuts`, sizes of the next pieces; `glue`, so many requests arrive together; `left`, bytes after which the
    connection breaks. `gone`: neither side hears anything any more, and nobody is told.
    """

    def __init__(self, clock: VirtualClock, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        super().__init__()
        self.clock = clock
        self.on_data, self.on_end = on_data, on_end
        self.cuts: deque[int] = deque()
        self.glue = 0
        self.left: int | None = None
        self.gone = False
        self.deaf = False
        self.sent = 0
        self.heard = 0
        """The number of bytes that the server wrote to this connection."""
        self._glued: list[bytes] = []
        self._arrival = 0
        self._kept: deque[bytes] = deque()  # The pieces that arrived while the server did not read.
        self._unread: list[bytes] = []
        self._unread_bytes = 0
        self._high = 1 << 16
        self._full = False
        self._coming = 0
        self._ended = False

    # -- the client's side

    def post(self, data: bytes) -> None:
        """Send one request as whole bytes."""
        if self.closed or self.gone:
            return
        if self.glue > 0:
            self.glue -= 1
            self._glued.append(data)
            if self.glue > 0:
                if len(self._glued) == 1:
                    self.clock.call_at(self.clock.now() + GLUED_NS, self._unglue)
                return
            data = b"".join(self._glued)
            self._glued.clear()
        self._segment(data)

    def hear(self) -> None:
        """Read again after a time in which the client was `deaf`, and deliver the bytes kept so far."""
        if not self.deaf:
            return
        self.deaf = False
        unread, self._unread, self._unread_bytes = self._unread, [], 0
        if unread:
            self._arrives(b"".join(unread))
        if self._full:
            self._full = False
            if not self.closed:
                self.connection.resume_writing()

    def forgotten(self, rest: bytes) -> str | None:
        """Say what the server has failed to do with the bytes of this connection, or return None. None: whoever waits
        here waits for a reason. `rest`: of half an answer."""
        if self.closed or self.gone or self.deaf or self._unread:
            return None
        if rest and not self._coming:
            return f"{len(rest)} bytes of an answer came, and nothing more"
        connection = self.connection
        if connection.waiting and connection.call is None and not connection.state & (WEDGED | STALLED | DEAF):
            return f"{connection.waiting} bytes of requests have arrived, and nobody looks at them"
        return None

    def refused(self) -> None:
        """End the connection, because the node does not listen."""
        self._end()

    def hang_up(self) -> None:
        """Close the client's side after everything that was sent has arrived."""
        if not self.closed and not self.gone:
            self._at(self._next_arrival(0), self._lost)
        self.gone = True

    def reset(self) -> None:
        """Tell the server that the connection has ended, although the client has not closed it, as a network element may do."""
        self.gone = True
        self._lost()

    # -- what the connection calls

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take answers of the server, as an asyncio transport does."""
        self.heard += len(data)
        if self.closed or self.gone:
            return
        if not self.deaf:
            self._arrives(bytes(data))
            return
        self._unread.append(bytes(data))
        self._unread_bytes += len(data)
        if self._unread_bytes > self._high and not self._full:
            self._full = True
            self.connection.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 1 << 16 if high is None else high

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes that a client that does not read has left unread."""
        return self._unread_bytes

    def close(self) -> None:
        """Close the connection from the server's side. What was written arrives first."""
        if not self.closed:
            self.closed = True
            self.clock.call_at(self.clock.now(), self._over)
            self.clock.call_at(self.clock.now() + LATENCY_NS, self._end)

    def abort(self) -> None:
        """Close the connection, which here does the same as `close`."""
        self.close()

    def resume_reading(self) -> None:
        """Let the server read again, in a later call so that the connection is not called from within itself."""
        self.reading = True
        if self._kept:
            self.clock.call_at(self.clock.now(), self._drain)

    # -- inside

    def _unglue(self) -> None:
        if self._glued:
            self.glue = 0
            data = b"".join(self._glued)
            self._glued.clear()
            self._segment(data)

    def _segment(self, data: bytes) -> None:
        if self.left is not None:
            data, self.left = data[: self.left], self.left - len(data)
        pause = 0
        while data:
            size = self.cuts.popleft() if self.cuts else len(data)
            piece, data = data[:size], data[size:]
            self._deliver(piece, pause)
            pause = NS_PER_MS
        if self.left is not None and self.left <= 0:
            self._at(self._next_arrival(0), self._broken)
            self.gone = True

    def _deliver(self, piece: bytes, pause: int) -> None:
        self.sent += len(piece)
        when = self._next_arrival(pause)

        def arrive() -> None:
            self._kept.append(piece)
            self._drain()

        self._at(when, arrive)

    def _next_arrival(self, pause: int) -> int:
        self._arrival = max(self._arrival + pause, self.clock.now() + LATENCY_NS)
        return self._arrival

    def _at(self, when: int, callback: Callable[[], None]) -> None:
        self.clock.call_at(when, callback)

    def _drain(self) -> None:
        """Pass one piece to the server, and the next one in the loop's next turn."""
        if self._kept and self.reading and not self.closed:
            self.connection.data_received(self._kept.popleft())
            if self._kept:
                self.clock.call_at(self.clock.now(), self._drain)

    def _lost(self) -> None:
        if not self.closed:
            self.closed = True
            self._over()

    def _broken(self) -> None:
        self._lost()
        self._end()

    def _over(self) -> None:
        """Tell the server that the connection has ended, at most once."""
        self._kept.clear()
        if not self.connection.gone:
            self.connection.connection_lost(None)

    def _arrives(self, data: bytes) -> None:
        self._coming += 1

        def arrive() -> None:
            self._coming -= 1
            if self.gone or self._ended:
                return
            self.on_data(data)

        self.clock.call_at(self.clock.now() + LATENCY_NS, arrive)

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self.on_end()
