"""Limits the connections of the control API: their number, and the time that each may keep the server waiting.

The time runs while the peer has to act: from the start of a connection until a request's body is complete, and from an answer on. The peer
has `Patience.half` to complete a request that it has begun, `.idle` to begin the next one, and `.unread` to read an answer. Then the
connection is closed. No time runs while the server works or while a request waits for rows.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from ..net.listen import Acceptor

MAX_VISITORS: Final = 256
"""At most this many connections are open at a time. Further ones wait in the listener's backlog."""

MAX_LARGE: Final = 8
"""At most this many large bodies are read at a time. Further ones wait."""


class Patience(NamedTuple):
    """The timeouts of a connection to the control API, in seconds."""

    half: float = 5.0
    """The time in seconds to complete a request, counted from its first byte or from the start of the connection."""
    idle: float = 60.0
    """The time in seconds between an answer and the first byte of the next request."""
    unread: float = 60.0
    """The time in seconds to read an answer."""


PATIENCE: Final = Patience()


class Visitor(asyncio.Protocol):
    """One connection of the control API, which wraps aiohttp's protocol and adds timeouts."""

    def __init__(self, inner: asyncio.Protocol, patience: Patience, here: Callable[[Visitor, bool], None]) -> None:
        self.inner = inner
        self._patience = patience
        self._here = here
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._begun = False
        self._served = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._here(self, True)
        self.inner.connection_made(transport)
        self._begun = True
        self._wait(self._patience.half)

    def data_received(self, data: bytes) -> None:
        if not self._begun:
            self._begun = True
            if not self._served:
                self._wait(self._patience.half)
        self.inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        self._wait(self._patience.unread)
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self._start_timeout()
        self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._transport = None
        self._here(self, False)
        self.inner.connection_lost(exc)

    def whole(self) -> None:
        """Stop the timeout, because a request has arrived completely and it is the server's turn."""
        self._stop()
        self._served = True
        self._begun = False

    def answered(self) -> None:
        """Start the timeout, because the answer is made and it is the client's turn."""
        self._served = False
        self._start_timeout()

    def _start_timeout(self) -> None:
        # No timeout runs once the peer has read a part of the answer, because a stream (text/event-stream) may last for long.
        self._stop()
        if not self._served:
            self._wait(self._patience.half if self._begun else self._patience.idle)

    def _wait(self, seconds: float) -> None:
        self._stop()
        if self._transport is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Reception:
    """Accepts connections to the control API, at most `most` at a time."""

    def __init__(self, patience: Patience, most: int) -> None:
        self._patience = patience
        self._most = most
        self._visitors: dict[asyncio.BaseProtocol, Visitor] = {}
        self._coming: set[asyncio.Task[None]] = set()
        self._acceptor: Acceptor | None = None
        self.large = asyncio.Semaphore(MAX_LARGE)

    def __len__(self) -> int:
        return len(self._visitors)

    def open(self, listener: socket.socket, make: Callable[[], asyncio.Protocol], trouble: Callable[[str], None]) -> None:
        """Accept connections on a listening socket. `make` returns the protocol of a connection; `trouble` is called with the reason if
        none can be accepted."""

        def adopt(accepted: socket.socket, host: str, port: int) -> None:
            task = asyncio.get_running_loop().create_task(_connect(Visitor(make(), self._patience, self._here), accepted))
            self._coming.add(task)
            task.add_done_callback(self._came)

        self._acceptor = Acceptor(listener, adopt, self._room, trouble)

    def visitor(self, inner: asyncio.BaseProtocol | None) -> Visitor | None:
        """Return the connection with this protocol, or None if it has ended."""
        return self._visitors.get(inner) if inner is not None else None

    async def close(self) -> None:
        """Stop accepting connections, and wait for those that are being accepted."""
        if self._acceptor is not None:
            self._acceptor.close()
        if self._coming:
            await asyncio.wait(self._coming)

    def _room(self) -> bool:
        return len(self._visitors) + len(self._coming) < self._most

    def _came(self, task: asyncio.Task[None]) -> None:
        self._coming.discard(task)
        self._accept_again()

    def _here(self, visitor: Visitor, here: bool) -> None:
        if here:
            self._visitors[visitor.inner] = visitor
        else:
            self._visitors.pop(visitor.inner, None)
            self._accept_again()

    def _accept_again(self) -> None:
        if self._acceptor is not None:
            self._acceptor.resume()


async def _connect(visitor: Visitor, accepted: socket.socket) -> None:
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: visitor, accepted)
    except OSError:  # The peer disconnected before its connection was accepted.
        accepted.close()
