"""What the gate of fault rules (`net.fault_gate`) needs of calls, of their connections and of who has them: `net.driver` is one."""

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
    """A connection that a rule can strike. `run`: what its heartbeats are equal to, where they are not all seen."""

    run: Any

    def answer(self, frame: bytes) -> None:
        """Write this."""

    def wedge(self) -> None:
        """Stay open and mute."""


class Answering(Named, Protocol):
    """An API in one version whose answers can be written."""

    def answer(self, correlation: bytes, message: Message) -> bytes:
        """The whole frame with its length."""


class GatedCall(Seen, Protocol):
    """An open request that rules may hold."""

    quiet: bool
    hidden: bool
    recorded: bool
    held_by: Rule | None
    go_on: Callable[[int], None] | None

    @property
    def connection(self) -> Any:
        """A `Strikeable`; whoever has it knows what else it is."""

    @property
    def codec(self) -> Answering:
        """What it is."""

    def asked(self) -> Message:
        """The message."""

    def narrow(self, message: Message) -> None:
        """This is asked in its place from now on; what it was stays in its row."""


C = TypeVar("C", bound=GatedCall)


class OpenCalls(Protocol[C]):
    """Ticket -> the request that is open under it."""

    def get(self, ticket: int, /) -> C | None:
        """None: it is not open."""

    def __contains__(self, ticket: object, /) -> bool:
        """Is it open?"""

    def close(self, ticket: int) -> C | None:
        """It is open no more."""

    def reopen(self, call: C) -> None:
        """It was answered, and its connection is to wait all the same."""


class Gated(Protocol[C]):
    """Who has the connections."""

    clock: Clock
    counters: Counters
    record: Recorder
    now: Callable[[], int]

    @property
    def tickets(self) -> OpenCalls[C]:
        """What is open."""

    def arm(self, gate: Any) -> None:  # a FaultGate[C] or None; named, its file and this one and the driver's would be a circle
        """Where requests and answers pass from now on; None: no rule could strike."""

    def end_repeats(self) -> None:
        """Every heartbeat comes here first."""

    def settle(self) -> None:
        """The end of an entry."""

    def apply(self, call: C, now: int) -> None:
        """A request that passed the gate."""

    def deliver(self, reply: Reply, now: int) -> None:
        """An answer that passed it."""

    def perform(self, effects: Effects, now: int) -> None:
        """What is to be done instead."""

    def steer(self, command: Command, now: int) -> Effects:
        """Make the cluster do something. Raises ValueError."""

    def go_on(self, connection: Any) -> None:
        """Its request is dealt with."""

    def shut(self, connection: Any, reason: str, linger: bool = True, now: int | None = None) -> None:
        """Close it."""

    def break_off(self, connection: Any, reason: str, now: int) -> None:
        """End it by RST."""
