"""A broker over TCP for many plays at a time: its facts, its topics, connections on the event loop."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from groupmock.rig.wire import Asked, ClientSide, is_answered
from groupmock_clients.probe.stages.tcp_broker import CannotProvide, NoBroker, TcpBroker
from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.error_codes import REQUEST_TIMED_OUT, TOPIC_ALREADY_EXISTS
from groupmock_codec.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse
from groupmock_codec.units import NS_PER_MS

from ..script.script import Script, TopicNeed
from ..script.settings_classes import class_of
from ..script.transcript import Facts, TopicFact, group_names

METADATA: Final = 10
"""Metadata's first version with topic ids."""


Arrived = Callable[[Asked | None, bytes], None]
"""Told of every frame: what it answers (None: nothing that was asked), and its bytes without the length."""


class Link(asyncio.Protocol):
    """One connection. Frames are told as they come in; `on_closed` once, when the broker hangs up."""

    def __init__(self, arrived: Arrived, on_closed: Callable[[], None]) -> None:
        self._arrived, self._on_closed = arrived, on_closed
        self.side = ClientSide()
        self.ended = False
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, host: str, port: int, arrived: Arrived, on_closed: Callable[[], None]) -> Link:
        """Connect. Raises NoBroker."""
        try:
            _, link = await asyncio.get_running_loop().create_connection(lambda: cls(arrived, on_closed), host, port)
        except OSError as problem:
            raise NoBroker(f"cannot connect to {host}:{port}: {problem.strerror or problem}") from problem
        return link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio's."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """asyncio's, which ends the connection when it raises: NoFrame for a length that no answer has."""
        for asked, frame in self.side.receive(data):
            self._arrived(asked, frame)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio's."""
        if not self.ended:
            self.ended = True
            self._on_closed()

    def ask(self, tag: int, key: int, version: int, client_id: str | None, message: Message) -> None:
        """Send one request."""
        self.side.client_id = client_id
        frame = self.side.ask(key, version, message, tag)
        if not is_answered(key, message):  # pending until `forget`, because a broker closes the connection if it refuses it
            self.side.pending.append(Asked(key, version, self.side.correlation, tag))
        self.write(frame)

    def forget(self, tag: int) -> None:
        """Expect no answer to that request any more."""
        self.side.pending = deque(asked for asked in self.side.pending if asked.tag != tag)

    def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self._transport is not None
        self._transport.write(data)

    def close(self, reset: bool = False) -> None:
        """Hang up; nobody is told."""
        self.ended = True
        if self._transport is None:
            return
        if reset:
            found = self._transport.get_extra_info("socket")
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


