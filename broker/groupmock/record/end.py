"""One socket of a relay is an asyncio protocol that passes arriving bytes to the relay and reads unless there is a reason not to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, cast

from ..net.connection import NO_LINGER

WRITE_BUFFER: Final = 262_144
"""No more is read for a peer while more than this many bytes wait to be sent to it."""

# Each of these bits is a reason for not reading from a socket.
SLOW_PEER: Final = 1  # The peer at the other end of the recorded connection does not read.
BEHIND: Final = 2  # Too many bytes of all connections wait to be recorded.
WAITING: Final = 4  # Enough requests of this client wait to be sent to the node.
TURN: Final = 8  # Answers of this node wait for their turn to be sent to the client.
UNRECORDED: Final = 16  # Too many bytes of this connection wait to be recorded.


class End(asyncio.Protocol):
    """One of the two sockets of a relayed connection. Callbacks: `made()` when it is connected, `takes(data)` for bytes,
    `blocked(bytes)` when its peer does not read, `finishes(end)` when its peer sends no more, `over(end, failure)` when it is closed."""

    def __init__(
        self, takes: Callable[[bytes], None], finishes: Callable[[End], None], over: Callable[[End, Exception | None], None]
    ) -> None:
        self.takes = takes
        self.finishes = finishes
        self.over = over
        self.other: End
        self.transport: asyncio.Transport | None = None
        self.paused = 0
        self.finished = False
        self.lost = False
        self.made: Callable[[], None] = lambda: None
        self.blocked: Callable[[int], None] = lambda size: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self.made()

    def data_received(self, data: bytes) -> None:
        self.takes(data)

    def eof_received(self) -> bool:
        """Note that the peer of this socket sends no more. The peer may still be written to, except with TLS, where the transport closes
        itself now."""
        self.finished = True
        self.finishes(self)
        return self.transport is not None and self.transport.can_write_eof()

    def connection_lost(self, exc: Exception | None) -> None:
        self.finished = self.lost = True
        self.over(self, exc)

    def pause_writing(self) -> None:
        """Stop reading from the other side of the relay, because the peer of this socket does not read."""
        self.other.pause(SLOW_PEER)
        self.blocked(self.transport.get_write_buffer_size() if self.transport is not None else 0)

    def resume_writing(self) -> None:
        """Read from the other side of the relay again, because the peer of this socket reads again."""
        self.other.resume(SLOW_PEER)

    def write(self, data: bytes) -> None:
        """Write to the peer of this socket, if that is still connected."""
        if self.transport is not None and not self.lost:
            self.transport.write(data)

    def pause(self, reason: int) -> None:
        if not self.paused and self.transport is not None and not self.lost:
            self.transport.pause_reading()
        self.paused |= reason

    def resume(self, reason: int) -> None:
        """Remove one of the reasons not to read, and read if none is left."""
        was, self.paused = self.paused, self.paused & ~reason
        if was and not self.paused and self.transport is not None and not self.lost:
            self.transport.resume_reading()

    def finish(self) -> bool:
        """Send FIN after the written bytes. Returns False if this transport cannot, or if the peer is gone."""
        if self.transport is None or self.finished or not self.transport.can_write_eof():
            return False
        self.transport.write_eof()
        return True

    def close(self) -> None:
        """Close the socket after the written bytes were sent."""
        if self.transport is not None and not self.lost:
            self.transport.close()

    def break_off(self) -> None:
        """Close the socket with a reset (RST)."""
        if self.transport is not None and not self.lost:
            link = self.transport.get_extra_info("socket")
            if link is not None:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            self.transport.abort()
