"""DescribeTopicPartitions (key 75) has version 0, flexible from 0.

New in 3.7 (KIP-966): topics page by page, with their eligible leader replicas.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_TOPIC_PARTITIONS
from ..declare import BOOLEAN, IGNORABLE, INT16, INT32, STRING, UUID, ZERO_UUID, ApiDeclaration, Message, Versions, array, nullable, struct


class TopicRequest(Message):
    name: Annotated[str, STRING] = ""


class Cursor(Message):
    topic_name: Annotated[str, STRING] = ""
    partition_index: Annotated[int, INT32] = 0


class DescribeTopicPartitionsRequest(Message):
    topics: Annotated[list[TopicRequest], array(TopicRequest)] = []
    response_partition_limit: Annotated[int, INT32] = 2000
    cursor: Annotated[Cursor | None, struct(Cursor), nullable()] = None


class DescribeTopicPartitionsResponsePartition(Message):
    error_code: Annotated[int, INT16] = 0
    partition_index: Annotated[int, INT32] = 0
    leader_id: Annotated[int, INT32] = 0
    leader_epoch: Annotated[int, INT32, IGNORABLE] = -1
    replica_nodes: Annotated[list[int], array(INT32)] = []
    isr_nodes: Annotated[list[int], array(INT32)] = []
    eligible_leader_replicas: Annotated[list[int] | None, array(INT32), nullable()] = None
    last_known_elr: Annotated[list[int] | None, array(INT32), nullable()] = None
    offline_replicas: Annotated[list[int], array(INT32), IGNORABLE] = []


class DescribeTopicPartitionsResponseTopic(Message):
    error_code: Annotated[int, INT16] = 0
    name: Annotated[str | None, STRING, nullable()] = ""
    topic_id: Annotated[bytes, UUID, IGNORABLE] = ZERO_UUID
    is_internal: Annotated[bool, BOOLEAN, IGNORABLE] = False
    partitions: Annotated[list[DescribeTopicPartitionsResponsePartition], array(DescribeTopicPartitionsResponsePartition)] = []
    topic_authorized_operations: Annotated[int, INT32] = -2147483648


class DescribeTopicPartitionsResponse(Message):
    throttle_time_ms: Annotated[int, INT32, IGNORABLE] = 0
    topics: Annotated[list[DescribeTopicPartitionsResponseTopic], array(DescribeTopicPartitionsResponseTopic)] = []
    next_cursor: Annotated[Cursor | None, struct(Cursor), nullable()] = None


API = ApiDeclaration(
    DESCRIBE_TOPIC_PARTITIONS, "DescribeTopicPartitions", Versions(0, 0), 0, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
)
