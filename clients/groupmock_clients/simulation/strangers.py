"""Hostile or careless peers, which send altered requests, pipelined requests and oversized requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from groupmock.rig.wire import request
from groupmock_codec.declare import Message
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.records import NewRecord, encode_batch

from .wire import SimulatedWire

if TYPE_CHECKING:
    from .world import World

NAME: Final = "stranger"
OWN_GROUP: Final = "strangers"
"""The only group to which hostile peers may add data, so that they cost the other groups nothing but time."""

Asked = tuple[int, int, Message]


def _batch(records: int, compression: str = "none") -> bytes:
    return encode_batch([NewRecord(value=b"x")] * records, compression=compression)


def _produce(topic: str, data: bytes) -> Asked:
    rows = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=data)])]
    return 0, 7, ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=rows)


def _fetch(topic: str, n: int) -> Asked:
    rows = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20) for _ in range(n)]
    return 1, 4, FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=rows)])


def _commit(topic: str, n: int) -> Asked:
    rows = [OffsetCommitRequestPartition(partition_index=number, committed_offset=1) for number in range(n)]
    return 8, 2, OffsetCommitRequest(group_id=OWN_GROUP, topics=[OffsetCommitRequestTopic(name=topic, partitions=rows)])


def _join(n: int) -> Asked:
    offered = [JoinGroupRequestProtocol(name=f"p{number}", metadata=b"") for number in range(n)]
    message = JoinGroupRequest(
        group_id=OWN_GROUP, session_timeout_ms=6_000, rebalance_timeout_ms=1_000, protocol_type="consumer", protocols=offered
    )
    return 11, 3, message


def _offsets(topic: str, n: int) -> Asked:
    rows = [ListOffsetsPartition(partition_index=0, timestamp=-1) for _ in range(n)]
    return 2, 2, ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=rows)])


def _fetch_offsets(topic: str, n: int) -> Asked:
    rows = OffsetFetchRequestTopic(name=topic, partition_indexes=[0])
    return 9, 5, OffsetFetchRequest(group_id=OWN_GROUP, topics=[rows] * n)


def _grow(topic: str, n: int) -> Asked:
    return 37, 1, CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=topic, count=n)], timeout_ms=1_000, validate_only=True)


LARGE: Final[dict[str, Callable[[str, int], Asked]]] = {
    "protocols": lambda topic, n: _join(n),
    "commits": _commit,
    "offsets": _fetch_offsets,
    "times": _offsets,
    "fetches": _fetch,
    "topics": lambda topic, n: (3, 4, MetadataRequest(topics=[MetadataRequestTopic(name=topic)] * n, allow_auto_topic_creation=False)),
    "described": lambda topic, n: (15, 1, DescribeGroupsRequest(groups=[OWN_GROUP] * n)),
    "records": lambda topic, n: _produce(topic, _batch(n)),
    "zipped": lambda topic, n: _produce(topic, _batch(n, "gzip")),
    "partitions": _grow,
}
"""Maps a name to the function that makes an oversized request from a topic and a number of elements."""
BURSTS: Final[dict[str, Callable[[str], Asked]]] = {
    "heartbeat": lambda topic: (12, 3, HeartbeatRequest(group_id=OWN_GROUP, generation_id=1, member_id="nobody")),
    "metadata": lambda topic: (3, 4, MetadataRequest(topics=None, allow_auto_topic_creation=False)),
    "fetch": lambda topic: _fetch(topic, 1),
    "offsets": lambda topic: _fetch_offsets(topic, 1),
    "find": lambda topic: (10, 2, FindCoordinatorRequest(key=OWN_GROUP)),
    "groups": lambda topic: (16, 2, ListGroupsRequest()),
    "versions": lambda topic: (18, 2, ApiVersionsRequest()),
}
"""Maps a name to the function that makes a request to be pipelined."""


class Strangers:
    """Hostile peers with their own connections, which ignore all answers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.wires: list[SimulatedWire] = []

    def mutate(self, pick: int, changes: list[list[int]]) -> None:
        """Send an earlier request with bytes replaced, perhaps also those of its length."""
        if not self.world.frames:
            return
        frame = bytearray(self.world.frames[pick % len(self.world.frames)])
        for place, value in changes:
            frame[place % len(frame)] = value % 256
        self._send([bytes(frame)], pick)

    def burst(self, what: str, n: int, pieces: int) -> None:
        """Send n pipelined requests, split into this many pieces."""
        key, version, message = BURSTS[what](self._topic())
        data = b"".join(request(key, version, message, number, NAME) for number in range(n))
        size = max(1, -(-len(data) // max(pieces, 1)))
        self._send([data[at : at + size] for at in range(0, len(data), size)], n)

    def large(self, what: str, n: int) -> None:
        """Send one request with n elements of a kind."""
        key, version, message = LARGE[what](self._topic(), n)
        self._send([request(key, version, message, 1, NAME)], n)

    def go(self) -> None:
        for wire in self.wires:
            wire.hang_up()

    def _send(self, pieces: list[bytes], pick: int) -> None:
        up = [node for node in self.world.nodes if self.world.up(node)]
        if not up:
            return
        wire = SimulatedWire(self.world.clock, _unread, _unread)
        self.world.plug(wire, up[pick % len(up)], strange=True)
        self.wires.append(wire)
        for piece in pieces:
            wire.post(piece)

    def _topic(self) -> str:
        return next(iter(self.world.plan.topics))


def _unread(*_: object) -> None:
    """Ignore an answer, because hostile peers do not read."""
