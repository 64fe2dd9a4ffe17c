"""StreamsGroupHeartbeat (key 88) has versions 0-1, flexible from 0.

v0 new: the whole protocol of a streams group in one request (KIP-1071). v1 the broker asks for a description of the topology (KIP-1331),
the lag is 64 bits wide and status 6 may come (KAFKA-20744).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..api_keys import STREAMS_GROUP_HEARTBEAT
from ..declare import (
    BOOLEAN,
    IGNORABLE,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    ApiDeclaration,
    Message,
    Versions,
    array,
    nullable,
    since,
    struct,
    until,
)


class KeyValue(Message):
    key: Annotated[str, STRING] = ""
    value: Annotated[str, STRING] = ""


class TopicInfo(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[int, INT32] = 0
    replication_factor: Annotated[int, INT16] = 0
    topic_configs: Annotated[list[KeyValue], array(KeyValue)] = []


class CopartitionGroup(Message):
    source_topics: Annotated[list[int], array(INT16)] = []
    source_topic_regex: Annotated[list[int], array(INT16)] = []
    repartition_source_topics: Annotated[list[int], array(INT16)] = []


class Subtopology(Message):
    subtopology_id: Annotated[str, STRING] = ""
    source_topics: Annotated[list[str], array(STRING)] = []
    source_topic_regex: Annotated[list[str], array(STRING)] = []
    state_changelog_topics: Annotated[list[TopicInfo], array(TopicInfo)] = []
    repartition_sink_topics: Annotated[list[str], array(STRING)] = []
    repartition_source_topics: Annotated[list[TopicInfo], array(TopicInfo)] = []
    copartition_groups: Annotated[list[CopartitionGroup], array(CopartitionGroup)] = []


class Topology(Message):
    epoch: Annotated[int, INT32] = 0
    subtopologies: Annotated[list[Subtopology], array(Subtopology)] = []


class TaskIds(Message):
    subtopology_id: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class Endpoint(Message):
    host: Annotated[str, STRING] = ""
    port: Annotated[int, UINT16] = 0


class TaskOffset(Message):
    subtopology_id: Annotated[str, STRING] = ""
    partition: Annotated[int, INT32] = 0
    offset: Annotated[int, INT64] = 0


class StreamsGroupHeartbeatRequest(Message):
    group_id: Annotated[str, STRING] = ""
    member_id: Annotated[str, STRING] = ""
    member_epoch: Annotated[int, INT32] = 0
    endpoint_information_epoch: Annotated[int, INT32] = 0
    instance_id: Annotated[str | None, STRING, nullable()] = None
    rack_id: Annotated[str | None, STRING, nullable()] = None
    rebalance_timeout_ms: Annotated[int, INT32] = -1
    topology: Annotated[Topology | None, struct(Topology), nullable()] = None
    active_tasks: Annotated[list[TaskIds] | None, array(TaskIds), nullable()] = None
    standby_tasks: Annotated[list[TaskIds] | None, array(TaskIds), nullable()] = None
    warmup_tasks: Annotated[list[TaskIds] | None, array(TaskIds), nullable()] = None
    process_id: Annotated[str | None, STRING, nullable()] = None
    user_endpoint: Annotated[Endpoint | None, struct(Endpoint), nullable()] = None
    client_tags: Annotated[list[KeyValue] | None, array(KeyValue), nullable()] = None
    task_offsets: Annotated[list[TaskOffset] | None, array(TaskOffset), nullable()] = None
    task_end_offsets: Annotated[list[TaskOffset] | None, array(TaskOffset), nullable()] = None
    shutdown_application: Annotated[bool, BOOLEAN] = False


class Status(Message):
    status_code: Annotated[int, INT8] = 0
    status_detail: Annotated[str, STRING] = ""


class TopicPartition(Message):
    topic: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class EndpointToPartitions(Message):
    user_endpoint: Annotated[Endpoint, struct(Endpoint)] = msgspec.field(default_factory=Endpoint)
    active_partitions: Annotated[list[TopicPartition], array(TopicPartition)] = []
    standby_partitions: Annotated[list[TopicPartition], array(TopicPartition)] = []


class StreamsGroupHeartbeatResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    member_id: Annotated[str, STRING] = ""
    member_epoch: Annotated[int, INT32] = 0
    heartbeat_interval_ms: Annotated[int, INT32] = 0
    acceptable_recovery_lag_legacy: Annotated[int, INT32, until(0)] = 0
    task_offset_interval_ms: Annotated[int, INT32] = 0
    acceptable_recovery_lag: Annotated[int, INT64, since(1), IGNORABLE] = -1
    status: Annotated[list[Status] | None, array(Status), nullable()] = []
    active_tasks: Annotated[list[TaskIds] | None, array(TaskIds), nullable()] = None
    standby_tasks: Annotated[list[TaskIds] | None, array(TaskIds), nullable()] = None
    warmup_tasks: Annotated[list[TaskIds] | None, array(TaskIds), nullable()] = None
    topology_description_required: Annotated[bool, BOOLEAN, since(1)] = False
    endpoint_information_epoch: Annotated[int, INT32] = 0
    partitions_by_user_endpoint: Annotated[list[EndpointToPartitions] | None, array(EndpointToPartitions), nullable()] = None


API = ApiDeclaration(
    STREAMS_GROUP_HEARTBEAT, "StreamsGroupHeartbeat", Versions(0, 1), 0, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
)
