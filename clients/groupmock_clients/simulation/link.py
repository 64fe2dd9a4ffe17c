"""A connection of a simulated process, on which each request's callback gets the answer, or None if the connection ends first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from groupmock.rig.wire import Asked, ClientSide, Unreadable
from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.units import NS_PER_MS

from .wire import SimulatedWire

if TYPE_CHECKING:
    from .world import World

Answered = Callable[[Any], None]
JUDGE: Final = "answers"


class Link:
    """One connection, which accepts requests while `open` is true. A link that is closed by either side is not opened again."""

    def __init__(self, world: World, client_id: str, node: int) -> None:
        self.world, self.client_id, self.node = world, client_id, node
        self.open = True
        self.side = ClientSide(client_id)
        self.wire = SimulatedWire(world.clock, self._came, self._ended)
        world.plug(self.wire, node)

    @property
    def waiting(self) -> bool:
        return bool(self.side.pending)

    def ask(self, key: int, version: int, message: Message, then: Answered, patience_ms: int) -> None:
        """Send one request, whose callback `then` gets the answer, or None when the connection ends or time is up. Never called at once."""
        frame = self.side.ask(key, version, message, then)
        asked = self.side.pending[-1]
        self.world.sent(frame)
        self.wire.post(frame)
        self.world.later(patience_ms, lambda: self._impatient(asked))

    def close(self) -> None:
        """Close the connection on the client's side, without calling any callback."""
        self.open = False
        self.side.pending.clear()
        self.wire.hang_up()

    # -- inside

    def _impatient(self, asked: Asked) -> None:
        if self.open and asked in self.side.pending:
            if (forgotten := self.wire.forgotten(self.side.rest)) is not None:
                self.world.bench.found(JUDGE, f"{self.client_id} gives up on {APIS[asked.key].name}: {forgotten}")
            self.wire.hang_up()
            self._ended()

    def _came(self, data: bytes) -> None:
        for asked, frame in self.side.receive(data):
            if not self.open:
                return
            if asked is None:
                self.world.bench.found(JUDGE, f"{self.client_id} is answered and did not ask")
                return
            message = self._read(asked, frame)
            if message is not None:
                asked.tag(message)

    def _read(self, asked: Asked, frame: bytes) -> Any:
        try:
            version, message = asked.read(frame)
        except Unreadable as problem:
            self.world.bench.found(JUDGE, f"{self.client_id}: {problem}")
            return None
        if self.world.sampled:
            response = APIS[asked.key].response
            if not frame.endswith(response.encode(version, message)):
                self.world.bench.found(JUDGE, f"{self.client_id}: {APIS[asked.key].name} v{version} is written otherwise than it is read")
        return message

    def _ended(self) -> None:
        if not self.open:
            return
        self.open = False
        asked = list(self.side.pending)
        self.side.pending.clear()
        for each in asked:
            each.tag(None)


def patience(ms: int) -> int:
    """Return how long a client of Kafka waits for the answer of a JoinGroup: the rebalance timeout and 5 s
    (org.apache.kafka.clients.consumer.internals.AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE)."""
    return ms + 5_000


def ns(ms: float) -> int:
    """Convert milliseconds to whole nanoseconds."""
    return int(ms * NS_PER_MS)
