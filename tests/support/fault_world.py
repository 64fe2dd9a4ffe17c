"""Prepares a request for each group API and version, on a group in a state in which the request has an effect that can be checked."""

from __future__ import annotations

import itertools
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from groupmock import Broker
from groupmock.rig.wire import Client, read_response
from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic

GROUP_APIS: Final = (8, 9, 10, 11, 12, 13, 14, 15, 16, 42, 47)
TOPIC: Final = "orders"
PATIENCE_S: Final = 60
_numbers = itertools.count(1)


class Wire(Client):
    """A client connection with unique correlation ids that shows whether the server is silent and how the connection ends."""

    def __init__(self, address: str, client_id: str) -> None:
        host, port = address.split(":")
        super().__init__(host, int(port), client_id, PATIENCE_S, first=next(_numbers) * 1000 + 1)

    def silent(self) -> bool:
        """Return whether neither bytes nor the end of the connection can be read now."""
        return not select.select([self.socket], [], [], 0)[0]

    def exactly(self, size: int) -> bytes:
        """Read exactly this many bytes."""
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece, f"the connection ended after {len(data)} of {size} bytes"
            data += piece
        return data

    def rest(self) -> bytes:
        """Read everything until FIN; an RST raises ConnectionResetError."""
        data = b""
        while piece := self.socket.recv(65536):
            data += piece
        return data


@dataclass
class Occasion:
    """A request `ask` that is ready to be sent on `wire`. `applied()` returns whether the server executed it, or is None if the request
    leaves no trace."""

    key: int
    version: int
    group: str
    wire: Wire
    request: Message
    applied: Callable[[], bool] | None
    member_id: str

    @property
    def name(self) -> str:
        return APIS[self.key].name

    def when(self) -> dict[str, Any]:
        """Return fault conditions that only this request meets."""
        return {"api": self.name, "version": self.version, "client_id": self.wire.side.client_id}

    @property
    def usual(self) -> int:
        """The error code without a fault: 0, or UNSUPPORTED_VERSION (35) for the versions that once wrote to ZooKeeper."""
        return 35 if (self.key, self.version) in ((8, 0), (9, 0)) else 0

    def send(self) -> int:
        return self.wire.send(self.key, self.version, self.request)

    def read(self) -> Any:
        return self.read_frame(self.wire.receive())

    def read_frame(self, frame: bytes) -> Any:
        """Decode the answer from a frame without its length."""
        return read_response(self.key, self.version, frame)[1]

    def error(self, answer: Any) -> int:
        """Return the answer's error code, whose position depends on the version (docs/kafka/apis.md#field-layouts)."""
        place = ERROR_AT[self.key](answer, self.version)
        return int(place.error_code)


ERROR_AT: Final[dict[int, Callable[[Any, int], Any]]] = {
    8: lambda answer, version: answer.topics[0].partitions[0],
    9: lambda answer, version: answer.topics[0].partitions[0] if version < 2 else answer if version < 8 else answer.groups[0],
    10: lambda answer, version: answer if version < 4 else answer.coordinators[0],
    11: lambda answer, version: answer,
    12: lambda answer, version: answer,
    13: lambda answer, version: answer,
    14: lambda answer, version: answer,
    15: lambda answer, version: answer.groups[0],
    16: lambda answer, version: answer,
    42: lambda answer, version: answer.results[0],
    47: lambda answer, version: answer,
}


