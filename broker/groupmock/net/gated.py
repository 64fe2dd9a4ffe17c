"""The fault gate (`net.fault_gate`) needs these interfaces of requests, connections and their owner, such as `net.driver`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .seen import Named, Peer, Seen

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.effects import Effects, Reply
    from ..core.events import Command
    from ..faults.plan import Rule
    from .clock import Clock
    from .connection import Guarding
    from .counters import Counters
    from .record import Recorder


class Strikeable(Peer, Protocol):
    """A connection to which a fault rule can be applied. `run` has the heartbeats that the next ones are compared with, if not all are
    seen."""

    run: Any
    guard: Guarding | None

    def answer(self, frame: bytes) -> None:
        """Send a frame that has one answer or several."""

    def wedge(self) -> None:
        ...

    def show_certificate(self, which: str) -> None:
        """Show a certificate with a fault in the TLS handshake."""


class Answering(Named, Protocol):
    """Encodes the answers of one API version."""

    def answer(self, correlation: bytes, message: Message) -> bytes:
        ...


class GatedCall(Seen, Protocol):
    """An open request that a fault rule may delay."""

    quiet: bool
    hidden: bool
    recorded: bool
    by_listener: bool
    held_by: Rule | None
    go_on: Callable[[int], None] | None

    @property
    def connection(self) -> Any:
        """Return the connection, a `Strikeable`, whose owner knows its full type."""

    @property
    def codec(self) -> Answering:
        ...

    def asked(self) -> Message:
        ...

    def narrow(self, message: Message) -> None:
        """Replace the message of the request from now on. The original stays in the request's row."""


C = TypeVar("C", bound=GatedCall)


class OpenCalls(Protocol[C]):
    """The open requests of a driver by their tickets."""

    def get(self, ticket: int, /) -> C | None:
        ...

    def __contains__(self, ticket: object, /) -> bool:
        ...

    def close(self, ticket: int) -> C | None:
        ...

    def reopen(self, call: C) -> None:
        ...


class Gated(Protocol[C]):
    """Owns connections to whose requests and answers fault rules apply."""

    clock: Clock
    counters: Counters
    record: Recorder
    now: Callable[[], int]

    @property
    def tickets(self) -> OpenCalls[C]:
        ...

    # The gate is a FaultGate[C] or None. Naming that type here would make an import circle with `fault_gate` and `driver`.
    def arm(self, gate: Any) -> None:
        """Set the gate that applies fault rules to requests and answers from now on. None means that no rule could fire."""

    def end_repeats(self) -> None:
        """Let fault rules see every heartbeat."""

    def settle(self) -> None:
        ...

    def apply(self, call: C, now: int) -> None:
        """Handle a request that no fault rule holds back."""

    def deliver(self, reply: Reply, now: int) -> None:
        """Send an answer to which fault rules were applied."""

    def perform(self, effects: Effects, now: int) -> None:
        """Perform the effects that a fault rule puts in place of a request or an answer."""

    def steer(self, command: Command, now: int) -> Effects:
        """Run a command of the core. Raises ValueError."""

    def go_on(self, connection: Any) -> None:
        """Serve the requests that wait on a connection."""

    def shut(self, connection: Any, reason: str, linger: bool = True, now: int | None = None) -> None:
        """Close a connection from our side."""

    def break_off(self, connection: Any, reason: str, now: int) -> None:
        """Close a connection by RST."""
