"""StreamsGroupDescribe (key 89) has versions 0-1, flexible from 0.

v0 new (KIP-1071). v1 description of the topology (KIP-1331), name of the assignor (KIP-1357).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..api_keys import STREAMS_GROUP_DESCRIBE
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
)


class StreamsGroupDescribeRequest(Message):
    group_ids: Annotated[list[str], array(STRING)] = []
    include_authorized_operations: Annotated[bool, BOOLEAN] = False
    include_topology_description: Annotated[bool, BOOLEAN, since(1)] = False


class KeyValue(Message):
    key: Annotated[str, STRING] = ""
    value: Annotated[str, STRING] = ""


class TopicInfo(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[int, INT32] = 0
    replication_factor: Annotated[int, INT16] = 0
    topic_configs: Annotated[list[KeyValue], array(KeyValue)] = []


class Subtopology(Message):
    subtopology_id: Annotated[str, STRING] = ""
    source_topics: Annotated[list[str], array(STRING)] = []
    repartition_sink_topics: Annotated[list[str], array(STRING)] = []
    state_changelog_topics: Annotated[list[TopicInfo], array(TopicInfo)] = []
    repartition_source_topics: Annotated[list[TopicInfo], array(TopicInfo)] = []


class Topology(Message):
    epoch: Annotated[int, INT32] = 0
    subtopologies: Annotated[list[Subtopology] | None, array(Subtopology), nullable()] = None


class Endpoint(Message):
    host: Annotated[str, STRING] = ""
    port: Annotated[int, UINT16] = 0


class TaskOffset(Message):
    subtopology_id: Annotated[str, STRING] = ""
    partition: Annotated[int, INT32] = 0
    offset: Annotated[int, INT64] = 0


class TaskIds(Message):
    subtopology_id: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class Assignment(Message):
    active_tasks: Annotated[list[TaskIds], array(TaskIds)] = []
    standby_tasks: Annotated[list[TaskIds], array(TaskIds)] = []
    warmup_tasks: Annotated[list[TaskIds], array(TaskIds)] = []


class Member(Message):
    member_id: Annotated[str, STRING] = ""
    member_epoch: Annotated[int, INT32] = 0
    instance_id: Annotated[str | None, STRING, nullable()] = None
    rack_id: Annotated[str | None, STRING, nullable()] = None
    client_id: Annotated[str, STRING] = ""
    client_host: Annotated[str, STRING] = ""
    topology_epoch: Annotated[int, INT32] = 0
    process_id: Annotated[str, STRING] = ""
    user_endpoint: Annotated[Endpoint | None, struct(Endpoint), nullable()] = None
    client_tags: Annotated[list[KeyValue], array(KeyValue)] = []
    task_offsets: Annotated[list[TaskOffset], array(TaskOffset)] = []
    task_end_offsets: Annotated[list[TaskOffset], array(TaskOffset)] = []
    assignment: Annotated[Assignment, struct(Assignment)] = msgspec.field(default_factory=Assignment)
    target_assignment: Annotated[Assignment, struct(Assignment)] = msgspec.field(default_factory=Assignment)
    is_classic: Annotated[bool, BOOLEAN] = False


class TopologyDescriptionNode(Message):
    name: Annotated[str, STRING, since(1)] = ""
    node_type: Annotated[int, INT8, since(1)] = 0
    source_topics: Annotated[list[str], array(STRING), since(1)] = []
    sink_topic: Annotated[str | None, STRING, nullable(1), since(1)] = None
    stores: Annotated[list[str], array(STRING), since(1)] = []
    successors: Annotated[list[str], array(STRING), since(1)] = []


class TopologyDescriptionSubtopology(Message):
    subtopology_id: Annotated[str, STRING, since(1)] = ""
    nodes: Annotated[list[TopologyDescriptionNode], array(TopologyDescriptionNode), since(1)] = []


class TopologyDescriptionGlobalStore(Message):
    source: Annotated[TopologyDescriptionNode, struct(TopologyDescriptionNode), since(1)] = msgspec.field(
        default_factory=TopologyDescriptionNode
    )
    processor: Annotated[TopologyDescriptionNode, struct(TopologyDescriptionNode), since(1)] = msgspec.field(
        default_factory=TopologyDescriptionNode
    )


class TopologyDescription(Message):
    subtopologies: Annotated[list[TopologyDescriptionSubtopology], array(TopologyDescriptionSubtopology), since(1)] = []
    global_stores: Annotated[list[TopologyDescriptionGlobalStore], array(TopologyDescriptionGlobalStore), since(1)] = []


class DescribedGroup(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    group_id: Annotated[str, STRING] = ""
    group_state: Annotated[str, STRING] = ""
    group_epoch: Annotated[int, INT32] = 0
    assignment_epoch: Annotated[int, INT32] = 0
    topology: Annotated[Topology | None, struct(Topology), nullable()] = None
    members: Annotated[list[Member], array(Member)] = []
    authorized_operations: Annotated[int, INT32] = -2147483648
    topology_description: Annotated[TopologyDescription | None, struct(TopologyDescription), nullable(1), since(1)] = None
    topology_description_status: Annotated[int, INT8, since(1)] = 0
    assignor_name: Annotated[str | None, STRING, nullable(1), since(1), IGNORABLE] = None


class StreamsGroupDescribeResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    groups: Annotated[list[DescribedGroup], array(DescribedGroup)] = []


API = ApiDeclaration(
    STREAMS_GROUP_DESCRIBE, "StreamsGroupDescribe", Versions(0, 1), 0, StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
)
