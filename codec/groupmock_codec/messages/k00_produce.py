"""Produce (key 0) has versions 0-13, flexible from 9.

v3 transactional id, record batches v2 (KIP-98). Before it: message sets, which Kafka 4 refuses though it still lists v0-2
(KAFKA-18659). v5 log start offset in the answer. v7 zstd may be used (KIP-110). v8 which records were bad, and why
(KIP-467). v9 flexible (KIP-482). v10 tagged: the current leader and its address (KIP-951). v11 error 120 may come; v12 adds
partitions to the transaction by itself (KIP-890). v13 topic ids in the place of names (KIP-516). In the answer: v1 throttle
time, v2 log append time.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import PRODUCE
from ..declare import (
    IGNORABLE,
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


class PartitionProduceData(Message):
    index: Annotated[int, INT32] = 0
    records: Annotated[bytes | None, RECORDS, nullable()] = None


class TopicProduceData(Message):
    name: Annotated[str, STRING, until(12), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(13), IGNORABLE] = ZERO_UUID
    partition_data: Annotated[list[PartitionProduceData], array(PartitionProduceData)] = []


class ProduceRequest(Message):
    transactional_id: Annotated[str | None, STRING, nullable(3), since(3)] = None
    acks: Annotated[int, INT16] = 0
    timeout_ms: Annotated[int, INT32] = 0
    topic_data: Annotated[list[TopicProduceData], array(TopicProduceData)] = []


class BatchIndexAndErrorMessage(Message):
    batch_index: Annotated[int, INT32, since(8)] = 0
    batch_index_error_message: Annotated[str | None, STRING, nullable(8), since(8)] = None


class LeaderIdAndEpoch(FrozenMessage, frozen=True):  # type: ignore[misc]  # see FrozenMessage
    leader_id: Annotated[int, INT32, since(10)] = -1
    leader_epoch: Annotated[int, INT32, since(10)] = -1


class PartitionProduceResponse(Message):
    index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    base_offset: Annotated[int, INT64] = 0
    log_append_time_ms: Annotated[int, INT64, since(2), IGNORABLE] = -1
    log_start_offset: Annotated[int, INT64, since(5), IGNORABLE] = -1
    record_errors: Annotated[list[BatchIndexAndErrorMessage], array(BatchIndexAndErrorMessage), since(8), IGNORABLE] = []
    error_message: Annotated[str | None, STRING, nullable(8), since(8), IGNORABLE] = None
    current_leader: Annotated[LeaderIdAndEpoch, struct(LeaderIdAndEpoch), since(10), tag(0)] = LeaderIdAndEpoch()


class TopicProduceResponse(Message):
    name: Annotated[str, STRING, until(12), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(13), IGNORABLE] = ZERO_UUID
    partition_responses: Annotated[list[PartitionProduceResponse], array(PartitionProduceResponse)] = []


class NodeEndpoint(Message):
    node_id: Annotated[int, INT32, since(10)] = 0
    host: Annotated[str, STRING, since(10)] = ""
    port: Annotated[int, INT32, since(10)] = 0
    rack: Annotated[str | None, STRING, nullable(10), since(10)] = None


class ProduceResponse(Message):
    responses: Annotated[list[TopicProduceResponse], array(TopicProduceResponse)] = []
    throttle_time_ms: Annotated[int, INT32, since(1), IGNORABLE] = 0
    node_endpoints: Annotated[list[NodeEndpoint], array(NodeEndpoint), since(10), tag(0)] = []


API = ApiDeclaration(PRODUCE, "Produce", Versions(0, 13), 9, ProduceRequest, ProduceResponse)
