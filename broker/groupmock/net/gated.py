"""The interfaces that the gate of fault rules (`net.fault_gate`) needs of calls, connections and their owner, such as `net.driver`."""

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
    from .counters import Counters
    from .record import Recorder


class Strikeable(Peer, Protocol):
    """A connection that a rule can affect. `run` has the heartbeats that the next ones are compared with, if not all are seen."""

    run: Any

    def answer(self, frame: bytes) -> None:
        """Send a frame of answers."""

    def wedge(self) -> None:
        """Keep the connection open and mute."""


class Answering(Named, Protocol):
    """An API in one version with an encoder of answers."""

    def answer(self, correlation: bytes, message: Message) -> bytes:
        """Return the whole frame with its length."""


class GatedCall(Seen, Protocol):
    """An open request that rules may hold."""

    quiet: bool
    hidden: bool
    recorded: bool
    held_by: Rule | None
    go_on: Callable[[int], None] | None

    @property
    def connection(self) -> Any:
        """The connection, a `Strikeable`, whose owner knows its full type."""

    @property
    def codec(self) -> Answering:
        """The API and version of the request."""

    def asked(self) -> Message:
        """Return the message of the request."""

    def narrow(self, message: Message) -> None:
        """Replace the message from now on. The original stays in the request's row."""


C = TypeVar("C", bound=GatedCall)


class OpenCalls(Protocol[C]):
    """Open requests by their tickets."""

    def get(self, ticket: int, /) -> C | None:
        """Return the request, or None if it is not open."""

    def __contains__(self, ticket: object, /) -> bool:
        """True if the ticket is open."""

    def close(self, ticket: int) -> C | None:
        """Close a ticket and return its request."""

    def reopen(self, call: C) -> None:
        """Open an answered request again, so that its connection waits."""


class Gated(Protocol[C]):
    """The owner of connections whose requests pass a gate."""

    clock: Clock
    counters: Counters
    record: Recorder
    now: Callable[[], int]

    @property
    def tickets(self) -> OpenCalls[C]:
        """The open requests by their tickets."""

    # a FaultGate[C] or None; naming the type would make an import circle of its file, this one and the driver's
    def arm(self, gate: Any) -> None:
        """Set the gate that requests and answers pass from now on; None: no rule could fire."""

    def end_repeats(self) -> None:
        """Let every heartbeat pass the gate."""

    def settle(self) -> None:
        """Finish an entry of the driver."""

    def apply(self, call: C, now: int) -> None:
        """Apply a request that passed the gate."""

    def deliver(self, reply: Reply, now: int) -> None:
        """Send an answer that passed the gate."""

    def perform(self, effects: Effects, now: int) -> None:
        """Perform effects in place of the request or answer."""

    def steer(self, command: Command, now: int) -> Effects:
        """Run a command of the core. Raises ValueError."""

    def go_on(self, connection: Any) -> None:
        """Serve the requests that wait on a connection."""

    def shut(self, connection: Any, reason: str, linger: bool = True, now: int | None = None) -> None:
        """Close a connection from our side."""

    def break_off(self, connection: Any, reason: str, now: int) -> None:
        """Close a connection by RST."""
