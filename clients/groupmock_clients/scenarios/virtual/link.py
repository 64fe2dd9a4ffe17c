"""A scripted client's connection: requests go through the real driver as bytes, and answers arrive slightly later."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from groupmock.rig.wire import ClientSide
from groupmock.rig.wire_rig import Wire
from groupmock_codec.declare import Message
from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from groupmock.net.clock import Clock

LATENCY_NS: Final = NS_PER_MS // 2
"""Time from writing an answer to its arrival. It also prevents a client from calling the driver while the driver is busy."""
Answered = Callable[[Any], None]


class Link(Wire):
    """Sends requests in order and passes each answer to its own callback LATENCY_NS later. After `close` no callback is called."""

    def __init__(self, clock: Clock, client_id: str) -> None:
        super().__init__()
        self._clock, self.side = clock, ClientSide(client_id)
        self._open = True

    def post(self, key: int, version: int, message: Message, then: Answered) -> None:
        """Send one request to the driver. `then` gets the decoded answer. A request behind a parked one waits for it, as with Kafka."""
        self.send(self.side.ask(key, version, message, then))

    @property
    def waiting(self) -> bool:
        return bool(self.side.pending)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Receive answers, as an asyncio transport does. One call may have several whole answers."""
        for asked, frame in self.side.receive(data):
            assert asked is not None, "a rig answers nothing that was not asked"
            self._clock.call_at(self._clock.now() + LATENCY_NS, self._arrival(asked.tag, asked.read(frame)[1]))

    def _arrival(self, then: Answered, message: Message) -> Callable[[], None]:
        def arrive() -> None:
            if self._open:
                then(message)

        return arrive

    def close(self) -> None:
        """Close the connection, whichever side does so."""
        if self._open:
            self._open = False
            self.side.pending.clear()
            self.hang_up()
