"""CreatePartitions (key 37) has versions 0-3, flexible from 2.

v0 new (KIP-195). v1 answered before the throttled channel is muted (KIP-219). v2 flexible. v3 error 89 when throttled
(KIP-599).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import CREATE_PARTITIONS
from ..declare import BOOLEAN, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class CreatePartitionsAssignment(Message):
    broker_ids: Annotated[list[int], array(INT32)] = []


class CreatePartitionsTopic(Message):
    name: Annotated[str, STRING] = ""
    count: Annotated[int, INT32] = 0
    assignments: Annotated[list[CreatePartitionsAssignment] | None, array(CreatePartitionsAssignment), nullable()] = []


class CreatePartitionsRequest(Message):
    topics: Annotated[list[CreatePartitionsTopic], array(CreatePartitionsTopic)] = []
    timeout_ms: Annotated[int, INT32] = 0
    validate_only: Annotated[bool, BOOLEAN] = False


class CreatePartitionsTopicResult(Message):
    name: Annotated[str, STRING] = ""
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = None


class CreatePartitionsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    results: Annotated[list[CreatePartitionsTopicResult], array(CreatePartitionsTopicResult)] = []


API = ApiDeclaration(CREATE_PARTITIONS, "CreatePartitions", Versions(0, 3), 2, CreatePartitionsRequest, CreatePartitionsResponse)
