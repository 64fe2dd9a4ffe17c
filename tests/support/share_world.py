"""A cluster with members of share groups whose requests pass through the codec."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from log_world import LogWorld

from groupmock.core.groups.share.type import ShareGroup
from groupmock_codec.messages import k91_alter_share_group_offsets as k91
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.messages.k77_share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from groupmock_codec.messages.k90_describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from groupmock_codec.messages.k92_delete_share_group_offsets import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic

SESSION_MS: Final = 30_000
Assigned = dict[str, list[int]] | None


class Told(NamedTuple):
    """The answer to a ShareGroupHeartbeat: the member epoch, and the partitions by topic name, or None for null."""

    epoch: int
    has: Assigned


class ShareWorld(LogWorld):
    """A cluster with the topics `t` (four partitions) and `u` (two) for tests of share groups. By default targets have no interval.
    `epochs` has each member's last epoch."""

    def __init__(self, *, topics: bool = True, **settings: Any) -> None:
        timing = {"group_share_session_timeout_ms": SESSION_MS, "group_share_heartbeat_interval_ms": 3000}
        super().__init__(**{**timing, "group_share_assignment_interval_ms": 0, **settings})
        if topics:
            self.topic("t", 4)
            self.topic("u", 2)
        self.epochs: dict[str, int] = {}

    @property
    def node(self) -> int:
        """Return the id of the node that coordinates the group."""
        return self.cluster.groups.hosting.node_of("g") or 1

    @property
    def share_group(self) -> ShareGroup:
        group = self.cluster.groups.find("g")
        assert isinstance(group, ShareGroup)
        return group

    def raw(self, *, client: str | None = "c", **fields: Any) -> Any:
        """Send a heartbeat, by default of group "g" and member "A", and return the whole answer. The clock does not move."""
        asked = ShareGroupHeartbeatRequest(**{"group_id": "g", "member_id": "A", **fields})
        sent = self.rig.send(76, 1, asked, client_id=client, client_host="/10.0.0.7", node=self.node)
        return self.answers[sent.ticket]

    def refused(self, **fields: Any) -> tuple[int, str | None]:
        """Send a heartbeat that must be refused and return the answer's error code and message. Its answer contains nothing else."""
        found = self.raw(**fields)
        assert (found.member_id, found.member_epoch, found.heartbeat_interval_ms, found.assignment) == (None, 0, 0, None), found
        return found.error_code, found.error_message

    def join(self, member: str = "A", *names: str, **fields: Any) -> Told:
        """Join with epoch 0 and the topics `names`, by default `t`."""
        return self._told(member, self.raw(member_id=member, subscribed_topic_names=list(names) or ["t"], **fields))

    def beat(self, member: str = "A", **fields: Any) -> Told:
        """Send a heartbeat with the member's last epoch."""
        return self._told(member, self.raw(**{"member_id": member, "member_epoch": self.epochs[member], **fields}))

    def settle(self, *members: str) -> None:
        """Let the background initialise partitions, and all these members send a heartbeat."""
        self.sleep(1)
        for member in members:
            self.beat(member)

    def leave(self, member: str = "A") -> None:
        found = self.raw(member_id=member, member_epoch=-1)
        assert (found.error_code, found.member_id, found.member_epoch, found.assignment) == (0, member, -1, None)

    def _told(self, member: str, found: Any) -> Told:
        assert (found.error_code, found.error_message) == (0, None), (found.error_code, found.error_message)
        assert found.member_id == member
        self.epochs[member] = found.member_epoch
        return Told(found.member_epoch, None if found.assignment is None else self._parts(found.assignment))

    def _parts(self, assignment: Any) -> dict[str, list[int]]:
        return {self.cluster.topics.name_of(each.topic_id) or "?": sorted(each.partitions) for each in assignment.topic_partitions}

    # -- Views

    def described(self, *group_ids: str) -> list[DescribedGroup]:
        sent = self.rig.send(77, 1, ShareGroupDescribeRequest(group_ids=list(group_ids)), node=self.node)
        answer: Any = self.answers[sent.ticket]
        found: list[DescribedGroup] = answer.groups
        return found

    def state(self) -> tuple[str, int, int, dict[str, tuple[int, dict[str, list[int]]]]]:
        """Return state, group epoch, assignment epoch, and epoch and partitions by member."""
        (group,) = self.described("g")
        members = {
            member.member_id: (
                member.member_epoch,
                {each.topic_name: sorted(each.partitions) for each in member.assignment.topic_partitions},
            )
            for member in group.members
        }
        return group.group_state, group.group_epoch, group.assignment_epoch, members

    # -- Offsets

    def offsets(self, topics: dict[str, list[int]] | None = None, group: str = "g", version: int = 1) -> Any:
        """Return the described offsets of a group: topic -> partition -> (start offset, leader epoch, lag)."""
        asked = [DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=each) for name, each in (topics or {}).items()]
        wanted = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None if topics is None else asked)
        sent = self.rig.send(90, version, DescribeShareGroupOffsetsRequest(groups=[wanted]), node=self.node)
        (found,) = self.answers[sent.ticket].groups
        if found.error_code:
            return found.error_code, found.error_message
        return {
            topic.topic_name: {each.partition_index: (each.start_offset, each.leader_epoch, each.lag) for each in topic.partitions}
            for topic in found.topics
        }

    def alter(self, wanted: dict[str, dict[int, int]], group: str = "g") -> Any:
        """Alter start offsets, and return the errors by topic and partition, or the error of the whole request."""
        topics = [
            k91.AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    k91.AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset) for index, offset in each.items()
                ],
            )
            for name, each in wanted.items()
        ]
        sent = self.rig.send(91, 0, k91.AlterShareGroupOffsetsRequest(group_id=group, topics=topics), node=self.node)
        found: Any = self.answers[sent.ticket]
        if found.error_code:
            return found.error_code, found.error_message
        return {
            topic.topic_name: {each.partition_index: (each.error_code, each.error_message) for each in topic.partitions}
            for topic in found.responses
        }

    def delete_offsets(self, *names: str, group: str = "g") -> Any:
        """Delete offsets of topics, and return the errors by topic, or the error of the whole request."""
        topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
        sent = self.rig.send(92, 0, DeleteShareGroupOffsetsRequest(group_id=group, topics=topics), node=self.node)
        found: Any = self.answers[sent.ticket]
        if found.error_code:
            return found.error_code, found.error_message
        return {topic.topic_name: (topic.error_code, topic.error_message) for topic in found.responses}
