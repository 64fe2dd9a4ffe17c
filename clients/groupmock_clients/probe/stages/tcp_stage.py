"""The stage on any broker over TCP, with one connection per member. The time of an answer is when its bytes arrived."""

from __future__ import annotations

import selectors
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from groupmock.rig.wire import BARE, Asked, ClientSide, Unreadable
from groupmock.security.login import LoginFailed
from groupmock_codec import APIS
from groupmock_codec.api_keys import SASL_AUTHENTICATE
from groupmock_codec.declare import Message, Versions
from groupmock_codec.units import NS_PER_MS

from ..language.scope import Value
from .contract import Answer, Closed, Opening, Refused, TimeUp, Tolerance
from .lateness import WORTH_NOTING_MS
from .letting_in import let_in
from .tcp_broker import CONNECT_SECONDS, NoBroker, TcpBroker

QUIET_MS: Final = 100
"""A request counts as parked if no answer arrives for this time in ms."""
SEND_SECONDS: Final = 10
NEW_USER_MS: Final = 3000
"""A broker accepts a new user after this time in ms at the latest."""
LOOK_MS: Final = 500
"""A dialogue listens for this time in ms before it checks whether it should go on."""


@dataclass
class _Connection:
    """The TCP connection of one scripted member. Its requests are tagged with the time in ms at which they were sent."""

    link: socket.socket
    side: ClientSide = field(default_factory=ClientSide)
    answers: deque[Answer] = field(default_factory=deque)
    ended: bool = False
    unreadable: Unreadable | None = None
    bare: bytearray | None = None
    """The bytes that came on a connection that is heard as it is, or None on others."""


def tolerance(patience: float, stretched: float = 1) -> Tolerance:
    """Return the time tolerances for a real broker. `patience` widens all bounds except the silence, and `stretched` is the dialogue's
    slowness."""
    wait = 4000 * min(patience, 2)
    eventually = 15_000 * max(stretched, 1) + wait
    return Tolerance(quiet=QUIET_MS, at_once=330 * patience, early=25, late=450 * patience, patience=wait, eventually=eventually)


