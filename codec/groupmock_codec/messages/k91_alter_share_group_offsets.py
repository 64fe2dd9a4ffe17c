"""AlterShareGroupOffsets (key 91) has version 0, flexible from 0.

v0 new (KIP-932).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ALTER_SHARE_GROUP_OFFSETS
from ..declare import INT16, INT32, INT64, STRING, UUID, ZERO_UUID, ApiDeclaration, Message, Versions, array, nullable


class AlterShareGroupOffsetsRequestPartition(Message):
    partition_index: Annotated[int, INT32] = 0
    start_offset: Annotated[int, INT64] = 0


class AlterShareGroupOffsetsRequestTopic(Message):
    topic_name: Annotated[str, STRING] = ""
    partitions: Annotated[list[AlterShareGroupOffsetsRequestPartition], array(AlterShareGroupOffsetsRequestPartition)] = []


class AlterShareGroupOffsetsRequest(Message):
    group_id: Annotated[str, STRING] = ""
    topics: Annotated[list[AlterShareGroupOffsetsRequestTopic], array(AlterShareGroupOffsetsRequestTopic)] = []


class AlterShareGroupOffsetsResponsePartition(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None


class AlterShareGroupOffsetsResponseTopic(Message):
    topic_name: Annotated[str, STRING] = ""
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    partitions: Annotated[list[AlterShareGroupOffsetsResponsePartition], array(AlterShareGroupOffsetsResponsePartition)] = []


class AlterShareGroupOffsetsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    responses: Annotated[list[AlterShareGroupOffsetsResponseTopic], array(AlterShareGroupOffsetsResponseTopic)] = []


API = ApiDeclaration(
    ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets", Versions(0, 0), 0, AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse
)
