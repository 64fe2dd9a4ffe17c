"""When a client's or a node's connection is lost, a relay closes the one to the other side in the same way, and records which side began.

A client that sends no more (FIN) may still read, so its FIN is passed on behind the requests that wait. An end of either kind is passed on
in kind: FIN for FIN, RST for RST. One row says which side began, and why.

Closing waits for the relay's turn (`net.turns`), behind the answers that wait. When a program with thousands of connections ends, the loop
reports all the ends in one iteration, and handling all of them at once would delay every other connection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from .end import WAITING

if TYPE_CHECKING:
    from .end import End
    from .upstream import Node


class Closable(Protocol):
    """The methods of a relay that the closing of its two ends needs."""

    node: Node
    client: End
    server: End

    @property
    def is_ahead(self) -> bool:
        """Return whether a request that was received still has to be sent to the node."""

    def drop(self) -> None:
        """Discard all bytes that arrive from now on."""

    def over(self, by: str, reason: str) -> None:
        ...

    def in_next_turn(self) -> None:
        """Have the relay served in the next iteration of the loop, not before."""

    def gone(self) -> None:
        """Forget the connection, because both of its ends are closed."""


class Closing:
    """The state of one relay while its two connections are being closed. `finishing` is true if the client sends no more and the node
    was not told yet."""

    __slots__ = ("_first", "_put_off", "_relay", "finishing")

    def __init__(self, relay: Closable) -> None:
        self.finishing = False
        self._relay = relay
        self._first: End | None = None
        self._put_off: tuple[Callable[[], None], ...] = ()

    def finished(self, end: End) -> None:
        """Note that the peer of this connection sends no more."""
        self._soon(end, self._finish_client if end is self._relay.client else self._finish_server)

    def lost(self, end: End, failure: Exception | None) -> None:
        """Close the relay's other connection, because this one was lost."""
        self._soon(end, partial(self._lose, end, failure))

    def go_on(self) -> None:
        """Do the work that was postponed until the relay is served."""
        calls, self._put_off = self._put_off, ()
        for call in calls:
            call()

    def pass_finish_on(self) -> None:
        """Send FIN to the node if the client sends no more and all of its requests were passed on."""
        relay = self._relay
        if self.finishing and not relay.is_ahead:
            self.finishing = False
            if not relay.server.finish():
                relay.client.close()

    def _soon(self, end: End, call: Callable[[], None]) -> None:
        if self._first is None:
            self._first = end
        self._put_off += (call,)
        self._relay.in_next_turn()

    def _finish_client(self) -> None:
        self.finishing = True
        self.pass_finish_on()

    def _finish_server(self) -> None:
        relay = self._relay
        relay.drop()
        relay.client.resume(WAITING)  # Reading continues, so that the end of the client's connection is seen.
        if not relay.client.finish():
            relay.server.close()

    def _lose(self, end: End, failure: Exception | None) -> None:
        relay, other = self._relay, end.other
        self._tell(failure if self._first is end else None)
        relay.drop()
        if isinstance(failure, ConnectionResetError):
            other.break_off()
        else:
            other.close()
        if relay.client.lost and (relay.server.lost or relay.server.transport is None):
            relay.gone()

    def _tell(self, failure: Exception | None) -> None:
        """Record that the connection was ended by the side that closed first. The other end only followed."""
        relay = self._relay
        if self._first is relay.client:
            relay.over("client", f"the connection broke: {failure}" if failure is not None else "the client closed")
        else:
            how = f"broke the connection: {failure}" if failure is not None else "closed the connection"
            relay.over("server", f"the upstream {relay.node.where} {how}")
