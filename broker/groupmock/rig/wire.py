"""The client's side of Kafka's protocol turns requests and responses into frames: `ClientSide` without IO, and two clients over sockets.

`Client` is blocking, `AsyncClient` runs on an event loop, and `groupmock.rig.Wire` connects a `ClientSide` to a `WireRig`. None of them is
a Kafka client: they keep no metadata and never retry. They send a broker, mock or real, exactly what they are told, and return exactly what
comes back.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock_codec import APIS
from groupmock_codec.api_keys import API_VERSIONS, PRODUCE
from groupmock_codec.declare import Message
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import RequestHeader, answer_version, encode_request_header
from groupmock_codec.messages.k36_sasl_authenticate import SaslAuthenticateResponse

if TYPE_CHECKING:
    import ssl

BARE: Final = 1 << 15
"""The version of `Asked` for a SASL token without a header (after a SaslHandshake of version 0), whose answer has no header either. No
header can have this version."""
LARGEST_ANSWER: Final = 100_000_000
"""An answer that claims to be longer than this is not believed."""
PATIENCE_S: Final = 30.0


class Unreadable(Exception):
    """Raised if the broker's bytes are no answer to the request."""


class NoFrame(Unreadable):
    """Raised if the broker sent a length that no answer has. `head` has the four bytes of that length."""

    def __init__(self, head: bytes) -> None:
        super().__init__(f"a frame of {int.from_bytes(head, 'big', signed=True)} bytes: this is no Kafka broker")
        self.head = head


class HungUp(ConnectionError):
    """Raised if the peer closed the connection instead of answering."""


def is_answered(key: int, message: Message | None) -> bool:
    """Return False for a Produce with acks=0, which has no answer."""
    return key != PRODUCE or bool(getattr(message, "acks", None))


def framed(payload: bytes) -> bytes:
    """Return the payload preceded by its length."""
    return len(payload).to_bytes(4, "big") + payload


def request_frame(key: int, version: int, correlation: int, client_id: str | None, body: bytes) -> bytes:
    """Return a whole request frame of length, header and body."""
    return framed(encode_request_header(RequestHeader(key, version, correlation, client_id)) + body)


def request(key: int, version: int, message: Message | None = None, correlation: int = 1, client_id: str | None = "rig") -> bytes:
    """Return a message as a whole request frame. None means a message of defaults. Raises CodecError if the version cannot carry the
    message."""
    api = APIS[key].request
    return request_frame(key, version, correlation, client_id, api.encode(version, api.message() if message is None else message))


def read_response(key: int, version: int, frame: bytes, correlation: int | None = None, *, trailing: bool = False) -> tuple[int, Message]:
    """Decode a response frame (without its length) and return its version and message. Raises Unreadable.

    `correlation` is the id that the answer must have, if it is known; `trailing`: bytes left over are allowed."""
    name, response = APIS[key].name, APIS[key].response
    if len(frame) < 4:
        raise Unreadable(f"an answer of {len(frame)} bytes, too short for a header")
    carried = int.from_bytes(frame[:4], "big", signed=True)
    if correlation is not None and carried != correlation:
        raise Unreadable(f"an answer with correlation id {carried} where {correlation} was due ({name} v{version})")
    # Clients rely on version 0 here: kafka-python decodes any error answer to an ApiVersions as version 0 and tries again
    # (docs/kafka/clients.md#version-quirks).
    version = answer_version(key, version, frame)
    # Only the body of an ApiVersions answer can be flexible, never its header (KIP-511, docs/kafka/clients.md#version-quirks).
    head = 5 if response.flexible(version) and key != API_VERSIONS else 4
    try:
        return version, response.decode(version, frame[head:], trailing=trailing)
    except CodecError as problem:
        raise Unreadable(f"an answer that cannot be read as {name} v{version}: {problem}") from problem


def frames_of(data: bytes) -> tuple[list[bytes], bytes]:
    """Split bytes into whole frames, without their lengths, and the remaining bytes."""
    frames, start = [], 0
    while start + 4 <= len(data) and start + 4 + (size := int.from_bytes(data[start : start + 4], "big")) <= len(data):
        frames.append(data[start + 4 : start + 4 + size])
        start += 4 + size
    return frames, data[start:]


class Asked(NamedTuple):
    """A request that waits for its answer. `correlation` is None if its bytes were too few to have one; `tag` is the sender's own."""

    key: int
    version: int
    correlation: int | None
    tag: Any = None

    def read(self, frame: bytes, *, trailing: bool = False) -> tuple[int, Message]:
        """Decode the answer as `read_response` does. Raises Unreadable."""
        if self.version == BARE:
            return 0, SaslAuthenticateResponse(auth_bytes=frame)
        return read_response(self.key, self.version, frame, self.correlation, trailing=trailing)


