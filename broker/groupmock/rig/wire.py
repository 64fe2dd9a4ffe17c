"""Requests and responses as frames, and one client that asks them over a socket, blocking or asyncio.

It is no Kafka client: it knows no metadata and never tries again. What it is for: to say exactly one thing to a broker, mock or real, and
to see exactly what comes back.
"""

from __future__ import annotations

import asyncio
import socket
from itertools import count
from typing import Any, Final

from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.errors import CodecError
from groupmock_codec.headers import RequestHeader, encode_request_header

PRODUCE: Final = 0
API_VERSIONS: Final = 18
UNSUPPORTED: Final = (35).to_bytes(2, "big")
LARGEST_ANSWER: Final = 100_000_000
"""A longer frame is no answer, whatever length a peer announces."""
PATIENCE_S: Final = 30.0


class Unreadable(Exception):
    """What the broker sent is no answer to what it was asked."""


class HungUp(ConnectionError):
    """The peer closed the connection in place of an answer."""


def is_answered(key: int, message: Message) -> bool:
    """Will there be an answer? A Produce with acks=0 has none."""
    return key != PRODUCE or bool(getattr(message, "acks", None))


def framed(payload: bytes) -> bytes:
    """With its length in front."""
    return len(payload).to_bytes(4, "big") + payload


def request_frame(key: int, version: int, correlation: int, client_id: str | None, body: bytes) -> bytes:
    """A whole request frame: length, header, body."""
    return framed(encode_request_header(RequestHeader(key, version, correlation, client_id)) + body)


def request(key: int, version: int, message: Message | None = None, correlation: int = 1, client_id: str | None = "rig") -> bytes:
    """A message as a whole request frame; None: one of nothing but defaults. CodecError for what the version cannot carry."""
    api = APIS[key].request
    return request_frame(key, version, correlation, client_id, api.encode(version, api.message() if message is None else message))


def read_response(key: int, version: int, frame: bytes, correlation: int | None = None, *, trailing: bool = False) -> tuple[int, Message]:
    """The version it is written in and the message of a response frame (without its length). Raises Unreadable.

    `correlation`: the id that the answer must carry, where it is known; `trailing`: bytes left over are no mistake.
    """
    name, response = APIS[key].name, APIS[key].response
    if len(frame) < 4:
        raise Unreadable(f"an answer of {len(frame)} bytes, too short for a header")
    carried = int.from_bytes(frame[:4], "big", signed=True)
    if correlation is not None and carried != correlation:
        raise Unreadable(f"an answer with correlation id {carried} where {correlation} was due ({name} v{version})")
    if key == API_VERSIONS and (version not in response.versions or frame[4:6] == UNSUPPORTED):
        # Clients rely on it: kafka-python decodes any error answer as v0 and tries again (docs/kafka/clients.md#version-quirks).
        version = 0  # what a broker answers to a version it does not know
    # The header of an ApiVersions answer is never flexible, only its body is (KIP-511, docs/kafka/clients.md#version-quirks).
    head = 5 if response.flexible(version) and key != API_VERSIONS else 4
    try:
        return version, response.decode(version, frame[head:], trailing=trailing)
    except CodecError as problem:
        raise Unreadable(f"an answer that cannot be read as {name} v{version}: {problem}") from problem


def frames_of(data: bytes) -> tuple[list[bytes], bytes]:
    """What came as whole frames, without their lengths, and what is left over."""
    frames, at = [], 0
    while at + 4 <= len(data) and at + 4 + (size := int.from_bytes(data[at : at + 4], "big")) <= len(data):
        frames.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return frames, data[at:]


def length_of(head: bytes) -> int:
    """The length that a response's first four bytes announce. Raises Unreadable for one that no answer has."""
    length = int.from_bytes(head, "big", signed=True)
    if not 4 <= length <= LARGEST_ANSWER:
        raise Unreadable(f"a frame of {length} bytes: this is no Kafka broker")
    return length


class Client:
    """One blocking connection. Every call raises OSError when the connection fails, TimeoutError (one of them) after `seconds`."""

    def __init__(self, host: str, port: int, client_id: str | None = "rig", seconds: float = PATIENCE_S, *, first: int = 1) -> None:
        """Connects. `first`: the first correlation id."""
        self.client_id = client_id
        self.socket = socket.create_connection((host, port), seconds)
        self._correlations = count(first)

    def send(self, key: int, version: int, message: Message | None = None) -> int:
        """Send one request; its correlation id."""
        correlation = next(self._correlations)
        self.write(request(key, version, message, correlation, self.client_id))
        return correlation

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.socket.sendall(data)

    def receive(self) -> bytes:
        """The next frame without its length. Raises HungUp at the end of the stream, Unreadable for a length that no answer has."""
        return self._exactly(length_of(self._exactly(4)))

    def ask(self, key: int, version: int, message: Message | None = None, *, trailing: bool = False) -> Any:
        """Send, receive, decode. Raises Unreadable for what is no answer to it."""
        correlation = self.send(key, version, message)
        return read_response(key, version, self.receive(), correlation, trailing=trailing)[1]

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 16))
            if not part:
                raise HungUp("it closed the connection")
            data += part
        return bytes(data)


class AsyncClient:
    """One connection on an event loop; errors as those of `Client`."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str | None = "rig", seconds: float = PATIENCE_S
    ) -> None:
        self.reader, self.writer, self.client_id, self.seconds = reader, writer, client_id, seconds
        self._correlations = count(1)

    @classmethod
    async def connect(cls, host: str, port: int, client_id: str | None = "rig", seconds: float = PATIENCE_S) -> AsyncClient:
        """A new connection."""
        async with asyncio.timeout(seconds):
            return cls(*await asyncio.open_connection(host, port), client_id, seconds)

    def send(self, key: int, version: int, message: Message | None = None) -> int:
        """Send one request; its correlation id."""
        correlation = next(self._correlations)
        self.write(request(key, version, message, correlation, self.client_id))
        return correlation

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(data)

    async def receive(self) -> bytes:
        """The next frame without its length. Raises HungUp at the end of the stream, Unreadable for a length that no answer has."""
        try:
            async with asyncio.timeout(self.seconds):
                return await self.reader.readexactly(length_of(await self.reader.readexactly(4)))
        except asyncio.IncompleteReadError:
            raise HungUp("it closed the connection") from None

    async def exchange(self, data: bytes) -> bytes:
        """Send bytes as they are; the next frame."""
        self.write(data)
        return await self.receive()

    async def ask(self, key: int, version: int, message: Message | None = None, *, trailing: bool = False) -> Any:
        """Send, receive, decode. Raises Unreadable for what is no answer to it."""
        correlation = self.send(key, version, message)
        return read_response(key, version, await self.receive(), correlation, trailing=trailing)[1]

    async def ended(self) -> bytes:
        """Everything until the peer closes; a reset raises."""
        async with asyncio.timeout(self.seconds):
            return await self.reader.read()

    def close(self) -> None:
        """Hang up."""
        self.writer.close()
