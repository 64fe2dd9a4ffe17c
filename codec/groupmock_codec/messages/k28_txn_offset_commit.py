"""TxnOffsetCommit (key 28) has versions 0-6, flexible from 3.

v1 answered before the throttled channel is muted (KIP-219). v2 leader epoch of the offset (KIP-320). v3 generation, member
id and instance id fence it; flexible (KIP-447). v4 error 120 may come; v5 adds the group to the transaction by itself
(KIP-890). v6 topics by id, and errors 69, 113 and 100 (KIP-1319).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import TXN_OFFSET_COMMIT
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


class TxnOffsetCommitRequestPartition(Message):
    partition_index: Annotated[int, INT32] = 0
    committed_offset: Annotated[int, INT64] = 0
    committed_leader_epoch: Annotated[int, INT32, since(2), IGNORABLE] = -1
    committed_metadata: Annotated[str | None, STRING, nullable()] = ""


class TxnOffsetCommitRequestTopic(Message):
    name: Annotated[str, STRING, until(5), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(6), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[TxnOffsetCommitRequestPartition], array(TxnOffsetCommitRequestPartition)] = []


class TxnOffsetCommitRequest(Message):
    transactional_id: Annotated[str, STRING] = ""
    group_id: Annotated[str, STRING] = ""
    producer_id: Annotated[int, INT64] = 0
    producer_epoch: Annotated[int, INT16] = 0
    generation_id: Annotated[int, INT32, since(3)] = -1
    member_id: Annotated[str, STRING, since(3)] = ""
    group_instance_id: Annotated[str | None, STRING, nullable(3), since(3)] = None
    topics: Annotated[list[TxnOffsetCommitRequestTopic], array(TxnOffsetCommitRequestTopic)] = []


class TxnOffsetCommitResponsePartition(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0


class TxnOffsetCommitResponseTopic(Message):
    name: Annotated[str, STRING, until(5), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(6), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[TxnOffsetCommitResponsePartition], array(TxnOffsetCommitResponsePartition)] = []


class TxnOffsetCommitResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    topics: Annotated[list[TxnOffsetCommitResponseTopic], array(TxnOffsetCommitResponseTopic)] = []


API = ApiDeclaration(TXN_OFFSET_COMMIT, "TxnOffsetCommit", Versions(0, 6), 3, TxnOffsetCommitRequest, TxnOffsetCommitResponse)