class TcpStage:
    """The stage on which one dialogue with a broker is played over TCP.

    `slack` widens the time bounds for later attempts. `stretched` is the slowness compared with the text. `seconds` limits the whole
    dialogue. `over` tells whether going on is pointless. `stalled_ms` sums up how late the dialogue was with its own steps. `connected`
    says whether any member has reached the broker.
    """

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
        self.known: Mapping[str, str] = broker.access.known
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
        found = self.broker.group()
        self._free_ms = self.now_ms()
        return found

    def now_ms(self) -> float:
        return (self._clock() - self._start) * 1000

    def _late(self, since_ms: float) -> None:
        """Add to the dialogue's stalled time how late a step comes. It is next to nothing on an idle machine."""
        late = self.now_ms() - since_ms
        if late > WORTH_NOTING_MS:
            self.stalled_ms += late
        self._free_ms = self.now_ms()

    def wall_ms(self) -> int:
        """Return the local time of day, on which broker and probe are assumed to agree."""
        return time.time_ns() // NS_PER_MS

    def versions(self, key: int) -> Versions | None:
        return self.broker.versions(key)

    def topic(self, name: str, partitions: int, configs: Mapping[str, str] | None = None) -> str:
        """Return a topic that all dialogues with this broker share, or with `configs` a new one."""
        real, topic_id = self.broker.topic(name, partitions, configs)
        self.topic_ids[real] = topic_id
        self._free_ms = self.now_ms()
        return real

    def send(self, member: str, key: int, version: int, client_id: str | None, message: Message) -> None:
        self._late(self._free_ms)
        side = self._connection(member).side
        side.client_id = client_id
        self._write(member, side.ask(key, version, message, self.now_ms()))

    def open(self, member: str, opening: Opening) -> None:
        """Connect to a listener, and authenticate the member if it has a name."""
        self._late(self._free_ms)
        if member in self._connections:
            self.hang_up(member, "drops")
        access = self.broker.access
        endpoint = access.listeners[opening.listener]
        connection = _Connection(self._linked(endpoint.host, endpoint.port), bare=bytearray() if opening.bare else None)
        self._connections[member] = connection
        if access.has_tls(opening.listener) and not opening.bare:
            try:
                connection.link = access.context(opening.certificate).wrap_socket(connection.link, server_hostname=endpoint.host)
            except OSError:  # The broker has refused the handshake, as the next `answer` reports.
                connection.ended = True
        if not connection.ended:
            self._selector.register(connection.link, selectors.EVENT_READ, member)
        if opening.user is not None:
            self._let_in(member, opening)
        self._free_ms = self.now_ms()

    def _let_in(self, member: str, opening: Opening) -> None:
        """Authenticate the member on its new connection. A broker applies a new user some milliseconds after it has confirmed it, so that
        a first refusal of a new user is tried again."""
        end = self.now_ms() + NEW_USER_MS
        while True:
            try:
                let_in(self, member, opening, self.broker.steering.made)
                return
            except Refused:
                if opening.user not in self.broker.steering.made or self.now_ms() > end:
                    raise
            self.open(member, opening._replace(user=None))

    def send_bytes(self, member: str, data: bytes, token: bool = False) -> None:
        """Send raw bytes on the member's connection. If they begin like a request, its answer is awaited like any other."""
        self._late(self._free_ms)
        connection = self._connection(member)
        if token:
            connection.side.pending.append(Asked(SASL_AUTHENTICATE, BARE, None, self.now_ms()))
        elif len(data) >= 8 and connection.bare is None:
            _, key, version = struct.unpack_from(">ihh", data)
            correlation = struct.unpack_from(">i", data, 8)[0] if len(data) >= 12 else None
            if key in APIS:
                connection.side.pending.append(Asked(key, version, correlation, self.now_ms()))
        self._write(member, data)

    def _write(self, member: str, data: bytes) -> None:
        try:
            self._connection(member).link.sendall(data)
        except OSError:  # The broker has closed the connection first or does not read. The next `answer` reports it.
            self._hung_up(self._connection(member))

    def address(self, member: str) -> tuple[str, int]:
        """Return host and port to which the member connects if it does not choose a listener."""
        return self.broker.host, self.broker.port

    def _connection(self, member: str) -> _Connection:
        if member not in self._connections:
            try:
                link = self.broker.access.client(*self.address(member), CONNECT_SECONDS).socket
            except (OSError, LoginFailed) as problem:
                raise NoBroker(f"no further connection: {problem}") from problem
            self._prepare(link)
            self._connections[member] = _Connection(link)
            self._selector.register(link, selectors.EVENT_READ, member)
        return self._connections[member]

    def _linked(self, host: str, port: int) -> socket.socket:
        try:
            link = socket.create_connection((host, port), CONNECT_SECONDS)
        except OSError as problem:
            raise NoBroker(f"no connection to {host}:{port}: {problem}") from problem
        self._prepare(link)
        return link

    def _prepare(self, link: socket.socket) -> None:
        link.settimeout(SEND_SECONDS)
        # Nagle's algorithm is switched off, because it would delay small frames, and times are judged.
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connected = True

    def answer(self, member: str, limit_ms: float) -> Answer | None:
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

    def heard(self, member: str, limit_ms: float) -> tuple[bytes, bool]:
        """Return the bytes that came on a bare connection until it was closed."""
        connection = self._connection(member)
        end = self.now_ms() + limit_ms
        while not connection.ended and (left := end - self.now_ms()) > 0:
            self._pump(left)
        return bytes(connection.bare or b""), connection.ended

    def pause(self, ms: float) -> None:
        """Let real time pass and read what arrives."""
        self._late(self._free_ms)
        end = self.now_ms() + ms
        while (left := end - self.now_ms()) > 0:
            self._pump(left)
        self._late(end)

    def _pump(self, ms: float) -> None:
        """Read what arrives within that time, but not beyond the dialogue's own limit."""
        left = self._limit_ms - self.now_ms()
        if left <= 0:
            raise TimeUp(f"not over after {self._limit_ms / 1000:.0f} s")
        if self._over():
            raise TimeUp("the broker is gone")
        for key, _ in self._selector.select(min(ms, left, LOOK_MS) / 1000):
            self._receive(self._connections[key.data])

    def _receive(self, connection: _Connection) -> None:
        try:
            # A record of TLS that has no bytes for us, such as a ticket, makes the socket readable too, and must not block the dialogue.
            connection.link.settimeout(0)
            data = connection.link.recv(65536)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError:
            data = b""
        finally:
            connection.link.settimeout(SEND_SECONDS)
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
        """Decode the answers that these bytes complete, or keep the bytes of a bare connection."""
        if connection.bare is not None:
            connection.bare += data
            return
        for asked, frame in connection.side.receive(data):
            if asked is None:
                raise Unreadable(f"an answer of {len(frame)} bytes that nothing was asked for")
            version, message = asked.read(frame)
            connection.answers.append(Answer(APIS[asked.key].name, version, message, asked.tag, self.now_ms()))

    def hang_up(self, member: str, how: str) -> None:
        self._late(self._free_ms)
        connection = self._connection(member)
        if how == "finishes":
            connection.link.shutdown(socket.SHUT_WR)
            return
        del self._connections[member]
        if not connection.ended:
            self._selector.unregister(connection.link)
        if how == "resets":
            # Lingering for 0 s makes close() send RST instead of FIN.
            connection.link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.link.close()

    def command(self, name: str, arguments: dict[str, Value]) -> None:
        """Change rights and users as a super user. Raises NotOnThisStage for other commands, which brokers do not take over the wire."""
        self.broker.steering.command(name, arguments)
        self._free_ms = self.now_ms()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.link.close()
        self._selector.close()
