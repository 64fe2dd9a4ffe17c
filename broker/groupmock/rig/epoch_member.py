"""The requests that members of consumer groups (KIP-848) and of streams groups (KIP-1071) have in common: offsets in a member epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics

from .classic_member import Partition, by_topic, commit_topics

JOINING, LEAVING, AWAY = 0, -1, -2
"""The member epochs with which a member joins, leaves, and leaves for a while."""


class EpochMember:
    """The identity of a member of a group whose coordinator assigns. `epoch` is the coordinator's last one, and `instance_id` is that of a
    static member."""

    def __init__(self, group: str, member_id: str, rebalance_ms: int, instance_id: str | None) -> None:
        self.group, self.member_id, self.rebalance_ms, self.instance_id = group, member_id, rebalance_ms, instance_id
        self.epoch = JOINING

    def commit_request(self, offsets: Mapping[Partition, int]) -> OffsetCommitRequest:
        """Make an OffsetCommit in the member's epoch, for versions below 10."""
        return OffsetCommitRequest(
            group_id=self.group, generation_id_or_member_epoch=self.epoch, member_id=self.member_id, group_instance_id=self.instance_id,
            topics=commit_topics(offsets),
        )  # fmt: skip

    def offsets_request(self, partitions: Iterable[Partition], stable: bool = False) -> OffsetFetchRequest:
        """Make an OffsetFetch for these partitions, for version 9. With `stable` the answer waits for the end of transactions with
        pending offsets (KIP-447)."""
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=numbers) for topic, numbers in by_topic(partitions).items()]
        asked = OffsetFetchRequestGroup(group_id=self.group, member_id=self.member_id, member_epoch=self.epoch, topics=topics)
        return OffsetFetchRequest(groups=[asked], require_stable=stable)
