"""ListOffsets (key 2) has versions 0-11, flexible from 6.

v1 one offset and its timestamp in the place of a list (KIP-79). v2 isolation level, throttle time (KIP-98). v3 answered
before the throttled channel is muted (KIP-219). v4 leader epoch (KIP-320). v5 error 78, offset not available. v6 flexible.
v7 timestamp -3: the greatest timestamp (KIP-734). v8 -4: start of the local log (KIP-405). v9 -5: last tiered offset
(KIP-1005). v10 a timeout for remote storage (KIP-1075). v11 -6: the earliest offset still to be uploaded (KIP-1023).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import LIST_OFFSETS
from ..declare import IGNORABLE, INT8, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, since, until


class ListOffsetsPartition(Message):
    partition_index: Annotated[int, INT32] = 0
    current_leader_epoch: Annotated[int, INT32, since(4), IGNORABLE] = -1
    timestamp: Annotated[int, INT64] = 0
    max_num_offsets: Annotated[int, INT32, until(0)] = 1


class ListOffsetsTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[ListOffsetsPartition], array(ListOffsetsPartition)] = []


class ListOffsetsRequest(Message):
    replica_id: Annotated[int, INT32] = 0
    isolation_level: Annotated[int, INT8, since(2)] = 0
    topics: Annotated[list[ListOffsetsTopic], array(ListOffsetsTopic)] = []
    timeout_ms: Annotated[int, INT32, since(10), IGNORABLE] = 0


class ListOffsetsPartitionResponse(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    old_style_offsets: Annotated[list[int], array(INT64), until(0)] = []
    timestamp: Annotated[int, INT64, since(1)] = -1
    offset: Annotated[int, INT64, since(1)] = -1
    leader_epoch: Annotated[int, INT32, since(4)] = -1


class ListOffsetsTopicResponse(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[ListOffsetsPartitionResponse], array(ListOffsetsPartitionResponse)] = []


class ListOffsetsResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(2), IGNORABLE] = 0
    topics: Annotated[list[ListOffsetsTopicResponse], array(ListOffsetsTopicResponse)] = []


API = ApiDeclaration(LIST_OFFSETS, "ListOffsets", Versions(0, 11), 6, ListOffsetsRequest, ListOffsetsResponse)
