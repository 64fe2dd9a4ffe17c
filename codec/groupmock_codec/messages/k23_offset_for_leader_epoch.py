"""OffsetForLeaderEpoch (key 23) has versions 0-4, flexible from 4.

v1 the answer tells the epoch it found (KIP-279). v2 the asker's own leader epoch fences; throttle time (KIP-320). v3 replica
id, -2 for debug consumers. v4 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import OFFSET_FOR_LEADER_EPOCH
from ..declare import IGNORABLE, INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array, since


class OffsetForLeaderPartition(Message):
    partition: Annotated[int, INT32] = 0
    current_leader_epoch: Annotated[int, INT32, since(2), IGNORABLE] = -1
    leader_epoch: Annotated[int, INT32] = 0


class OffsetForLeaderTopic(Message):
    topic: Annotated[str, STRING] = ""
    partitions: Annotated[list[OffsetForLeaderPartition], array(OffsetForLeaderPartition)] = []


class OffsetForLeaderEpochRequest(Message):
    replica_id: Annotated[int, INT32, since(3), IGNORABLE] = -2
    topics: Annotated[list[OffsetForLeaderTopic], array(OffsetForLeaderTopic)] = []


class EpochEndOffset(Message):
    error_code: Annotated[int, INT16] = 0
    partition: Annotated[int, INT32] = 0
    leader_epoch: Annotated[int, INT32, since(1), IGNORABLE] = -1
    end_offset: Annotated[int, INT64] = -1


class OffsetForLeaderTopicResult(Message):
    topic: Annotated[str, STRING] = ""
    partitions: Annotated[list[EpochEndOffset], array(EpochEndOffset)] = []


class OffsetForLeaderEpochResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(2), IGNORABLE] = 0
    topics: Annotated[list[OffsetForLeaderTopicResult], array(OffsetForLeaderTopicResult)] = []


API = ApiDeclaration(
    OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", Versions(0, 4), 4, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
)
