"""OffsetCommit (key 8) has versions 0-10, flexible from 8.

v0 wrote to ZooKeeper. v1 generation and member id fence the commit; a timestamp per partition, in this version only. v2-4
retention time instead, v5 without it (KIP-211). v3 throttle time in the answer (KIP-124), v4 answered before the throttled
channel is muted (KIP-219). v6 leader epoch of the offset (KIP-320). v7 group instance id (KIP-345). v8 flexible (KIP-482).
v9 the same field carries the member epoch of KIP-848 groups; errors 113 and 69 may come. v10 topic ids for names; error 100
may come (KIP-848, KAFKA-14690).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import OFFSET_COMMIT
from ..declare import (
    IGNORABLE,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID,
    ZERO_UUID,
    ApiDeclaration,
    Message,
    Versions,
    array,
    nullable,
    since,
    until,
)


class OffsetCommitRequestPartition(Message):
    partition_index: Annotated[int, INT32] = 0
    committed_offset: Annotated[int, INT64] = 0
    committed_leader_epoch: Annotated[int, INT32, since(6), IGNORABLE] = -1
    commit_timestamp: Annotated[int, INT64, since(1), until(1)] = -1
    committed_metadata: Annotated[str | None, STRING, nullable()] = ""


class OffsetCommitRequestTopic(Message):
    name: Annotated[str, STRING, until(9), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(10), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[OffsetCommitRequestPartition], array(OffsetCommitRequestPartition)] = []


class OffsetCommitRequest(Message):
    group_id: Annotated[str, STRING] = ""
    generation_id_or_member_epoch: Annotated[int, INT32, since(1), IGNORABLE] = -1
    member_id: Annotated[str, STRING, since(1), IGNORABLE] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(7), since(7)] = None
    retention_time_ms: Annotated[int, INT64, since(2), until(4), IGNORABLE] = -1
    topics: Annotated[list[OffsetCommitRequestTopic], array(OffsetCommitRequestTopic)] = []


class OffsetCommitResponsePartition(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0


class OffsetCommitResponseTopic(Message):
    name: Annotated[str, STRING, until(9), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(10), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[OffsetCommitResponsePartition], array(OffsetCommitResponsePartition)] = []


class OffsetCommitResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(3), IGNORABLE] = 0
    topics: Annotated[list[OffsetCommitResponseTopic], array(OffsetCommitResponseTopic)] = []


API = ApiDeclaration(OFFSET_COMMIT, "OffsetCommit", Versions(0, 10), 8, OffsetCommitRequest, OffsetCommitResponse)
