"""Fetch (key 1) has versions 0-18, flexible from 12.

v1 throttle time. v2 message sets of magic 1, v4 record batches v2 and isolation level (KIP-98). v3 a limit in bytes for the
whole answer (KIP-74). v5 log start offset (KIP-107). v7 incremental sessions (KIP-227). v8 answered before the throttled
channel is muted (KIP-219). v9 leader epoch (KIP-320). v10 zstd (KIP-110). v11 rack of the consumer, preferred replica in the
answer (KIP-392). v12 flexible; diverging epochs (KIP-595). v13 topic ids for names (KIP-516). v14 error 109, offset moved to
tiered storage (KIP-405). v15 state of the replica, tagged (KIP-903). v16 addresses of new leaders (KIP-951). v17 directory
id of the replica (KIP-853). v18 its high watermark (KIP-1166).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import FETCH
from ..declare import (
    IGNORABLE,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UUID,
    ZERO_UUID,
    ApiDeclaration,
    FrozenMessage,
    Message,
    Versions,
    array,
    nullable,
    since,
    struct,
    tag,
    until,
)


class ReplicaState(FrozenMessage, frozen=True):  # type: ignore[misc]  # see FrozenMessage
    replica_id: Annotated[int, INT32, since(15)] = -1
    replica_epoch: Annotated[int, INT64, since(15)] = -1


class FetchPartition(Message):
    partition: Annotated[int, INT32] = 0
    current_leader_epoch: Annotated[int, INT32, since(9), IGNORABLE] = -1
    fetch_offset: Annotated[int, INT64] = 0
    last_fetched_epoch: Annotated[int, INT32, since(12)] = -1
    log_start_offset: Annotated[int, INT64, since(5), IGNORABLE] = -1
    partition_max_bytes: Annotated[int, INT32] = 0
    replica_directory_id: Annotated[bytes, UUID, since(17), tag(0), IGNORABLE] = ZERO_UUID
    high_watermark: Annotated[int, INT64, since(18), tag(1), IGNORABLE] = 9223372036854775807


class FetchTopic(Message):
    topic: Annotated[str, STRING, until(12), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(13), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[FetchPartition], array(FetchPartition)] = []


class ForgottenTopic(Message):
    topic: Annotated[str, STRING, since(7), until(12), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(13), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[int], array(INT32), since(7)] = []


class FetchRequest(Message):
    cluster_id: Annotated[str | None, STRING, nullable(12), since(12), tag(0), IGNORABLE] = None
    replica_id: Annotated[int, INT32, until(14)] = -1
    replica_state: Annotated[ReplicaState, struct(ReplicaState), since(15), tag(1)] = ReplicaState()
    max_wait_ms: Annotated[int, INT32] = 0
    min_bytes: Annotated[int, INT32] = 0
    max_bytes: Annotated[int, INT32, since(3), IGNORABLE] = 0x7FFFFFFF
    isolation_level: Annotated[int, INT8, since(4), IGNORABLE] = 0
    session_id: Annotated[int, INT32, since(7), IGNORABLE] = 0
    session_epoch: Annotated[int, INT32, since(7), IGNORABLE] = -1
    topics: Annotated[list[FetchTopic], array(FetchTopic)] = []
    forgotten_topics_data: Annotated[list[ForgottenTopic], array(ForgottenTopic), since(7)] = []
    rack_id: Annotated[str, STRING, since(11), IGNORABLE] = ""


class EpochEndOffset(FrozenMessage, frozen=True):  # type: ignore[misc]  # see FrozenMessage
    epoch: Annotated[int, INT32, since(12)] = -1
    end_offset: Annotated[int, INT64, since(12)] = -1


class LeaderIdAndEpoch(FrozenMessage, frozen=True):  # type: ignore[misc]  # see FrozenMessage
    leader_id: Annotated[int, INT32, since(12)] = -1
    leader_epoch: Annotated[int, INT32, since(12)] = -1


class SnapshotId(FrozenMessage, frozen=True):  # type: ignore[misc]  # see FrozenMessage
    end_offset: Annotated[int, INT64] = -1
    epoch: Annotated[int, INT32] = -1


class AbortedTransaction(Message):
    producer_id: Annotated[int, INT64, since(4)] = 0
    first_offset: Annotated[int, INT64, since(4)] = 0


class PartitionData(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    high_watermark: Annotated[int, INT64] = 0
    last_stable_offset: Annotated[int, INT64, since(4), IGNORABLE] = -1
    log_start_offset: Annotated[int, INT64, since(5), IGNORABLE] = -1
    diverging_epoch: Annotated[EpochEndOffset, struct(EpochEndOffset), since(12), tag(0)] = EpochEndOffset()
    current_leader: Annotated[LeaderIdAndEpoch, struct(LeaderIdAndEpoch), since(12), tag(1)] = LeaderIdAndEpoch()
    snapshot_id: Annotated[SnapshotId, struct(SnapshotId), since(12), tag(2)] = SnapshotId()
    aborted_transactions: Annotated[list[AbortedTransaction] | None, array(AbortedTransaction), nullable(4), since(4), IGNORABLE] = []
    preferred_read_replica: Annotated[int, INT32, since(11)] = -1
    records: Annotated[bytes | None, RECORDS, nullable()] = None


class FetchableTopicResponse(Message):
    topic: Annotated[str, STRING, until(12), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(13), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[PartitionData], array(PartitionData)] = []


class NodeEndpoint(Message):
    node_id: Annotated[int, INT32, since(16)] = 0
    host: Annotated[str, STRING, since(16)] = ""
    port: Annotated[int, INT32, since(16)] = 0
    rack: Annotated[str | None, STRING, nullable(16), since(16)] = None


class FetchResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    error_code: Annotated[int, INT16, since(7), IGNORABLE] = 0
    session_id: Annotated[int, INT32, since(7)] = 0
    responses: Annotated[list[FetchableTopicResponse], array(FetchableTopicResponse)] = []
    node_endpoints: Annotated[list[NodeEndpoint], array(NodeEndpoint), since(16), tag(0)] = []


API = ApiDeclaration(FETCH, "Fetch", Versions(0, 18), 12, FetchRequest, FetchResponse)
