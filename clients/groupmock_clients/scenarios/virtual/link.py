"""A connection without a socket: what a scripted client sends goes through the real driver as bytes, and the answers come back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from groupmock.core.units import NS_PER_MS
from groupmock.net.connection import Connection
from groupmock.rig.unbuffered import Unbuffered
from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.headers import RequestHeader, encode_request_header, response_header_version

if TYPE_CHECKING:
    from groupmock.clock import Clock
    from groupmock.net.driver import Driver

LATENCY_NS: Final = NS_PER_MS // 2
"""From an answer's writing to its arrival. Also what keeps a client from calling the driver while the driver is busy."""
HOST: Final = "/127.0.0.1"
FIRST_PORT: Final = 40_000
NODE: Final = 1

Answered = Callable[[Any], None]


class Link(Unbuffered):
    """Requests in order, each answer to its own callback, LATENCY_NS later. After `close` nobody is called any more."""

    def __init__(self, driver: Driver, clock: Clock, number: int, client_id: str) -> None:
        super().__init__()
        self._clock, self._client_id = clock, client_id
        self._asked: deque[tuple[int, int, Answered]] = deque()
        self._correlation = 0
        self._open = True
        self.port = FIRST_PORT + number
        self._connection = Connection(driver, number, NODE, HOST, self.port)
        self._connection.connection_made(self)

    def ask(self, key: int, version: int, message: Message, then: Answered) -> None:
        """Send one request; `then` gets the decoded answer. One behind a parked request waits for it, as with Kafka."""
        self._correlation += 1
        header = encode_request_header(RequestHeader(key, version, self._correlation, self._client_id))
        body = header + APIS[key].request.encode(version, message)
        self._asked.append((key, version, then))
        self._connection.data_received(len(body).to_bytes(4, "big") + body)

    @property
    def waiting(self) -> bool:
        """Is an answer due?"""
        return bool(self._asked)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """asyncio's: whole answers, perhaps several."""
        data, at = bytes(data), 0
        while at < len(data):
            end = at + 4 + int.from_bytes(data[at : at + 4], "big")
            key, version, then = self._asked.popleft()
            start = at + 8 + response_header_version(key, version)
            message = APIS[key].response.decode(version, data[start:end])
            self._clock.call_at(self._clock.now() + LATENCY_NS, self._arrival(then, message))
            at = end

    def _arrival(self, then: Answered, message: Message) -> Callable[[], None]:
        def arrive() -> None:
            if self._open:
                then(message)

        return arrive

    def close(self) -> None:
        """asyncio's: by either side."""
        if self._open:
            self._open = False
            self._asked.clear()
            self._connection.connection_lost(None)
