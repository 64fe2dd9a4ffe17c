"""ConsumerGroupDescribe (key 69) has versions 0-1, flexible from 0.

v0 new (KIP-848). v1 member_type: -1 unknown, 0 classic, 1 consumer (KIP-1099).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..api_keys import CONSUMER_GROUP_DESCRIBE
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
    struct,
)


class ConsumerGroupDescribeRequest(Message):
    group_ids: Annotated[list[str], array(STRING)] = []
    include_authorized_operations: Annotated[bool, BOOLEAN] = False


class TopicPartitions(Message):
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    topic_name: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class Assignment(Message):
    topic_partitions: Annotated[list[TopicPartitions], array(TopicPartitions)] = []


class Member(Message):
    member_id: Annotated[str, STRING] = ""
    instance_id: Annotated[str | None, STRING, nullable()] = None
    rack_id: Annotated[str | None, STRING, nullable()] = None
    member_epoch: Annotated[int, INT32] = 0
    client_id: Annotated[str, STRING] = ""
    client_host: Annotated[str, STRING] = ""
    subscribed_topic_names: Annotated[list[str], array(STRING)] = []
    subscribed_topic_regex: Annotated[str | None, STRING, nullable()] = None
    assignment: Annotated[Assignment, struct(Assignment)] = msgspec.field(default_factory=Assignment)
    target_assignment: Annotated[Assignment, struct(Assignment)] = msgspec.field(default_factory=Assignment)
    member_type: Annotated[int, INT8, since(1), IGNORABLE] = -1


class DescribedGroup(Message):
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    group_id: Annotated[str, STRING] = ""
    group_state: Annotated[str, STRING] = ""
    group_epoch: Annotated[int, INT32] = 0
    assignment_epoch: Annotated[int, INT32] = 0
    assignor_name: Annotated[str, STRING] = ""
    members: Annotated[list[Member], array(Member)] = []
    authorized_operations: Annotated[int, INT32] = -2147483648


class ConsumerGroupDescribeResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    groups: Annotated[list[DescribedGroup], array(DescribedGroup)] = []


API = ApiDeclaration(
    CONSUMER_GROUP_DESCRIBE, "ConsumerGroupDescribe", Versions(0, 1), 0, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
)
