"""OffsetDelete (key 47) has version 0, never flexible.

New in 2.4 (KIP-496). The answer's error comes before its throttle time, unlike everywhere else.
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import OFFSET_DELETE
from ..declare import IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array


class OffsetDeleteRequestPartition(Message):
    partition_index: Annotated[int, INT32] = 0


class OffsetDeleteRequestTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[OffsetDeleteRequestPartition], array(OffsetDeleteRequestPartition)] = []


class OffsetDeleteRequest(Message):
    group_id: Annotated[str, STRING] = ""
    topics: Annotated[list[OffsetDeleteRequestTopic], array(OffsetDeleteRequestTopic)] = []


class OffsetDeleteResponsePartition(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0


class OffsetDeleteResponseTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[OffsetDeleteResponsePartition], array(OffsetDeleteResponsePartition)] = []


class OffsetDeleteResponse(Message):
    error_code: Annotated[int, INT16] = 0
    throttle_time_ms: Annotated[int, INT32, IGNORABLE] = 0
    topics: Annotated[list[OffsetDeleteResponseTopic], array(OffsetDeleteResponseTopic)] = []


API = ApiDeclaration(OFFSET_DELETE, "OffsetDelete", Versions(0, 0), None, OffsetDeleteRequest, OffsetDeleteResponse)
