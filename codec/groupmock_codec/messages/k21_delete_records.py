"""DeleteRecords (key 21) has versions 0-2, flexible from 2.

v0 new (KIP-107). v1 answered before the throttled channel is muted (KIP-219). v2 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import DELETE_RECORDS
from ..declare import INT16, INT32, INT64, STRING, ApiDeclaration, Message, Versions, array


class DeleteRecordsPartition(Message):
    partition_index: Annotated[int, INT32] = 0
    offset: Annotated[int, INT64] = 0


class DeleteRecordsTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[DeleteRecordsPartition], array(DeleteRecordsPartition)] = []


class DeleteRecordsRequest(Message):
    topics: Annotated[list[DeleteRecordsTopic], array(DeleteRecordsTopic)] = []
    timeout_ms: Annotated[int, INT32] = 0


class DeleteRecordsPartitionResult(Message):
    partition_index: Annotated[int, INT32] = 0
    low_watermark: Annotated[int, INT64] = 0
    error_code: Annotated[int, INT16] = 0


class DeleteRecordsTopicResult(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[DeleteRecordsPartitionResult], array(DeleteRecordsPartitionResult)] = []


class DeleteRecordsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    topics: Annotated[list[DeleteRecordsTopicResult], array(DeleteRecordsTopicResult)] = []


API = ApiDeclaration(DELETE_RECORDS, "DeleteRecords", Versions(0, 2), 2, DeleteRecordsRequest, DeleteRecordsResponse)
