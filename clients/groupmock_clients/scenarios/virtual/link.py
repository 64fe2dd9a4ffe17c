"""A connection of a scripted client: what it asks goes through the real driver as bytes, and the answers come back a moment later."""

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
"""From an answer's writing to its arrival. Also what keeps a client from calling the driver while the driver is busy."""
Answered = Callable[[Any], None]


class Link(Wire):
    """Requests in order, each answer to its own callback, LATENCY_NS later. After `close` nobody is called any more."""

    def __init__(self, clock: Clock, client_id: str) -> None:
        super().__init__()
        self._clock, self.side = clock, ClientSide(client_id)
        self._open = True

    def post(self, key: int, version: int, message: Message, then: Answered) -> None:
        """Send one request; `then` gets the decoded answer. One behind a parked request waits for it, as with Kafka."""
        self.send(self.side.ask(key, version, message, then))

    @property
    def waiting(self) -> bool:
        """Is an answer due?"""
        return bool(self.side.pending)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """asyncio's: whole answers, perhaps several."""
        for asked, frame in self.side.receive(data):
            assert asked is not None, "a rig answers nothing that was not asked"
            self._clock.call_at(self._clock.now() + LATENCY_NS, self._arrival(asked.tag, asked.read(frame)[1]))

    def _arrival(self, then: Answered, message: Message) -> Callable[[], None]:
        def arrive() -> None:
            if self._open:
                then(message)

        return arrive

    def close(self) -> None:
        """asyncio's: by either side."""
        if self._open:
            self._open = False
            self.side.pending.clear()
            self.hang_up()
