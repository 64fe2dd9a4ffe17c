"""The stage that is any broker over TCP. One connection per member; an answer's time is that of its bytes coming in, not of being read."""

from __future__ import annotations

import selectors
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from groupmock_codec import APIS
from groupmock_codec.declare import Message, Versions
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from groupmock_codec.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse

from .scope import Value, group_partition
from .stage import Answer, Closed, Tolerance

API_VERSIONS: Final = 18
BROKER_RESOURCE: Final = 4
TOPIC_EXISTS: Final = 36
TIMED_OUT: Final = 7  # the topic comes all the same: it is waited for


class NoBroker(Exception):
    """The broker cannot be reached or does not answer what is needed to begin."""


def request_frame(key: int, version: int, correlation: int, client_id: str | None, body: bytes) -> bytes:
    """A whole request frame: length, header v1 or v2, body."""
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id.encode())) + client_id.encode()
    tags = b"\0" if APIS[key].request.flexible(version) else b""
    data = struct.pack(">hhi", key, version, correlation) + name + tags + body
    return struct.pack(">i", len(data)) + data


def read_response(key: int, version: int, frame: bytes) -> tuple[int, Message]:
    """The version it is written in and the message of a response frame (without its length)."""
    response = APIS[key].response
    if key == API_VERSIONS and version not in response.versions:
        version = 0  # what a broker answers to a version it does not know
    head = 5 if response.flexible(version) and key != API_VERSIONS else 4
    if key == API_VERSIONS and frame[4:6] == b"\x00\x23":
        version = 0
    return version, response.decode(version, frame[head:])


@dataclass
class _Pending:
    key: int
    version: int
    sent_ms: float


@dataclass
class _Connection:
    link: socket.socket
    pending: deque[_Pending] = field(default_factory=deque)
    answers: deque[Answer] = field(default_factory=deque)
    received: bytearray = field(default_factory=bytearray)
    ended: bool = False


class TcpBroker:
    """What all dialogues with one broker share: address, release, versions, settings, topics."""

    def __init__(self, host: str, port: int, release: str, *, patience: float = 1.0) -> None:
        self.host, self.port, self.release = host, port, release
        self.patience = patience
        self._lock = threading.Lock()
        self._topics: dict[str, bytes] = {}
        self._link = socket.create_connection((host, port), 5)
        self._link.settimeout(60)
        try:
            self._ranges = self._read_ranges()
            self.settings = self._read_settings()
            self._wait_for_coordinators()
        except BaseException:
            self._link.close()
            raise

    def ask(self, key: int, version: int, message: Message) -> Message:
        """One request, one answer, on a connection of its own."""
        self._link.sendall(request_frame(key, version, 1, "probe", APIS[key].request.encode(version, message)))
        (length,) = struct.unpack(">i", self._read(4))
        return read_response(key, version, self._read(length))[1]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._link.recv(size - len(data))
            if not part:
                raise NoBroker(f"{self.host}:{self.port} closed the connection")
            data += part
        return data

    def _read_ranges(self) -> dict[int, Versions]:
        answer = self.ask(API_VERSIONS, 0, ApiVersionsRequest())
        assert isinstance(answer, ApiVersionsResponse)
        return {row.api_key: Versions(row.min_version, row.max_version) for row in answer.api_keys}

    def _read_settings(self) -> dict[str, str]:
        """The broker's own settings, as far as it tells them (DescribeConfigs)."""
        if self.versions(32) is None:
            return {}
        node = self._any_node()
        wanted = DescribeConfigsResource(resource_type=BROKER_RESOURCE, resource_name=str(node), configuration_keys=None)
        answer = self.ask(32, 1, DescribeConfigsRequest(resources=[wanted]))
        assert isinstance(answer, DescribeConfigsResponse)
        return {each.name: each.value for result in answer.results for each in result.configs if each.value is not None}

    def _any_node(self) -> int:
        answer = self.ask(3, 1, MetadataRequest(topics=[]))
        assert isinstance(answer, MetadataResponse)
        return answer.brokers[0].node_id

    def _wait_for_coordinators(self) -> None:
        """The first look-up creates the offsets topic; every partition of it must answer before groups are judged."""
        partitions = int(self.settings.get("offsets.topic.num.partitions", "50"))
        waiting = {group_partition(name, partitions): name for name in (f"warm-{number}" for number in range(40 * partitions))}
        end = time.monotonic() + 30
        while waiting and time.monotonic() < end:
            self.ask(10, 0, FindCoordinatorRequest(key=next(iter(waiting.values()))))
            waiting = {partition: name for partition, name in waiting.items() if not self._coordinates(name)}
            time.sleep(0.05 if waiting else 0)
        if waiting:
            raise NoBroker(f"no coordinator for partitions {sorted(waiting)} of the offsets topic after 30 s")

    def wait_for_transactions(self) -> None:
        """The same for transaction coordinators, which only brokers with transactions have."""
        if self.versions(22) is None:
            return
        partitions = int(self.settings.get("transaction.state.log.num.partitions", "50"))
        waiting = {group_partition(name, partitions): name for name in (f"warm-{number}" for number in range(40 * partitions))}
        end = time.monotonic() + 30
        while waiting and time.monotonic() < end:
            self.ask(10, 1, FindCoordinatorRequest(key=next(iter(waiting.values())), key_type=1))
            waiting = {partition: name for partition, name in waiting.items() if not self._has_producer(name)}
            time.sleep(0.05 if waiting else 0)
        if waiting:
            raise NoBroker(f"no transaction coordinator for partitions {sorted(waiting)} after 30 s")

    def _has_producer(self, transactional_id: str) -> bool:
        answer = self.ask(22, 1, InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=10_000))
        assert isinstance(answer, InitProducerIdResponse)
        return answer.error_code == 0

    def _coordinates(self, group: str) -> bool:
        answer = self.ask(9, 2, OffsetFetchRequest(group_id=group, topics=[]))
        assert isinstance(answer, OffsetFetchResponse)
        return answer.error_code == 0

    def versions(self, key: int) -> Versions | None:
        """Both sides' versions of an API."""
        theirs, ours = self._ranges.get(key), APIS[key].versions
        if theirs is None:
            return None
        both = Versions(max(theirs.lowest, ours.lowest), min(theirs.highest, ours.highest))
        return both if both.lowest <= both.highest else None

    def topic(self, name: str, partitions: int) -> tuple[str, bytes]:
        """Create the shared topic of that name and size if it is not there; its real name and its id (zero where there are none)."""
        real = f"probe-{name}-{partitions}"
        with self._lock:
            if real not in self._topics:
                self._create(real, partitions)
                self._topics[real] = self._wait_for(real, partitions)
            return real, self._topics[real]

    def _create(self, real: str, partitions: int) -> None:
        wanted = CreatableTopic(name=real, num_partitions=partitions, replication_factor=1)
        answer = self.ask(19, 4, CreateTopicsRequest(topics=[wanted], timeout_ms=30_000))
        assert isinstance(answer, CreateTopicsResponse)
        if answer.topics[0].error_code not in (0, TOPIC_EXISTS, TIMED_OUT):
            raise NoBroker(f"topic {real} cannot be created: error {answer.topics[0].error_code}")

    def _wait_for(self, real: str, partitions: int) -> bytes:
        offered = self.versions(3)
        version = 12 if offered is not None and 12 in offered else 4
        end = time.monotonic() + 60
        while time.monotonic() < end:
            answer = self.ask(3, version, MetadataRequest(topics=[MetadataRequestTopic(name=real)], allow_auto_topic_creation=False))
            assert isinstance(answer, MetadataResponse)
            found = answer.topics[0]
            if found.error_code == 0 and len(found.partitions) == partitions and all(each.leader_id >= 0 for each in found.partitions):
                return found.topic_id
            time.sleep(0.05)  # a broker's own pace: it offers no event to wait for
        raise NoBroker(f"topic {real} has no leaders after 60 s")

    def close(self) -> None:
        """Hang up."""
        self._link.close()


