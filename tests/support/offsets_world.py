"""A cluster with transactional producers that commit offsets of a group."""

from __future__ import annotations

from typing import Any

from log_world import fetch_request
from transaction_world import Pid, TransactionWorld

from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)


class OffsetsWorld(TransactionWorld):
    """A cluster with the single group `g`."""

    def begin(self, name: str = "x", group: str = "g") -> Pid:
        """Start a producer whose transaction includes the group."""
        pid = self.init(name)
        assert self.offsets(pid, group=group, name=name) == 0
        return pid

    def txn(
        self,
        pid: Pid,
        offset: int = 5,
        *,
        partition: int = 0,
        version: int = 3,
        name: str = "x",
        group: str = "g",
        topic: str = "t",
        metadata: str | None = "m",
        node: int = 1,
        **by: Any,
    ) -> int:
        """Send a TxnOffsetCommit for one partition and return the answer's error code."""
        row = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata)
        asked = TxnOffsetCommitRequest(
            transactional_id=name,
            group_id=group,
            producer_id=pid.id,
            producer_epoch=pid.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[row])],
            **by,
        )
        return int(self.ask(28, version, asked, node=node).topics[0].partitions[0].error_code)

    def plain(self, offset: int, partition: int = 0) -> None:
        """Commit an offset without a member id."""
        row = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        asked = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[row])])
        assert self.ask(8, 6, asked).topics[0].partitions[0].error_code == 0

    def seen(self, partition: int = 0, *, stable: bool = False, version: int = 7) -> tuple[int, int, int, str]:
        """Return error, offset, leader epoch and metadata of a partition from OffsetFetch."""
        asked = OffsetFetchRequest(
            group_id="g", require_stable=stable, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[partition])]
        )
        row = self.ask(9, version, asked).topics[0].partitions[0]
        return row.error_code, row.committed_offset, row.committed_leader_epoch, row.metadata

    def all_seen(self) -> list[tuple[int, int, int]]:
        """Return partition, error and offset of all partitions from OffsetFetch with require_stable."""
        answer = self.ask(9, 7, OffsetFetchRequest(group_id="g", require_stable=True, topics=None))
        return sorted((row.partition_index, row.error_code, row.committed_offset) for topic in answer.topics for row in topic.partitions)

    def member(self, instance: str | None = None) -> str:
        """Create a Stable group of generation 1 with one member and return the member id."""
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
        asked = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=protocols,
        )
        ticket = self.send(11, 5 if instance else 3, asked, connection=None)
        self.sleep(3_000)
        member_id = str(self.answers[ticket].member_id)
        self.ask(14, 3, SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, group_instance_id=instance))
        return member_id

    def group_state(self) -> tuple[str, str]:
        row = self.ask(15, 1, DescribeGroupsRequest(groups=["g"])).groups[0]
        return row.group_state, row.protocol_type

    def ask_partition(self, partition: int) -> Any:
        """Return the answer to a read_committed Fetch of the whole partition."""
        asked = fetch_request(("t", partition, 0), isolation_level=1, max_bytes=1 << 30, session_epoch=-1)
        return self.ask(1, 11, asked).responses[0].partitions[0]
