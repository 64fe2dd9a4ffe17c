"""AlterPartitionReassignments (key 45) has versions 0-1, flexible from 0.

v0 new (KIP-455). v1 may forbid that the number of replicas changes (KIP-860).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ALTER_PARTITION_REASSIGNMENTS
from ..declare import BOOLEAN, IGNORABLE, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class ReassignablePartition(Message):
    """`replicas` null: a reassignment that runs is cancelled."""

    partition_index: Annotated[int, INT32] = 0
    replicas: Annotated[list[int] | None, array(INT32), nullable()] = None


class ReassignableTopic(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[ReassignablePartition], array(ReassignablePartition)] = []


class AlterPartitionReassignmentsRequest(Message):
    timeout_ms: Annotated[int, INT32] = 60000
    allow_replication_factor_change: Annotated[bool, BOOLEAN, since(1)] = True
    topics: Annotated[list[ReassignableTopic], array(ReassignableTopic)] = []


class ReassignablePartitionResponse(Message):
    partition_index: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""


class ReassignableTopicResponse(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[ReassignablePartitionResponse], array(ReassignablePartitionResponse)] = []


class AlterPartitionReassignmentsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    allow_replication_factor_change: Annotated[bool, BOOLEAN, since(1), IGNORABLE] = True
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    responses: Annotated[list[ReassignableTopicResponse], array(ReassignableTopicResponse)] = []


API = ApiDeclaration(
    ALTER_PARTITION_REASSIGNMENTS,
    "AlterPartitionReassignments",
    Versions(0, 1),
    0,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
