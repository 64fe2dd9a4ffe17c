"""The stage that is any broker over TCP. One connection per member; an answer's time is that of its bytes coming in, not of being read."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from groupmock_codec import APIS
from groupmock_codec.declare import Message, Versions

from .broker import CONNECT_SECONDS, LARGEST_ANSWER, NoBroker, TcpBroker
from .scope import Value
from .stage import Answer, Closed, NotOnThisStage, TimeUp, Tolerance
from .wire import Unreadable, read_response, request_frame

QUIET_MS: Final = 100
"""How long no answer must come to count as parked."""
SEND_SECONDS: Final = 10


@dataclass
class _Pending:
    key: int
    version: int
    correlation: int | None
    sent_ms: float


@dataclass
class _Connection:
    link: socket.socket
    pending: deque[_Pending] = field(default_factory=deque)
    answers: deque[Answer] = field(default_factory=deque)
    received: bytearray = field(default_factory=bytearray)
    ended: bool = False
    unreadable: Unreadable | None = None


def tolerance(patience: float, stretched: float = 1) -> Tolerance:
    """Bounds in real time; `patience` widens all but the silence that is listened to, `stretched` is how much longer the dialogue is."""
    wait = 4000 * min(patience, 2)
    eventually = 15_000 * max(stretched, 1) + wait
    return Tolerance(quiet=QUIET_MS, at_once=330 * patience, early=25, late=450 * patience, patience=wait, eventually=eventually)


class TcpStage:
    """One dialogue with a broker. `slack` widens the time bounds: a later attempt on a busy machine gets more; `stretched`: how much longer
    the dialogue is than written; `seconds`: what it may take at all."""

    kind = "tcp"

    def __init__(self, broker: TcpBroker, slack: float = 1, *, stretched: float = 1, seconds: float = 900) -> None:
        self.broker, self.release = broker, broker.release
        self.settings: Mapping[str, str] = broker.settings
        self.tolerance = tolerance(broker.patience * slack, stretched)
        self._limit_ms = seconds * 1000
        self.topic_ids: dict[str, bytes] = {}
        self._connections: dict[str, _Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._start = time.monotonic()
        self._correlations = count(1)

    def group(self) -> str:
        """A group of our own."""
        return self.broker.group()

    def now_ms(self) -> float:
        """Milliseconds since the dialogue began."""
        return (time.monotonic() - self._start) * 1000

    def wall_ms(self) -> int:
        """The time of day here: broker and probe are assumed to agree on it."""
        return time.time_ns() // 1_000_000

    def versions(self, key: int) -> Versions | None:
        """Both sides' versions."""
        return self.broker.versions(key)

    def topic(self, name: str, partitions: int) -> str:
        """A topic shared by all dialogues with this broker."""
        real, topic_id = self.broker.topic(name, partitions)
        self.topic_ids[real] = topic_id
        return real

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Send one request."""
        correlation = next(self._correlations)
        frame = request_frame(key, version, correlation, client_id, APIS[key].request.encode(version, message))
        self._connection(member).pending.append(_Pending(key, version, correlation, self.now_ms()))
        self._write(member, frame)

    def send_bytes(self, member: str, data: bytes) -> None:
        """Send bytes; if they begin as a request does, its answer is awaited like any other."""
        connection = self._connection(member)
        if len(data) >= 8:
            _, key, version = struct.unpack_from(">ihh", data)
            correlation = struct.unpack_from(">i", data, 8)[0] if len(data) >= 12 else None
            if key in APIS:
                connection.pending.append(_Pending(key, version, correlation, self.now_ms()))
        self._write(member, data)

    def _write(self, member: str, data: bytes) -> None:
        try:
            self._connection(member).link.sendall(data)
        except OSError:  # the broker hung up first (or does not read): seen as closed when the answer is awaited
            self._hung_up(self._connection(member))

    def _connection(self, member: str) -> _Connection:
        if member not in self._connections:
            try:
                link = socket.create_connection((self.broker.host, self.broker.port), CONNECT_SECONDS)
            except OSError as problem:
                raise NoBroker(f"no further connection: {problem}") from problem
            link.settimeout(SEND_SECONDS)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections[member] = _Connection(link)
            self._selector.register(link, selectors.EVENT_READ, member)
        return self._connections[member]

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """Wait for the next answer of a member."""
        connection = self._connection(member)
        end = self.now_ms() + limit_ms
        while not connection.answers:
            if connection.unreadable is not None:
                raise connection.unreadable
            if connection.ended:
                raise Closed
            left = end - self.now_ms()
            if left <= 0:
                return None
            self._pump(left)
        return connection.answers.popleft()

    def is_closed(self, member: str, limit_ms: float) -> bool:
        """Wait for the broker to hang up."""
        connection = self._connection(member)
        end = self.now_ms() + limit_ms
        while not connection.ended and (left := end - self.now_ms()) > 0:
            self._pump(left)
        return connection.ended

    def pause(self, ms: float) -> None:
        """Let real time pass, reading what comes in."""
        end = self.now_ms() + ms
        while (left := end - self.now_ms()) > 0:
            self._pump(left)

    def _pump(self, ms: float) -> None:
        if self.now_ms() > self._limit_ms:
            raise TimeUp(f"not over after {self._limit_ms / 1000:.0f} s")
        for key, _ in self._selector.select(ms / 1000):
            self._receive(self._connections[key.data])

    def _receive(self, connection: _Connection) -> None:
        try:
            data = connection.link.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._hung_up(connection)
            return
        connection.received += data
        try:
            self._cut(connection)
        except Unreadable as what:
            connection.unreadable = what
            self._hung_up(connection)

    def _hung_up(self, connection: _Connection) -> None:
        if not connection.ended:
            connection.ended = True
            self._selector.unregister(connection.link)

    def _cut(self, connection: _Connection) -> None:
        """Take the whole frames out of what was received."""
        while len(connection.received) >= 4:
            (length,) = struct.unpack_from(">i", connection.received)
            if not 0 <= length <= LARGEST_ANSWER:
                raise Unreadable(f"a frame of {length} bytes")
            if len(connection.received) < 4 + length:
                return
            frame = bytes(connection.received[4 : 4 + length])
            del connection.received[: 4 + length]
            if not connection.pending:
                raise Unreadable(f"an answer of {length} bytes that nothing was asked for")
            asked = connection.pending.popleft()
            version, message = read_response(asked.key, asked.version, frame, asked.correlation)
            connection.answers.append(Answer(APIS[asked.key].name, version, message, asked.sent_ms, self.now_ms()))

    def hang_up(self, member: str, how: str) -> None:
        """Close (or half-close) our side."""
        connection = self._connection(member)
        if how == "finishes":
            connection.link.shutdown(socket.SHUT_WR)
            return
        del self._connections[member]
        if not connection.ended:
            self._selector.unregister(connection.link)
        if how == "resets":
            connection.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.link.close()

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        """No broker takes commands over the wire."""
        raise NotOnThisStage(f"!{name} is a command of the core")

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.link.close()
        self._selector.close()
