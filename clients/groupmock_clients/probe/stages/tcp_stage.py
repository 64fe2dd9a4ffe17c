"""The stage that is any broker over TCP. One connection per member; an answer's time is that of its bytes coming in, not of being read."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from groupmock.rig.wire import Asked, ClientSide, Unreadable
from groupmock_codec import APIS
from groupmock_codec.declare import Message, Versions
from groupmock_codec.units import NS_PER_MS

from ..language.scope import Value
from .contract import Answer, Closed, NotOnThisStage, TimeUp, Tolerance
from .lateness import WORTH_NOTING_MS
from .tcp_broker import CONNECT_SECONDS, NoBroker, TcpBroker

QUIET_MS: Final = 100
"""How long no answer must come to count as parked."""
SEND_SECONDS: Final = 10
LOOK_MS: Final = 500
"""How long a dialogue listens before it looks again whether it is to go on."""


@dataclass
class _Connection:
    """Requests are tagged with the time when they were sent, in ms."""

    link: socket.socket
    side: ClientSide = field(default_factory=ClientSide)
    answers: deque[Answer] = field(default_factory=deque)
    ended: bool = False
    unreadable: Unreadable | None = None


def tolerance(patience: float, stretched: float = 1) -> Tolerance:
    """Bounds in real time; `patience` widens all but the silence that is listened to, `stretched` is how much longer the dialogue is."""
    wait = 4000 * min(patience, 2)
    eventually = 15_000 * max(stretched, 1) + wait
    return Tolerance(quiet=QUIET_MS, at_once=330 * patience, early=25, late=450 * patience, patience=wait, eventually=eventually)


class TcpStage:
    """One dialogue with a broker. `slack` widens the time bounds: a later attempt on a busy machine gets more; `stretched`: how much longer
    the dialogue is than written; `seconds`: what it may take at all; `over`: is there no point in going on?

    `stalled_ms`: how late the dialogue was with its own steps, all in all: time that passed while it had something to do;
    `connected`: has any member reached the broker?"""

    kind = "tcp"

    def __init__(
        self,
        broker: TcpBroker,
        slack: float = 1,
        *,
        stretched: float = 1,
        seconds: float = 900,
        over: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
        selector: selectors.BaseSelector | None = None,
    ) -> None:
        self.broker, self.release = broker, broker.release
        self.settings: Mapping[str, str] = broker.settings
        self.tolerance = tolerance(broker.patience * slack, stretched)
        self.stalled_ms = 0.0
        self._limit_ms, self._over = seconds * 1000, over
        self.topic_ids: dict[str, bytes] = {}
        self._connections: dict[str, _Connection] = {}
        self._selector = selector or selectors.DefaultSelector()
        self._clock = clock
        self._start = clock()
        self._free_ms = 0.0
        self.connected = False

    def group(self) -> str:
        """A group of our own."""
        found = self.broker.group()
        self._free_ms = self.now_ms()
        return found

    def now_ms(self) -> float:
        """Milliseconds since the dialogue began."""
        return (self._clock() - self._start) * 1000

    def _late(self, since_ms: float) -> None:
        """Count what has passed since then, when this was due: on a quiet machine next to nothing."""
        late = self.now_ms() - since_ms
        if late > WORTH_NOTING_MS:
            self.stalled_ms += late
        self._free_ms = self.now_ms()

    def wall_ms(self) -> int:
        """The time of day here: broker and probe are assumed to agree on it."""
        return time.time_ns() // NS_PER_MS

    def versions(self, key: int) -> Versions | None:
        """Both sides' versions."""
        return self.broker.versions(key)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        """A topic shared by all dialogues with this broker; with `configs` one of our own."""
        real, topic_id = self.broker.topic(name, partitions, configs)
        self.topic_ids[real] = topic_id
        self._free_ms = self.now_ms()
        return real

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Send one request."""
        self._late(self._free_ms)
        side = self._connection(member).side
        side.client_id = client_id
        self._write(member, side.ask(key, version, message, self.now_ms()))

    def send_bytes(self, member: str, data: bytes) -> None:
        """Send bytes; if they begin as a request does, its answer is awaited like any other."""
        self._late(self._free_ms)
        connection = self._connection(member)
        if len(data) >= 8:
            _, key, version = struct.unpack_from(">ihh", data)
            correlation = struct.unpack_from(">i", data, 8)[0] if len(data) >= 12 else None
            if key in APIS:
                connection.side.pending.append(Asked(key, version, correlation, self.now_ms()))
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
            # Nagle's algorithm would hold a small frame back until the one before is acknowledged: times are judged here.
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connected = True
            self._connections[member] = _Connection(link)
            self._selector.register(link, selectors.EVENT_READ, member)
        return self._connections[member]

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """Wait for the next answer of a member."""
        connection = self._connection(member)
        self._late(self._free_ms)
        end = self.now_ms() + limit_ms
        try:
            return self._awaited(connection, end)
        finally:
            self._late(min(end, self.now_ms()))

    def _awaited(self, connection: _Connection, end: float) -> Answer | None:
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

    def pause(self, ms: float) -> None:
        """Let real time pass, reading what comes in."""
        self._late(self._free_ms)
        end = self.now_ms() + ms
        while (left := end - self.now_ms()) > 0:
            self._pump(left)
        self._late(end)

    def _pump(self, ms: float) -> None:
        """Read what comes within that time, at most until the dialogue's own time is up: it may well stay silent."""
        left = self._limit_ms - self.now_ms()
        if left <= 0:
            raise TimeUp(f"not over after {self._limit_ms / 1000:.0f} s")
        if self._over():
            raise TimeUp("the broker is gone")
        for key, _ in self._selector.select(min(ms, left, LOOK_MS) / 1000):
            self._receive(self._connections[key.data])

    def _receive(self, connection: _Connection) -> None:
        try:
            data = connection.link.recv(65536)
        except OSError:
            data = b""
        if not data:
            self._hung_up(connection)
            return
        try:
            self._take(connection, data)
        except Unreadable as what:
            connection.unreadable = what
            self._hung_up(connection)

    def _hung_up(self, connection: _Connection) -> None:
        if not connection.ended:
            connection.ended = True
            self._selector.unregister(connection.link)

    def _take(self, connection: _Connection, data: bytes) -> None:
        """Read the answers that these bytes complete."""
        for asked, frame in connection.side.receive(data):
            if asked is None:
                raise Unreadable(f"an answer of {len(frame)} bytes that nothing was asked for")
            version, message = asked.read(frame)
            connection.answers.append(Answer(APIS[asked.key].name, version, message, asked.tag, self.now_ms()))

    def hang_up(self, member: str, how: str) -> None:
        """Close (or half-close) our side."""
        self._late(self._free_ms)
        connection = self._connection(member)
        if how == "finishes":
            connection.link.shutdown(socket.SHUT_WR)
            return
        del self._connections[member]
        if not connection.ended:
            self._selector.unregister(connection.link)
        if how == "resets":
            # Lingering for 0 s makes close() send RST in the place of FIN.
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
