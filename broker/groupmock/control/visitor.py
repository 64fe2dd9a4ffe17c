"""Connections of the control API: how many there are, and how long one may keep the server waiting.

Whose turn it is decides. From a connection's first moment until a request's body is whole, and from its answer on, it is the peer's: it has
`Patience.half` for a request that it has begun, `.idle` for the next one to begin, `.unread` for an answer that it does not read. Then it
is closed. While the server works, or somebody waits for rows, no time runs.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from ..net.listen import Acceptor

MAX_VISITORS: Final = 256
"""Connections at a time; further ones wait in the listener's backlog."""

MAX_LARGE: Final = 8
"""Large bodies that are read at a time; who sends another waits."""


class Patience(NamedTuple):
    """Seconds."""

    half: float = 5.0
    """For a request that was begun, its connection's first one included."""
    idle: float = 60.0
    """Between an answer and the first byte of the next request."""
    unread: float = 60.0
    """For an answer that is not read."""


PATIENCE: Final = Patience()


class Visitor(asyncio.Protocol):
    """One connection: aiohttp's protocol, and a clock around it."""

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
        self._peers_turn()
        self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._transport = None
        self._here(self, False)
        self.inner.connection_lost(exc)

    def whole(self) -> None:
        """A request is there to its last byte: now the server has to do something."""
        self._stop()
        self._served = True
        self._begun = False

    def answered(self) -> None:
        """The answer is made."""
        self._served = False
        self._peers_turn()

    def _peers_turn(self) -> None:
        # An answer that goes on (text/event-stream) is read again: it is the server's turn until it ends.
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
    """Accepts visitors, `most` at a time."""

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
        """Accept on `listener`. `make` gives the protocol of one connection; `trouble` is told why none can be accepted."""

        def adopt(accepted: socket.socket, host: str, port: int) -> None:
            task = asyncio.get_running_loop().create_task(_connect(Visitor(make(), self._patience, self._here), accepted))
            self._coming.add(task)
            task.add_done_callback(self._came)

        self._acceptor = Acceptor(listener, adopt, self._room, trouble)

    def visitor(self, inner: asyncio.BaseProtocol | None) -> Visitor | None:
        """Whose protocol that is; None: the connection is gone."""
        return self._visitors.get(inner) if inner is not None else None

    async def close(self) -> None:
        """Accept nobody any more."""
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
    except OSError:  # it was gone before it was ours
        accepted.close()