def tolerance(patience: float) -> Tolerance:
    """Bounds in real time; `patience` stretches all but the silence that is listened to."""
    return Tolerance(quiet=100, at_once=330 * patience, early=25, late=450 * patience, patience=4000 * patience)


class TcpStage:
    """One dialogue with a broker. `slack` stretches the time bounds: a later attempt on a busy machine gets more."""

    kind = "tcp"

    def __init__(self, broker: TcpBroker, slack: float = 1) -> None:
        self.broker, self.release = broker, broker.release
        self.tolerance = tolerance(broker.patience * slack)
        self.topic_ids: dict[str, bytes] = {}
        self._connections: dict[str, _Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._start = time.monotonic()
        self._correlations = count(1)

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
        frame = request_frame(key, version, next(self._correlations), client_id, APIS[key].request.encode(version, message))
        self._connection(member).pending.append(_Pending(key, version, self.now_ms()))
        self._write(member, frame)

    def send_bytes(self, member: str, data: bytes) -> None:
        """Send bytes; if they begin as a request does, its answer is awaited like any other."""
        connection = self._connection(member)
        if len(data) >= 8:
            _, key, version = struct.unpack_from(">ihh", data)
            if key in APIS:
                connection.pending.append(_Pending(key, version, self.now_ms()))
        self._write(member, data)

    def _write(self, member: str, data: bytes) -> None:
        try:
            self._connection(member).link.sendall(data)
        except OSError:  # the broker hung up first: seen as closed when the answer is awaited
            self._connection(member).ended = True

    def _connection(self, member: str) -> _Connection:
        if member not in self._connections:
            link = socket.create_connection((self.broker.host, self.broker.port), 5)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections[member] = _Connection(link)
            self._selector.register(link, selectors.EVENT_READ, member)
        return self._connections[member]

    def answer(self, member: str, limit_ms: float) -> Answer | None:
        """Wait for the next answer of a member."""
        connection = self._connection(member)
        end = self.now_ms() + limit_ms
        while not connection.answers:
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
        for key, _ in self._selector.select(ms / 1000):
            self._receive(self._connections[key.data])

    def _receive(self, connection: _Connection) -> None:
        try:
            data = connection.link.recv(65536)
        except OSError:
            data = b""
        if not data:
            connection.ended = True
            self._selector.unregister(connection.link)
            return
        connection.received += data
        while len(connection.received) >= 4:
            (length,) = struct.unpack_from(">i", connection.received)
            if len(connection.received) < 4 + length:
                return
            frame = bytes(connection.received[4 : 4 + length])
            del connection.received[: 4 + length]
            asked = connection.pending.popleft()
            version, message = read_response(asked.key, asked.version, frame)
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
        raise NoBroker(f"!{name} exists on the core stage only")

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.link.close()
        self._selector.close()
