"""DeleteShareGroupOffsets (key 92) has version 0, flexible from 0.

v0 new (KIP-932).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DELETE_SHARE_GROUP_OFFSETS
from ..declare import INT16, INT32, STRING, UUID, ZERO_UUID, ApiDeclaration, Message, Versions, array, nullable


class DeleteShareGroupOffsetsRequestTopic(Message):
    topic_name: Annotated[str, STRING] = ""


class DeleteShareGroupOffsetsRequest(Message):
    group_id: Annotated[str, STRING] = ""
    topics: Annotated[list[DeleteShareGroupOffsetsRequestTopic], array(DeleteShareGroupOffsetsRequestTopic)] = []


class DeleteShareGroupOffsetsResponseTopic(Message):
    topic_name: Annotated[str, STRING] = ""
    topic_id: Annotated[bytes, UUID] = ZERO_UUID
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None


class DeleteShareGroupOffsetsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None
    responses: Annotated[list[DeleteShareGroupOffsetsResponseTopic], array(DeleteShareGroupOffsetsResponseTopic)] = []


API = ApiDeclaration(
    DELETE_SHARE_GROUP_OFFSETS,
    "DeleteShareGroupOffsets",
    Versions(0, 0),
    0,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)
