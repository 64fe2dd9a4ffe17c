"""The state of a member of a classic group, and the requests that follow from that state, without IO, a clock or a script.

A scripted client passes answers in and sends the next request when it wants to, over a connection and in a version of its choice. It also
decides itself how to handle errors, because client libraries differ there; docs/kafka/group-protocol.md says what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from groupmock_codec.embedded.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from groupmock_codec.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

Partition = tuple[str, int]
"""A partition as its topic and number."""


class ClassicMember:
    """The state of one member of a classic group. The last JoinGroup response set `member_id`, `generation` (-1: none), `leads`, `protocol`
    and `members` (of a leader). `assigns` is true of a leader that was not told to skip the assignment (KIP-814). `topics` is its
    subscription, `instance_id` that of a static member, and `protocols` has the names of its assignors, most preferred first. Durations
    are ms, as in the requests."""

    def __init__(
        self,
        group: str,
        *,
        topics: Sequence[str] = (),
        instance_id: str | None = None,
        protocols: Sequence[str] = ("range",),
        session_ms: int = 45_000,
        rebalance_ms: int = 300_000,
    ) -> None:
        self.group, self.topics, self.instance_id, self.protocols = group, list(topics), instance_id, list(protocols)
        self.session_ms, self.rebalance_ms = session_ms, rebalance_ms
        self.members: Sequence[JoinGroupResponseMember] = ()
        self.protocol: str | None = None
        self.leads = self.assigns = False
        self.forget()

    def forget(self) -> None:
        """Forget the member id and the generation, so that the next JoinGroup joins as a new member, as after UNKNOWN_MEMBER_ID."""
        self.member_id, self.generation = "", -1

    def offers(self) -> Iterable[tuple[str, bytes]]:
        """Return the name and metadata of each protocol. The default metadata has only the topics, as the range assignor of aiokafka and
        kafka-python writes them."""
        # The layout of metadata version 0 is in docs/kafka/cooperative-designs.md#byte-layouts.
        metadata = encode_subscription(Subscription(version=0, topics=self.topics))
        return [(name, metadata) for name in self.protocols]

    def joined(self, answer: JoinGroupResponse) -> int:
        """Apply a JoinGroup response and return its error code. After MEMBER_ID_REQUIRED the member knows its id and has to send the same
        request again (SERVER-01, KIP-394)."""
        if answer.error_code == MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif not answer.error_code:
            self.member_id, self.generation, self.protocol = answer.member_id, answer.generation_id, answer.protocol_name
            self.leads, self.members = answer.leader == answer.member_id, answer.members
            self.assigns = self.leads and not answer.skip_assignment
        return answer.error_code

    def join_request(self) -> JoinGroupRequest:
        """Make a JoinGroup request with all protocols."""
        return JoinGroupRequest(
            group_id=self.group, session_timeout_ms=self.session_ms, rebalance_timeout_ms=self.rebalance_ms, member_id=self.member_id,
            group_instance_id=self.instance_id, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in self.offers()],
        )  # fmt: skip

    def sync_request(self, assignments: Mapping[str, bytes] | None = None) -> SyncGroupRequest:
        """Make a SyncGroup request, in which a leader passes an assignment for each member id."""
        brought = [SyncGroupRequestAssignment(member_id=name, assignment=data) for name, data in (assignments or {}).items()]
        return SyncGroupRequest(**self._identity(), protocol_type="consumer", protocol_name=self.protocol, assignments=brought)

    def heartbeat_request(self) -> HeartbeatRequest:
        """Make a Heartbeat request of the current generation."""
        return HeartbeatRequest(**self._identity())

    def commit_request(self, offsets: Mapping[Partition, int], generation: int | None = None) -> OffsetCommitRequest:
        """Make an OffsetCommit request for these offsets. `generation` replaces the current one, as in a thread that has not noticed a
        rebalance."""
        return OffsetCommitRequest(
            group_id=self.group, generation_id_or_member_epoch=self.generation if generation is None else generation,
            member_id=self.member_id, group_instance_id=self.instance_id, topics=commit_topics(offsets),
        )  # fmt: skip

    def offsets_request(self, partitions: Iterable[Partition], stable: bool = False) -> OffsetFetchRequest:
        """Make an OffsetFetch request for these partitions, in versions before 8. `stable`: wait for the end of transactions with pending
        offsets (KIP-447)."""
        topics = [OffsetFetchRequestTopic(name=topic, partition_indexes=numbers) for topic, numbers in by_topic(partitions).items()]
        return OffsetFetchRequest(group_id=self.group, topics=topics, require_stable=stable)

    def leave_request(self, reason: str | None = None) -> LeaveGroupRequest:
        """Make a LeaveGroup request of this member, in version 3 or later. `reason` is that of KIP-800."""
        return LeaveGroupRequest(
            group_id=self.group, members=[MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id, reason=reason)]
        )

    def _identity(self) -> dict[str, Any]:
        return {
            "group_id": self.group, "generation_id": self.generation, "member_id": self.member_id, "group_instance_id": self.instance_id,
        }  # fmt: skip


def commit_topics(offsets: Mapping[Partition, int]) -> list[OffsetCommitRequestTopic]:
    """Return these offsets in the form of an OffsetCommit with topic names."""
    return [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[OffsetCommitRequestPartition(partition_index=each, committed_offset=offsets[topic, each]) for each in numbers],
        )
        for topic, numbers in by_topic(offsets).items()
    ]


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """Return the partition numbers of each topic in the given order."""
    numbers_of: dict[str, list[int]] = {}
    for topic, number in partitions:
        numbers_of.setdefault(topic, []).append(number)
    return numbers_of


def dealt_in_turn(members: Iterable[JoinGroupResponseMember], count: Callable[[str], int | None]) -> dict[str, bytes]:
    """Assign the partitions to the subscribed members in turn. Returns the assignment of each member id. `count` returns the number of a
    topic's partitions."""
    subscriptions = {member.member_id: decode_subscription(member.metadata).topics for member in members}
    shares: dict[str, list[TopicPartitions]] = {name: [] for name in subscriptions}
    turn = 0
    for topic in sorted({topic for topics in subscriptions.values() for topic in topics}):
        takers = [name for name, topics in subscriptions.items() if topic in topics]
        for index in range(count(topic) or 0):
            shares[takers[turn % len(takers)]].append(TopicPartitions(topic=topic, partitions=[index]))
            turn += 1
    # Members without a partition get an assignment too, because stock clients raise on an assignment of no bytes
    # (docs/kafka/cooperative-designs.md#byte-layouts).
    return {name: encode_assignment(Assignment(version=0, assigned_partitions=share)) for name, share in shares.items()}
