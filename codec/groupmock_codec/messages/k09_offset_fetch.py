"""OffsetFetch (key 9) has versions 0-10, flexible from 6.

v0 read from ZooKeeper, v1 from Kafka. v2 null topics: all of them; an error for the whole group (KIP-88). v3 throttle time
(KIP-124), v4 answered before muting (KIP-219). v5 leader epoch of the offset (KIP-320). v6 flexible (KIP-482). v7
require_stable: 88 while a transaction is open (KIP-447). v8 several groups in one request, other structs (KIP-709). v9
member id and epoch per group; errors 113 and 25 may come (KIP-848). v10 topic ids for names (KIP-848, KAFKA-14691).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import OFFSET_FETCH
from ..declare import (
    BOOLEAN,
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


class OffsetFetchRequestTopic(Message):
    name: Annotated[str, STRING, until(7)] = ""
    partition_indexes: Annotated[list[int], array(INT32), until(7)] = []


class OffsetFetchRequestTopics(Message):
    name: Annotated[str, STRING, since(8), until(9), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(10), IGNORABLE] = ZERO_UUID
    partition_indexes: Annotated[list[int], array(INT32), since(8)] = []


class OffsetFetchRequestGroup(Message):
    group_id: Annotated[str, STRING, since(8)] = ""
    member_id: Annotated[str | None, STRING, nullable(9), since(9), IGNORABLE] = None
    member_epoch: Annotated[int, INT32, since(9), IGNORABLE] = -1
    topics: Annotated[list[OffsetFetchRequestTopics] | None, array(OffsetFetchRequestTopics), nullable(8), since(8)] = []


class OffsetFetchRequest(Message):
    group_id: Annotated[str, STRING, until(7)] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, array(OffsetFetchRequestTopic), nullable(2), until(7)] = []
    groups: Annotated[list[OffsetFetchRequestGroup], array(OffsetFetchRequestGroup), since(8)] = []
    require_stable: Annotated[bool, BOOLEAN, since(7)] = False


class OffsetFetchResponsePartition(Message):
    partition_index: Annotated[int, INT32, until(7)] = 0
    committed_offset: Annotated[int, INT64, until(7)] = 0
    committed_leader_epoch: Annotated[int, INT32, since(5), until(7), IGNORABLE] = -1
    metadata: Annotated[str | None, STRING, nullable(), until(7)] = ""
    error_code: Annotated[int, INT16, until(7)] = 0


class OffsetFetchResponseTopic(Message):
    name: Annotated[str, STRING, until(7)] = ""
    partitions: Annotated[list[OffsetFetchResponsePartition], array(OffsetFetchResponsePartition), until(7)] = []


class OffsetFetchResponsePartitions(Message):
    partition_index: Annotated[int, INT32, since(8)] = 0
    committed_offset: Annotated[int, INT64, since(8)] = 0
    committed_leader_epoch: Annotated[int, INT32, since(8), IGNORABLE] = -1
    metadata: Annotated[str | None, STRING, nullable(8), since(8)] = ""
    error_code: Annotated[int, INT16, since(8)] = 0


class OffsetFetchResponseTopics(Message):
    name: Annotated[str, STRING, since(8), until(9), IGNORABLE] = ""
    topic_id: Annotated[bytes, UUID, since(10), IGNORABLE] = ZERO_UUID
    partitions: Annotated[list[OffsetFetchResponsePartitions], array(OffsetFetchResponsePartitions), since(8)] = []


class OffsetFetchResponseGroup(Message):
    group_id: Annotated[str, STRING, since(8)] = ""
    topics: Annotated[list[OffsetFetchResponseTopics], array(OffsetFetchResponseTopics), since(8)] = []
    error_code: Annotated[int, INT16, since(8)] = 0


class OffsetFetchResponse(Message):
    throttle_time_ms: Annotated[int, INT32, since(3), IGNORABLE] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], array(OffsetFetchResponseTopic), until(7)] = []
    error_code: Annotated[int, INT16, since(2), until(7), IGNORABLE] = 0
    groups: Annotated[list[OffsetFetchResponseGroup], array(OffsetFetchResponseGroup), since(8)] = []


API = ApiDeclaration(OFFSET_FETCH, "OffsetFetch", Versions(0, 10), 6, OffsetFetchRequest, OffsetFetchResponse)
