"""CreateTopics (key 19) has versions 0-7, flexible from 5.

v1 validate_only; a message per topic. v2 throttle time, v3 answered before the throttled channel is muted (KIP-219). v4 -1
partitions or replicas: the broker's default (KIP-464). v5 flexible; the new topic's settings in the answer (KIP-525). v6
error 89 when throttled (KIP-599). v7 the new topic's id (KIP-516).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import CREATE_TOPICS
from ..declare import (
    BOOLEAN,
    IGNORABLE,
    INT8,
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
    tag,
)


class CreatableReplicaAssignment(Message):
    partition_index: Annotated[int, INT32] = 0
    broker_ids: Annotated[list[int], array(INT32)] = []


class CreatableTopicConfig(Message):
    name: Annotated[str, STRING] = ""
    value: Annotated[str | None, STRING, nullable()] = ""


class CreatableTopic(Message):
    name: Annotated[str, STRING] = ""
    num_partitions: Annotated[int, INT32] = 0
    replication_factor: Annotated[int, INT16] = 0
    assignments: Annotated[list[CreatableReplicaAssignment], array(CreatableReplicaAssignment)] = []
    configs: Annotated[list[CreatableTopicConfig], array(CreatableTopicConfig)] = []


class CreateTopicsRequest(Message):
    topics: Annotated[list[CreatableTopic], array(CreatableTopic)] = []
    timeout_ms: Annotated[int, INT32] = 60000
    validate_only: Annotated[bool, BOOLEAN, since(1)] = False


class CreatableTopicConfigs(Message):
    name: Annotated[str, STRING, since(5)] = ""
    value: Annotated[str | None, STRING, nullable(5), since(5)] = ""
    read_only: Annotated[bool, BOOLEAN, since(5)] = False
    config_source: Annotated[int, INT8, since(5), IGNORABLE] = -1
    is_sensitive: Annotated[bool, BOOLEAN, since(5)] = False


class CreatableTopicResult(Message):
    name: Annotated[str, STRING] = ""
    topic_id: Annotated[bytes, UUID, since(7), IGNORABLE] = ZERO_UUID
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable(), since(1), IGNORABLE] = ""
    topic_config_error_code: Annotated[int, INT16, since(5), tag(0), IGNORABLE] = 0
    num_partitions: Annotated[int, INT32, since(5), IGNORABLE] = -1
    replication_factor: Annotated[int, INT16, since(5), IGNORABLE] = -1
    configs: Annotated[list[CreatableTopicConfigs] | None, array(CreatableTopicConfigs), nullable(5), since(5), IGNORABLE] = []


class CreateTopicsResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(2), IGNORABLE] = 0
    topics: Annotated[list[CreatableTopicResult], array(CreatableTopicResult)] = []


API = ApiDeclaration(CREATE_TOPICS, "CreateTopics", Versions(0, 7), 5, CreateTopicsRequest, CreateTopicsResponse)
