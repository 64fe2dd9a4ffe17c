"""ShareGroupDescribe (key 77) has version 1, flexible from 1.

v0 was the early access of Kafka 4.0 and is gone. v1 new (KIP-932).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..api_keys import SHARE_GROUP_DESCRIBE
from ..declare import (
    BOOLEAN,
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
    struct,
)


class ShareGroupDescribeRequest(Message):
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
    rack_id: Annotated[str | None, STRING, nullable()] = None
    member_epoch: Annotated[int, INT32] = 0
    client_id: Annotated[str, STRING] = ""
    client_host: Annotated[str, STRING] = ""
    subscribed_topic_names: Annotated[list[str], array(STRING)] = []
    assignment: Annotated[Assignment, struct(Assignment)] = msgspec.field(default_factory=Assignment)


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


class ShareGroupDescribeResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    groups: Annotated[list[DescribedGroup], array(DescribedGroup)] = []


API = ApiDeclaration(SHARE_GROUP_DESCRIBE, "ShareGroupDescribe", Versions(1, 1), 1, ShareGroupDescribeRequest, ShareGroupDescribeResponse)
