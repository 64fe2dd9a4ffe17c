"""DescribeQuorum (key 55) has versions 0-2, flexible from 0.

v0 new (KIP-595). v1 when a replica fetched last (KIP-836). v2 directories, nodes and texts of errors (KIP-853).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_QUORUM
from ..declare import (
    IGNORABLE,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    ZERO_UUID,
    ApiDeclaration,
    Message,
    Versions,
    array,
    nullable,
    since,
)


class QuorumPartition(Message):
    partition_index: Annotated[int, INT32] = 0


class QuorumTopic(Message):
    topic_name: Annotated[str, STRING] = ""
    partitions: Annotated[list[QuorumPartition], array(QuorumPartition)] = []


class DescribeQuorumRequest(Message):
    topics: Annotated[list[QuorumTopic], array(QuorumTopic)] = []


class ReplicaState(Message):
    replica_id: Annotated[int, INT32] = 0
    replica_directory_id: Annotated[bytes, UUID, since(2)] = ZERO_UUID
    log_end_offset: Annotated[int, INT64] = 0
    last_fetch_timestamp: Annotated[int, INT64, since(1), IGNORABLE] = -1
    last_caught_up_timestamp: Annotated[int, INT64, since(1), IGNORABLE] = -1


class QuorumPartitionResponse(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable(2), since(2), IGNORABLE] = ""
    leader_id: Annotated[int, INT32] = 0
    leader_epoch: Annotated[int, INT32] = 0
    high_watermark: Annotated[int, INT64] = 0
    current_voters: Annotated[list[ReplicaState], array(ReplicaState)] = []
    observers: Annotated[list[ReplicaState], array(ReplicaState)] = []


class QuorumTopicResponse(Message):
    topic_name: Annotated[str, STRING] = ""
    partitions: Annotated[list[QuorumPartitionResponse], array(QuorumPartitionResponse)] = []


class QuorumListener(Message):
    name: Annotated[str, STRING] = ""
    host: Annotated[str, STRING] = ""
    port: Annotated[int, UINT16] = 0


class QuorumNode(Message):
    node_id: Annotated[int, INT32] = 0
    listeners: Annotated[list[QuorumListener], array(QuorumListener)] = []


class DescribeQuorumResponse(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable(2), since(2), IGNORABLE] = ""
    topics: Annotated[list[QuorumTopicResponse], array(QuorumTopicResponse)] = []
    nodes: Annotated[list[QuorumNode], array(QuorumNode), since(2)] = []


API = ApiDeclaration(DESCRIBE_QUORUM, "DescribeQuorum", Versions(0, 2), 0, DescribeQuorumRequest, DescribeQuorumResponse)
