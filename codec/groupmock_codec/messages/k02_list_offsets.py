"""ListOffsets (key 2): versions 0-11, flexible from 6."""

from __future__ import annotations

from typing import Annotated

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
    """Request half of ListOffsets."""

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
    """Response half of ListOffsets."""

    throttle_time_ms: Annotated[int, INT32, since(2), IGNORABLE] = 0
    topics: Annotated[list[ListOffsetsTopicResponse], array(ListOffsetsTopicResponse)] = []


API = ApiDeclaration(2, "ListOffsets", Versions(0, 11), 6, ListOffsetsRequest, ListOffsetsResponse)
