"""Metadata (key 3) has versions 0-13, flexible from 9.

v1 racks, the controller, internal topics; null asks for all topics. v2 cluster id (KIP-78). v3 throttle time. v4
auto-creation can be declined (KAFKA-5291). v5 offline replicas (KIP-112). v6 answered before the throttled channel is muted
(KIP-219). v7 leader epochs (KIP-320). v8 authorized operations (KIP-430); v11 moves those of the cluster to DescribeCluster
(KIP-700). v9 flexible. v10 topic ids in answers, v12 in requests (KIP-516). v13 an error for the whole answer (KIP-1102).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import METADATA
from ..declare import (
    BOOLEAN,
    IGNORABLE,
    INT16,
    INT32,
    STRING,
    UUID,
    ZERO_UUID,
    ApiDeclaration,
    Message,
    Versions,
    array,
    nullable,
    since,
    until,
)


class MetadataRequestTopic(Message):
    topic_id: Annotated[bytes, UUID, since(10), IGNORABLE] = ZERO_UUID
    name: Annotated[str | None, STRING, nullable(10)] = ""


class MetadataRequest(Message):
    topics: Annotated[list[MetadataRequestTopic] | None, array(MetadataRequestTopic), nullable(1)] = []
    allow_auto_topic_creation: Annotated[bool, BOOLEAN, since(4)] = True
    include_cluster_authorized_operations: Annotated[bool, BOOLEAN, since(8), until(10)] = False
    include_topic_authorized_operations: Annotated[bool, BOOLEAN, since(8)] = False


class MetadataResponseBroker(Message):
    node_id: Annotated[int, INT32] = 0
    host: Annotated[str, STRING] = ""
    port: Annotated[int, INT32] = 0
    rack: Annotated[str | None, STRING, nullable(1), since(1), IGNORABLE] = None


class MetadataResponsePartition(Message):
    error_code: Annotated[int, INT16] = 0
    partition_index: Annotated[int, INT32] = 0
    leader_id: Annotated[int, INT32] = 0
    leader_epoch: Annotated[int, INT32, since(7), IGNORABLE] = -1
    replica_nodes: Annotated[list[int], array(INT32)] = []
    isr_nodes: Annotated[list[int], array(INT32)] = []
    offline_replicas: Annotated[list[int], array(INT32), since(5), IGNORABLE] = []


class MetadataResponseTopic(Message):
    error_code: Annotated[int, INT16] = 0
    name: Annotated[str | None, STRING, nullable(12)] = ""
    topic_id: Annotated[bytes, UUID, since(10), IGNORABLE] = ZERO_UUID
    is_internal: Annotated[bool, BOOLEAN, since(1), IGNORABLE] = False
    partitions: Annotated[list[MetadataResponsePartition], array(MetadataResponsePartition)] = []
    topic_authorized_operations: Annotated[int, INT32, since(8)] = -2147483648


class MetadataResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(3), IGNORABLE] = 0
    brokers: Annotated[list[MetadataResponseBroker], array(MetadataResponseBroker)] = []
    cluster_id: Annotated[str | None, STRING, nullable(2), since(2), IGNORABLE] = None
    controller_id: Annotated[int, INT32, since(1), IGNORABLE] = -1
    topics: Annotated[list[MetadataResponseTopic], array(MetadataResponseTopic)] = []
    cluster_authorized_operations: Annotated[int, INT32, since(8), until(10)] = -2147483648
    error_code: Annotated[int, INT16, since(13), IGNORABLE] = 0


API = ApiDeclaration(METADATA, "Metadata", Versions(0, 13), 9, MetadataRequest, MetadataResponse)
