"""DescribeShareGroupOffsets (key 90) has versions 0-1, flexible from 0.

v0 new (KIP-932). v1 the lag of each partition (KIP-1226). Topics that are null mean: all topics of the group.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DESCRIBE_SHARE_GROUP_OFFSETS
from ..declare import IGNORABLE, INT16, INT32, INT64, STRING, UUID, ZERO_UUID, ApiDeclaration, Message, Versions, array, nullable, since


class DescribeShareGroupOffsetsRequestTopic(Message):
    topic_name: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class DescribeShareGroupOffsetsRequestGroup(Message):
    group_id: Annotated[str, STRING] = ""
    topics: Annotated[list[DescribeShareGroupOffsetsRequestTopic] | None, array(DescribeShareGroupOffsetsRequestTopic), nullable()] = []


class DescribeShareGroupOffsetsRequest(Message):
    groups: Annotated[list[DescribeShareGroupOffsetsRequestGroup], array(DescribeShareGroupOffsetsRequestGroup)] = []


class DescribeShareGroupOffsetsResponsePartition(Message):
    partition_index: Annotated[int, INT32] = 0
    start_offset: Annotated[int, INT64] = 0
    leader_epoch: Annotated[int, INT32] = 0
    lag: Annotated[int, INT64, since(1), IGNORABLE] = -1
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None


class DescribeShareGroupOffsetsResponseTopic(Message):
    topic_name: Annotated[str, STRING] = ""
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[DescribeShareGroupOffsetsResponsePartition], array(DescribeShareGroupOffsetsResponsePartition)] = []


class DescribeShareGroupOffsetsResponseGroup(Message):
    group_id: Annotated[str, STRING] = ""
    topics: Annotated[list[DescribeShareGroupOffsetsResponseTopic], array(DescribeShareGroupOffsetsResponseTopic)] = []
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None


class DescribeShareGroupOffsetsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    groups: Annotated[list[DescribeShareGroupOffsetsResponseGroup], array(DescribeShareGroupOffsetsResponseGroup)] = []


API = ApiDeclaration(
    DESCRIBE_SHARE_GROUP_OFFSETS,
    "DescribeShareGroupOffsets",
    Versions(0, 1),
    0,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
)