class Asker:
    """A connection on which questions are asked one after another, for the player's own use."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._link: Link | None = None
        self._answer: asyncio.Future[Message] | None = None

    async def ask(self, key: int, version: int, message: Message, seconds: float = 20) -> Message:
        """One request, its answer; NoBroker if none comes."""
        if self._link is None or self._link.ended:
            self._link = await Link.open(self._peer.host, self._peer.port, self._arrived, self._closed)
        self._answer = asyncio.get_running_loop().create_future()
        self._link.ask(0, key, version, "differential", message)
        try:
            async with asyncio.timeout(seconds):  # Python 3.11's wait_for may swallow a cancellation when the answer comes just then
                return await self._answer
        except TimeoutError:
            raise NoBroker(f"{APIS[key].name} was not answered within {seconds} s") from None

    def _arrived(self, asked: Asked | None, frame: bytes) -> None:
        if asked is not None and self._answer is not None and not self._answer.done():
            self._answer.set_result(asked.read(frame)[1])

    def _closed(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(NoBroker("the broker closed the connection"))

    def close(self) -> None:
        """Hang up."""
        if self._link is not None:
            self._link.close()


class Peer:
    """A warm broker: any that speaks Kafka's protocol. Connects at once and waits until all its group coordinators answer."""

    def __init__(self, host: str, port: int, release: str, settings: str | None = None) -> None:
        self.host, self.port, self.release = host, port, release
        probe = TcpBroker(host, port, release)
        try:
            self._wait_for_transactions(probe)
            self.told = probe.settings
            self.settings = settings or class_of(probe.settings)
            if self.settings is None:
                raise NoBroker("the broker's settings are of no class that scripts ask for: see settings_classes.py")
            self.versions = {api.key: probe.versions(api.key) for api in APIS.values()}
            answer = probe.ask(3, 4, MetadataRequest(topics=[]))
            assert isinstance(answer, MetadataResponse)
        finally:
            probe.close()
        node = answer.brokers[0]
        self.node, self.advertised_host, self.advertised_port = node.node_id, node.host, node.port
        self.cluster_id = answer.cluster_id or ""
        self._shared: dict[str, asyncio.Task[TopicFact]] = {}
        self._run = f"{time.time_ns() // NS_PER_MS % 10**9:09d}"
        self._plays = 0
        self.slowness = 0.0
        """How many ms the broker has been taking for what it does at once: the worst of late, slowly forgotten."""

    @staticmethod
    def _wait_for_transactions(probe: TcpBroker) -> None:
        """FindCoordinator answers 15 for transactional ids until their topic is there; a broker where it never comes is as good."""
        try:
            probe.wait_for_transactions()
        except CannotProvide:
            pass

    def took(self, ms: float) -> None:
        """An answer at once took so long."""
        self.slowness = max(ms, self.slowness * 0.995)

    async def facts(self, script: Script) -> Facts:
        """Names for one play of a script, its topics made."""
        self._plays += 1
        stem = f"d{self._run}-{self._plays}"
        topics = [await self._topic(stem, number + 1, need) for number, need in enumerate(script.topics)]
        assert self.settings is not None
        return Facts(
            self.release, self.settings, self.node, self.advertised_host, self.advertised_port, self.cluster_id, "/127.0.0.1",
            time.time_ns() // NS_PER_MS, group_names(script, stem), topics, stem,
        )  # fmt: skip

    async def _topic(self, stem: str, number: int, need: TopicNeed) -> TopicFact:
        if need.own:
            return await self._create(f"{stem}-t{number}", need)
        name = f"shared-{number}-{need.partitions}"
        if name not in self._shared:
            self._shared[name] = asyncio.ensure_future(self._create(name, need))
        return await self._shared[name]

    async def _create(self, name: str, need: TopicNeed) -> TopicFact:
        configs = [CreatableTopicConfig(name=key, value=value) for key, value in need.configs.items()]
        wanted = CreatableTopic(name=name, num_partitions=need.partitions, replication_factor=1, configs=configs)
        asker = Asker(self)
        try:
            answer = await asker.ask(19, 4, CreateTopicsRequest(topics=[wanted], timeout_ms=30_000), 60)
            assert isinstance(answer, CreateTopicsResponse)
            if answer.topics[0].error_code not in (0, TOPIC_ALREADY_EXISTS, REQUEST_TIMED_OUT):
                raise NoBroker(f"topic {name} cannot be created: error {answer.topics[0].error_code}")
            return await self._led(asker, name, need.partitions)
        finally:
            asker.close()

    async def _led(self, asker: Asker, name: str, partitions: int) -> TopicFact:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            wanted = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            answer = await asker.ask(3, METADATA, wanted)
            assert isinstance(answer, MetadataResponse)
            found = answer.topics[0]
            if found.error_code == 0 and len(found.partitions) == partitions and all(each.leader_id >= 0 for each in found.partitions):
                await self._appendable(asker, name, partitions)
                return TopicFact(name, found.topic_id, partitions)
            await asyncio.sleep(0.02)  # a broker's own pace: it offers no event to wait for
        raise NoBroker(f"topic {name} has no leaders after 60 s")

    async def _appendable(self, asker: Asker, name: str, partitions: int) -> None:
        """Metadata may name a leader that does not know yet that it leads."""
        asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)]
        end = time.monotonic() + 60
        while time.monotonic() < end:
            answer = await asker.ask(2, 1, ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=asked)]))
            assert isinstance(answer, ListOffsetsResponse)
            if all(row.error_code == 0 for row in answer.topics[0].partitions):
                return
            await asyncio.sleep(0.02)  # a broker's own pace: it offers no event to wait for
        raise NoBroker(f"topic {name} is led by nobody after 60 s")


def parse_address(text: str) -> tuple[str, int]:
    """ "host:port" (the first of several). Raises ValueError."""
    host, _, port = text.split(",")[0].rpartition(":")
    if not (host and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"HOST:PORT expected, not {text!r}")
    return host, int(port)