class ClientSide:
    """The client's side of one connection without IO: `ask` turns requests into bytes, `receive` cuts bytes into frames and finds their
    requests. `pending` has the unanswered requests, oldest first, because Kafka answers in order; `correlation` is the id of the last
    request."""

    def __init__(self, client_id: str | None = "rig", *, first: int = 1) -> None:
        """Begin with `first` as the first correlation id."""
        self.client_id = client_id
        self.correlation = first - 1
        self.pending: deque[Asked] = deque()
        self._received = bytearray()

    @property
    def rest(self) -> bytes:
        """The bytes of an incomplete frame that have arrived."""
        return bytes(self._received)

    def ask(self, key: int, version: int, message: Message | None = None, tag: Any = None) -> bytes:
        """Return the bytes of the next request. Raises CodecError if the version cannot carry the message."""
        frame = request(key, version, message, self.correlation + 1, self.client_id)
        self.correlation += 1
        if is_answered(key, message):
            self.pending.append(Asked(key, version, self.correlation, tag))
        return frame

    def receive(self, data: bytes | bytearray | memoryview) -> Iterator[tuple[Asked | None, bytes]]:
        """Yield each frame that these bytes complete, without its length, and the request that it answers (None if no request waits).
        Raises NoFrame."""
        received = self._received
        received += data
        while len(received) >= 4:
            length = int.from_bytes(received[:4], "big", signed=True)
            shortest = 0 if self.pending and self.pending[0].version == BARE else 4
            if not shortest <= length <= LARGEST_ANSWER:
                raise NoFrame(bytes(received[:4]))
            if len(received) < 4 + length:
                return
            frame = bytes(received[4 : 4 + length])
            del received[: 4 + length]
            yield self.pending.popleft() if self.pending else None, frame


class Client:
    """A blocking connection to one broker. Every call raises OSError when the connection fails, TimeoutError (one of them) after
    `seconds`."""

    def __init__(
        self,
        host: str,
        port: int,
        client_id: str | None = "rig",
        seconds: float = PATIENCE_S,
        *,
        first: int = 1,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connect to the broker, with `first` as the first correlation id."""
        self.side = ClientSide(client_id, first=first)
        self.socket = socket.create_connection((host, port), seconds)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self._frames: deque[bytes] = deque()

    def send(self, key: int, version: int, message: Message | None = None) -> int:
        """Send one request and return its correlation id."""
        self.write(self.side.ask(key, version, message))
        return self.side.correlation

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """Return the next frame without its length. Raises HungUp at the end of the stream, NoFrame for a length that no answer has."""
        while not self._frames:
            data = self.socket.recv(1 << 16)
            if not data:
                raise HungUp("it closed the connection")
            self._frames.extend(frame for _, frame in self.side.receive(data))
        return self._frames.popleft()

    def ask(self, key: int, version: int, message: Message | None = None, *, trailing: bool = False) -> Any:
        """Send a request and return the decoded answer. Raises Unreadable if the bytes are no answer to the request."""
        correlation = self.send(key, version, message)
        return read_response(key, version, self.receive(), correlation, trailing=trailing)[1]

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AsyncClient:
    """A connection to one broker on an event loop. Its errors are those of `Client`."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str | None = "rig", seconds: float = PATIENCE_S
    ) -> None:
        self.reader, self.writer, self.seconds = reader, writer, seconds
        self.side = ClientSide(client_id)
        self._frames: deque[bytes] = deque()

    @classmethod
    async def connect(cls, host: str, port: int, client_id: str | None = "rig", seconds: float = PATIENCE_S) -> AsyncClient:
        async with asyncio.timeout(seconds):
            return cls(*await asyncio.open_connection(host, port), client_id, seconds)

    def send(self, key: int, version: int, message: Message | None = None) -> int:
        """Send one request and return its correlation id."""
        self.write(self.side.ask(key, version, message))
        return self.side.correlation

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)

    async def receive(self) -> bytes:
        """Return the next frame without its length. Raises HungUp at the end of the stream, NoFrame for a length that no answer has."""
        async with asyncio.timeout(self.seconds):
            while not self._frames:
                data = await self.reader.read(1 << 16)
                if not data:
                    raise HungUp("it closed the connection")
                self._frames.extend(frame for _, frame in self.side.receive(data))
        return self._frames.popleft()

    async def exchange(self, data: bytes) -> bytes:
        self.write(data)
        return await self.receive()

    async def ask(self, key: int, version: int, message: Message | None = None, *, trailing: bool = False) -> Any:
        """Send a request and return the decoded answer. Raises Unreadable if the bytes are no answer to the request."""
        correlation = self.send(key, version, message)
        return read_response(key, version, await self.receive(), correlation, trailing=trailing)[1]

    async def ended(self) -> bytes:
        """Return the bytes that the peer sends until it closes, without those that `receive` returned. A reset raises an OSError."""
        async with asyncio.timeout(self.seconds):
            rest = await self.reader.read()
        return b"".join(map(framed, self._frames)) + self.side.rest + rest

    def close(self) -> None:
        self.writer.close()
