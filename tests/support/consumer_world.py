"""A cluster with members of consumer groups whose requests pass through the codec. Every request goes through the codec; answers are
tuples."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from log_world import LogWorld

from groupmock.core.groups.consumer.type import ConsumerGroup
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from groupmock_codec.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from groupmock_codec.messages.k69_consumer_group_describe import Member as DescribedMember

SESSION_MS: Final = 30_000
LEAVE: Final = -1
GO_AWAY: Final = -2


class Told(NamedTuple):
    """The answer to a ConsumerGroupHeartbeat as a tuple. `has` is a list of partitions of the one topic, or [(topic, numbers)]; None for
    null."""

    epoch: int
    has: Any


class ConsumerWorld(LogWorld):
    """A cluster with the topics `t` (six partitions) and `u` (two) for tests of consumer groups. By default targets have no interval.
    `epochs` has each member's last epoch."""

    def __init__(self, *, topics: bool = True, **settings: Any) -> None:
        timing = {"group_consumer_session_timeout_ms": SESSION_MS, "group_consumer_heartbeat_interval_ms": 3000}
        super().__init__(**{**timing, "group_consumer_assignment_interval_ms": 0, **settings})
        if topics:
            self.topic("t", 6)
            self.topic("u", 2)
        self.epochs: dict[str, int] = {}

    # -- Heartbeats

    def raw(self, version: int = 1, *, client: str | None = "c", **fields: Any) -> Any:
        """Send a heartbeat, by default of group "g" and member "A", and return the whole answer."""
        asked = ConsumerGroupHeartbeatRequest(**{"group_id": "g", "member_id": "A", **fields})
        sent = self.rig.send(68, version, asked, client_id=client, client_host="/10.0.0.7", node=self.node)
        found = self.answers[sent.ticket]
        group = self.group
        if group is not None:
            group.invariants()
        return found

    def refused(self, version: int = 1, **fields: Any) -> tuple[int, str | None]:
        """Send a heartbeat that must be refused and return the answer's error code and message. Its answer contains nothing else."""
        found = self.raw(version, **fields)
        assert (found.member_id, found.member_epoch, found.heartbeat_interval_ms, found.assignment) == (None, 0, 0, None), found
        return found.error_code, found.error_message

    def join(self, member: str = "A", *names: str, **fields: Any) -> Told:
        """Join with epoch 0 and the topics `names`, by default `t`."""
        asked = {"subscribed_topic_names": list(names) or ["t"], "rebalance_timeout_ms": 60_000, "topic_partitions": [], **fields}
        return self._told(member, self.raw(member_id=member, member_epoch=0, **asked))

    def beat(self, member: str = "A", *, owned: list[int] | None = None, **fields: Any) -> Told:
        """Send a heartbeat with the member's last epoch. `owned` has partitions of `t`."""
        own = None if owned is None else [TopicPartitions(topic_id=self.topic_id("t"), partitions=owned)]
        asked = {"member_epoch": self.epochs.get(member, 0), "topic_partitions": own, **fields}
        return self._told(member, self.raw(member_id=member, **asked))

    def _told(self, member: str, found: Any) -> Told:
        assert (found.error_code, found.error_message) == (0, None), (found.error_code, found.error_message)
        assert found.member_id == member
        self.epochs[member] = found.member_epoch
        return Told(found.member_epoch, None if found.assignment is None else self._parts(found.assignment))

    def _parts(self, assignment: Any) -> Any:
        parts = [(self.cluster.topics.name_of(each.topic_id), sorted(each.partitions)) for each in assignment.topic_partitions]
        return parts[0][1] if [name for name, _ in parts] == ["t"] else sorted(parts)

    @property
    def node(self) -> int:
        """Id of the node that coordinates the group."""
        return self.cluster.groups.hosting.node_of("g") or 1

    # -- Views of the group

    @property
    def group(self) -> ConsumerGroup | None:
        found = self.cluster.groups.find("g")
        return found if isinstance(found, ConsumerGroup) else None

    def described(self, *groups: str, version: int = 1) -> list[DescribedGroup]:
        asked = ConsumerGroupDescribeRequest(group_ids=list(groups or ("g",)))
        found: list[DescribedGroup] = self.ask(69, version, asked, node=self.node).groups
        return found

    def heartbeat_request(self, member: str, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(group_id="g", member_id=member, member_epoch=epoch)

    def state(self) -> tuple[str, int, int]:
        """Return the state, the group epoch and the assignment epoch."""
        (found,) = self.described()
        return found.group_state, found.group_epoch, found.assignment_epoch

    def member(self, member_id: str) -> DescribedMember:
        (found,) = self.described()
        return next(each for each in found.members if each.member_id == member_id)

    def shown(self, member_id: str) -> tuple[int, Any, Any]:
        """Return epoch, assignment and target as ConsumerGroupDescribe shows them."""
        member = self.member(member_id)
        return member.member_epoch, self._parts(member.assignment), self._parts(member.target_assignment)

    # -- Offsets

    def commit(
        self, member: str = "", epoch: int = -1, partition: int = 0, *, version: int = 9, topic: str = "t", metadata: str | None = None
    ) -> int:
        """Commit an offset of one partition and return its error code."""
        lines = [OffsetCommitRequestPartition(partition_index=partition, committed_offset=5, committed_metadata=metadata)]
        head = OffsetCommitRequestTopic(name=topic, topic_id=self.topic_id(topic), partitions=lines)
        asked = OffsetCommitRequest(group_id="g", member_id=member, generation_id_or_member_epoch=epoch, topics=[head])
        code: int = self.ask(8, version, asked).topics[0].partitions[0].error_code
        return code

    def fetched(self, member: str | None = None, epoch: int = -1, version: int = 9) -> tuple[int, list[int]]:
        """Return the group's error code and committed offsets from OffsetFetch."""
        wanted = OffsetFetchRequestGroup(group_id="g", member_id=member, member_epoch=epoch, topics=None)
        (found,) = self.ask(9, version, OffsetFetchRequest(groups=[wanted])).groups
        return found.error_code, [each.committed_offset for topic in found.topics for each in topic.partitions]
