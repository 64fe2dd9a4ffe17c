"""A scripted member of a classic group: each method is one thing that it does, at the moment when a test says so.

It never acts by itself: no heartbeat, no second JoinGroup, unless the script has it. What a real client does:
docs/kafka/group-protocol.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec.embedded.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

if TYPE_CHECKING:
    from .ask import Ask
    from .core_rig import CoreRig

COMMIT, FIND_COORDINATOR, JOIN, HEARTBEAT, LEAVE, SYNC = 8, 10, 11, 12, 13, 14
VERSIONS: Final = {COMMIT: 7, FIND_COORDINATOR: 2, JOIN: 5, HEARTBEAT: 3, LEAVE: 3, SYNC: 3}
"""Versions that every profile has, with group instance ids."""
ID_REQUIRED: Final = 79

Partition = tuple[str, int]


class Member:
    """`member_id`, `generation` and `assignment` are what the last answers told. Durations are ms, as in the requests.

    `topics`: what it subscribes to; `instance_id`: of a static member; `protocols`: the names of its assignors, the best first.
    """

    def __init__(
        self,
        rig: CoreRig,
        client_id: str,
        *,
        group: str = "g",
        topics: Sequence[str] = (),
        instance_id: str | None = None,
        protocols: Sequence[str] = ("range",),
        session_ms: int = 45_000,
        rebalance_ms: int = 300_000,
    ) -> None:
        self.rig, self.client_id, self.group, self.topics = rig, client_id, group, list(topics)
        self.instance_id, self.protocols, self.session_ms, self.rebalance_ms = instance_id, list(protocols), session_ms, rebalance_ms
        self.member_id = ""
        self._join: Ask | None = None
        self._sync: Ask | None = None
        self.node = 1
        if len(rig.core.environment.identity.nodes) > 1:
            self.node = rig.ask(FIND_COORDINATOR, VERSIONS[FIND_COORDINATOR], FindCoordinatorRequest(key=group)).node_id

    def join(self) -> Ask:
        """JoinGroup; where the answer is MEMBER_ID_REQUIRED, a second one with the id. It is parked until the join phase ends."""
        ask = self._send(JOIN, self._wish())
        # JoinGroup v4+ without id or instance only reserves an id (SERVER-01, KIP-394).
        if ask.answer is not None and ask.error == ID_REQUIRED:
            self.member_id = ask.answer.member_id
            ask = self._send(JOIN, self._wish())
        self._join = ask
        return ask

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> Ask:
        """SyncGroup. A leader that is told none deals the subscribed partitions out in turn. It is parked until the leader's has come."""
        told = self._joined()
        self.member_id = told.member_id
        if assignments is None:
            assignments = self._dealt(told) if told.leader == told.member_id else {}
        brought = [SyncGroupRequestAssignment(member_id=name, assignment=data) for name, data in assignments.items()]
        self._sync = self._send(SYNC, SyncGroupRequest(**self._place(), assignments=brought))
        return self._sync

    def beat(self) -> int:
        """Heartbeat: its error code."""
        return self._send(HEARTBEAT, HeartbeatRequest(**self._place())).error

    def commit(self, offsets: Mapping[Partition, int], generation: int | None = None) -> Ask:
        """OffsetCommit of (topic, partition) -> offset. Answered when the clock moves, by `rig.sleep(0)` too. `generation`: another
        one than its last, as of a thread that did not hear of a rebalance."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic, partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)]
            )
            for (topic, partition), offset in offsets.items()
        ]
        place: dict[str, Any] = {"group_id": self.group, "member_id": self.member_id, "group_instance_id": self.instance_id}
        said = self.generation if generation is None else generation
        return self._send(COMMIT, OffsetCommitRequest(**place, generation_id_or_member_epoch=said, topics=topics))

    def leave(self) -> Ask:
        """LeaveGroup."""
        who = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        return self._send(LEAVE, LeaveGroupRequest(group_id=self.group, members=[who]))

    def hang_up(self) -> None:
        """Its connection is gone; the group learns of it when its session expires. What it does next goes over a new one."""
        self.rig.hang_up(self.client_id)

    # -- what it knows

    @property
    def generation(self) -> int:
        """Of its last JoinGroup that succeeded; -1: none has."""
        return -1 if self._join is None or self._join.answer is None else int(self._join.answer.generation_id)

    @property
    def leads(self) -> bool:
        """Was it told that it leads?"""
        told = self._joined()
        return bool(told.leader == told.member_id)

    @property
    def assignment(self) -> list[Partition]:
        """The partitions of its last SyncGroup. AssertionError while that is not answered."""
        assert self._sync is not None and self._sync.answer is not None, f"{self.client_id} has no assignment: {self._sync!r}"
        told = decode_assignment(self._sync.answer.assignment)
        return [(each.topic, index) for each in told.assigned_partitions for index in each.partitions]

    # -- inside

    def _send(self, key: int, message: Any) -> Ask:
        return self.rig.send(key, VERSIONS[key], message, connection=self.client_id, client_id=self.client_id, node=self.node)

    def _wish(self) -> JoinGroupRequest:
        # v0, as range of aiokafka and kafka-python writes it (docs/kafka/cooperative-designs.md#byte-layouts).
        metadata = encode_subscription(Subscription(version=0, topics=self.topics))
        return JoinGroupRequest(
            group_id=self.group, session_timeout_ms=self.session_ms, rebalance_timeout_ms=self.rebalance_ms, member_id=self.member_id,
            group_instance_id=self.instance_id, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in self.protocols],
        )  # fmt: skip

    def _place(self) -> dict[str, Any]:
        return {
            "group_id": self.group, "generation_id": self.generation, "member_id": self.member_id, "group_instance_id": self.instance_id,
        }  # fmt: skip

    def _joined(self) -> Any:
        assert self._join is not None and self._join.answer is not None, f"{self.client_id} has not joined: {self._join!r}"
        return self._join.answer

    def _dealt(self, told: Any) -> dict[str, bytes]:
        wanted = {each.member_id: decode_subscription(each.metadata).topics for each in told.members}
        shares: dict[str, list[TopicPartitions]] = {name: [] for name in wanted}
        turn = 0
        for topic in sorted({topic for topics in wanted.values() for topic in topics}):
            takers = [name for name, topics in wanted.items() if topic in topics]
            for index in range(self.rig.core.cluster.topics.partitions(topic) or 0):
                shares[takers[turn % len(takers)]].append(TopicPartitions(topic=topic, partitions=[index]))
                turn += 1
        # For those with no share too: stock clients raise on an assignment of no bytes (docs/kafka/cooperative-designs.md#byte-layouts).
        return {name: encode_assignment(Assignment(version=0, assigned_partitions=share)) for name, share in shares.items()}