class World:
    """A broker with the topic `orders` that prepares requests. All connections are closed at the end."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.topic_id: bytes = broker._ask(lambda: broker._up().cluster.topics.topic_id(TOPIC) or b"")
        self._wires: list[Wire] = []

    def close(self) -> None:
        for wire in self._wires:
            wire.close()

    def wire(self, node: int = 1, client_id: str = "") -> Wire:
        wire = Wire(self.broker.bootstrap.split(",")[node - 1], client_id or f"client-{next(_numbers)}")
        self._wires.append(wire)
        return wire

    def node_of(self, group: str) -> int:
        return int(self.wire().ask(10, 0, FindCoordinatorRequest(key=group)).node_id)

    def occasion(self, key: int, version: int, instance: str | None = None) -> Occasion:
        """Prepare a request of this API and version, on a group in the state that the request needs."""
        group = f"g{next(_numbers)}"
        wire = self.wire(self.node_of(group))
        member_id, generation = self._join(wire, group, instance)
        if key != 14:
            self._sync(wire, group, member_id, generation)
        if key in (9, 42, 47):
            self._commit(wire, group, member_id, generation)
        if key in (42, 47):
            wire.ask(13, 3, LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)]))
        request, applied = getattr(self, f"_k{key:02}")(version, group, member_id, generation, instance)
        return Occasion(key, version, group, wire, request, applied, member_id)

    def _join(self, wire: Wire, group: str, instance: str | None) -> tuple[str, int]:
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0")]
        wish = JoinGroupRequest(
            group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocol_type="consumer", protocols=protocols,
            group_instance_id=instance,
        )  # fmt: skip
        joined = wire.ask(11, 5, wish)
        if joined.error_code == 79:
            wish.member_id = joined.member_id
            joined = wire.ask(11, 5, wish)
        assert joined.error_code == 0, joined
        return joined.member_id, joined.generation_id

    def _sync(self, wire: Wire, group: str, member_id: str, generation: int) -> None:
        told = [SyncGroupRequestAssignment(member_id=member_id, assignment=b"\0\0")]
        synced = wire.ask(14, 3, SyncGroupRequest(group_id=group, generation_id=generation, member_id=member_id, assignments=told))
        assert synced.error_code == 0, synced

    def _commit(self, wire: Wire, group: str, member_id: str, generation: int) -> None:
        committed = wire.ask(8, 7, self._commit_request(7, group, member_id, generation))
        assert committed.topics[0].partitions[0].error_code == 0

    def _commit_request(self, version: int, group: str, member_id: str, generation: int) -> OffsetCommitRequest:
        topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=7)])
        if version >= 10:
            topic.name, topic.topic_id = "", self.topic_id
        return OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=generation, member_id=member_id, topics=[topic])

    def _group(self, group: str) -> Any:
        return self.broker.groups.get(group)

    def _k08(self, version: int, group: str, member_id: str, generation: int, instance: str | None) -> Any:
        request = self._commit_request(version, group, member_id, generation)
        if version >= 7:
            request.group_instance_id = instance
        trace = (lambda: self._group(group).offsets == {TOPIC: {0: 7}}) if version else None
        return request, trace

    def _k09(self, version: int, group: str, member_id: str, generation: int, *_: Any) -> Any:
        if version < 8:
            return OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]), None
        topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
        if version >= 10:
            topic = OffsetFetchRequestTopics(topic_id=self.topic_id, partition_indexes=[0])
        said: dict[str, Any] = {"member_id": member_id, "member_epoch": generation} if version >= 9 else {}
        return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=[topic], **said)]), None

    def _k10(self, version: int, group: str, *_: Any) -> Any:
        return FindCoordinatorRequest(key=group) if version < 4 else FindCoordinatorRequest(coordinator_keys=[group]), None

    def _k11(self, version: int, group: str, member_id: str, generation: int, instance: str | None) -> Any:
        """Return a JoinGroup with which the leader rejoins and the next generation begins."""
        request = JoinGroupRequest(
            group_id=group, session_timeout_ms=10_000, member_id=member_id, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\1")],
        )  # fmt: skip
        if version >= 1:
            request.rebalance_timeout_ms = 10_000
        if version >= 5:
            request.group_instance_id = instance
        return request, lambda: self._group(group).generation == generation + 1

    def _k12(self, version: int, group: str, member_id: str, generation: int, instance: str | None) -> Any:
        request = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id)
        if version >= 3:
            request.group_instance_id = instance
        return request, None

    def _k13(self, version: int, group: str, member_id: str, generation: int, instance: str | None) -> Any:
        if version < 3:
            request = LeaveGroupRequest(group_id=group, member_id=member_id)
        else:
            request = LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id, group_instance_id=instance)])
        return request, lambda: self._group(group).state == "Empty"

    def _k14(self, version: int, group: str, member_id: str, generation: int, instance: str | None) -> Any:
        request = SyncGroupRequest(
            group_id=group, generation_id=generation, member_id=member_id,
            assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"\0\1")],
        )  # fmt: skip
        if version >= 3:
            request.group_instance_id = instance
        if version >= 5:
            request.protocol_type, request.protocol_name = "consumer", "range"
        return request, lambda: self._group(group).state == "Stable"

    def _k15(self, version: int, group: str, *_: Any) -> Any:
        return DescribeGroupsRequest(groups=[group]), None

    def _k16(self, version: int, group: str, *_: Any) -> Any:
        return ListGroupsRequest(), None

    def _k42(self, version: int, group: str, *_: Any) -> Any:
        return DeleteGroupsRequest(groups_names=[group]), lambda: self._group(group) is None

    def _k47(self, version: int, group: str, *_: Any) -> Any:
        topic = OffsetDeleteRequestTopic(name=TOPIC, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        return OffsetDeleteRequest(group_id=group, topics=[topic]), lambda: self._group(group) is None or not self._group(group).offsets


def ends(key: int) -> tuple[int, ...]:
    """Return the oldest and the newest version of an API in the default profile."""
    versions = APIS[key].versions
    return tuple(dict.fromkeys((versions.lowest, versions.highest)))
