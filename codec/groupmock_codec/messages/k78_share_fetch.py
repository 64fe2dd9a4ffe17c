"""ShareFetch (key 78) has versions 1-2, flexible from 1.

v0 was the early access of Kafka 4.0 and is gone. v1 new (KIP-932): it fetches and acknowledges records in a share session. v2 acquire mode
(KIP-1206), renewing acknowledgements (KIP-1222). Records may not be null, so that no records are empty bytes.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import SHARE_FETCH
from ..declare import (
    BOOLEAN,
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
)


class AcknowledgementBatch(Message):
    first_offset: Annotated[int, INT64] = 0
    last_offset: Annotated[int, INT64] = 0
    acknowledge_types: Annotated[list[int], array(INT8)] = []


class FetchPartition(Message):
    partition_index: Annotated[int, INT32] = 0
    acknowledgement_batches: Annotated[list[AcknowledgementBatch], array(AcknowledgementBatch)] = []


class FetchTopic(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[FetchPartition], array(FetchPartition)] = []


class ForgottenTopic(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[int], array(INT32)] = []


class ShareFetchRequest(Message):
    group_id: Annotated[str | None, STRING, nullable()] = None
    member_id: Annotated[str | None, STRING, nullable()] = ""
    share_session_epoch: Annotated[int, INT32] = 0
    max_wait_ms: Annotated[int, INT32] = 0
    min_bytes: Annotated[int, INT32] = 0
    max_bytes: Annotated[int, INT32] = 0x7FFFFFFF
    max_records: Annotated[int, INT32] = 0
    batch_size: Annotated[int, INT32] = 0
    share_acquire_mode: Annotated[int, INT8, since(2), IGNORABLE] = 0
    is_renew_ack: Annotated[bool, BOOLEAN, since(2)] = False
    topics: Annotated[list[FetchTopic], array(FetchTopic)] = []
    forgotten_topics_data: Annotated[list[ForgottenTopic], array(ForgottenTopic)] = []


class LeaderIdAndEpoch(FrozenMessage, frozen=True):  # type: ignore[misc]  # see FrozenMessage
    leader_id: Annotated[int, INT32] = 0
    leader_epoch: Annotated[int, INT32] = 0


class AcquiredRecords(Message):
    first_offset: Annotated[int, INT64] = 0
    last_offset: Annotated[int, INT64] = 0
    delivery_count: Annotated[int, INT16] = 0


class PartitionData(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    acknowledge_error_code: Annotated[int, INT16] = 0
    acknowledge_error_message: Annotated[str | None, STRING, nullable()] = None
    current_leader: Annotated[LeaderIdAndEpoch, struct(LeaderIdAndEpoch)] = LeaderIdAndEpoch()
    records: Annotated[bytes, RECORDS] = b""
    acquired_records: Annotated[list[AcquiredRecords], array(AcquiredRecords)] = []


class ShareFetchableTopicResponse(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[PartitionData], array(PartitionData)] = []


class NodeEndpoint(Message):
    node_id: Annotated[int, INT32] = 0
    host: Annotated[str, STRING] = ""
    port: Annotated[int, INT32] = 0
    rack: Annotated[str | None, STRING, nullable()] = None


class ShareFetchResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    acquisition_lock_timeout_ms: Annotated[int, INT32] = 0
    responses: Annotated[list[ShareFetchableTopicResponse], array(ShareFetchableTopicResponse)] = []
    node_endpoints: Annotated[list[NodeEndpoint], array(NodeEndpoint)] = []


API = ApiDeclaration(SHARE_FETCH, "ShareFetch", Versions(1, 2), 1, ShareFetchRequest, ShareFetchResponse)
