"""One connection of a simulated process: requests in order, each answer to its own callback, or None when there will be none."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from groupmock.rig.wire import Unreadable, read_response, request
from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.units import NS_PER_MS

from .wire import SimulatedWire

if TYPE_CHECKING:
    from .world import World

Answered = Callable[[Any], None]
JUDGE: Final = "answers"


class Asked:
    """A request that is not answered yet."""

    __slots__ = ("correlation", "done", "key", "then", "version")

    def __init__(self, key: int, version: int, correlation: int, then: Answered) -> None:
        self.key, self.version, self.correlation, self.then = key, version, correlation, then
        self.done = False


class Link:
    """`open`: may anything be asked? A link that is closed by either side is not opened again."""

    def __init__(self, world: World, client_id: str, node: int) -> None:
        self.world, self.client_id, self.node = world, client_id, node
        self.open = True
        self._asked: deque[Asked] = deque()
        self._correlation = 0
        self.wire = SimulatedWire(world.clock, self._came, self._ended)
        world.plug(self.wire, node)

    @property
    def waiting(self) -> bool:
        """Is an answer due?"""
        return bool(self._asked)

    def ask(self, key: int, version: int, message: Message, then: Answered, patience_ms: int) -> None:
        """Send one request; `then` gets the answer, or None when the connection ends or patience does. Never called at once."""
        self._correlation += 1
        asked = Asked(key, version, self._correlation, then)
        self._asked.append(asked)
        frame = request(key, version, message, self._correlation, self.client_id)
        self.world.sent(frame)
        self.wire.post(frame)
        self.world.later(patience_ms, lambda: self._impatient(asked))

    def close(self) -> None:
        """The process closes it; nobody is called any more."""
        self.open = False
        self._asked.clear()
        self.wire.hang_up()

    # -- inside

    def _impatient(self, asked: Asked) -> None:
        if self.open and not asked.done and asked in self._asked:
            if (forgotten := self.wire.forgotten()) is not None:
                self.world.bench.found(JUDGE, f"{self.client_id} gives up on {APIS[asked.key].name}: {forgotten}")
            self.wire.hang_up()
            self._ended()

    def _came(self, frames: list[bytes]) -> None:
        for frame in frames:
            if not self.open:
                return
            if not self._asked:
                self.world.bench.found(JUDGE, f"{self.client_id} is answered and did not ask")
                return
            asked = self._asked.popleft()
            asked.done = True
            message = self._read(asked, frame)
            if message is not None:
                asked.then(message)

    def _read(self, asked: Asked, frame: bytes) -> Any:
        try:
            version, message = read_response(asked.key, asked.version, frame, asked.correlation)
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
        asked, self._asked = self._asked, deque()
        for each in asked:
            each.done = True
            each.then(None)


def patience(ms: int) -> int:
    """What a client of Kafka waits for the answer of a JoinGroup: the rebalance timeout and 5 s
    (org.apache.kafka.clients.consumer.internals.AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE)."""
    return ms + 5_000


def ns(ms: float) -> int:
    """As int nanoseconds."""
    return int(ms * NS_PER_MS)
