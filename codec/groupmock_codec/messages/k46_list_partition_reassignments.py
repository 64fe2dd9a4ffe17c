"""ListPartitionReassignments (key 46) has version 0, flexible from 0 (KIP-455)."""

from __future__ import annotations

from typing import Annotated

from ..api_keys import LIST_PARTITION_REASSIGNMENTS
from ..declare import INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable


class ListPartitionReassignmentsTopics(Message):
    name: Annotated[str, STRING] = ""
    partition_indexes: Annotated[list[int], array(INT32)] = []


class ListPartitionReassignmentsRequest(Message):
    """Null `topics` ask for all reassignments that are in progress."""

    timeout_ms: Annotated[int, INT32] = 60000
    topics: Annotated[list[ListPartitionReassignmentsTopics] | None, array(ListPartitionReassignmentsTopics), nullable()] = None


class OngoingPartitionReassignment(Message):
    partition_index: Annotated[int, INT32] = 0
    replicas: Annotated[list[int], array(INT32)] = []
    adding_replicas: Annotated[list[int], array(INT32)] = []
    removing_replicas: Annotated[list[int], array(INT32)] = []


class OngoingTopicReassignment(Message):
    name: Annotated[str, STRING] = ""
    partitions: Annotated[list[OngoingPartitionReassignment], array(OngoingPartitionReassignment)] = []


class ListPartitionReassignmentsResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""
    topics: Annotated[list[OngoingTopicReassignment], array(OngoingTopicReassignment)] = []


API = ApiDeclaration(
    LIST_PARTITION_REASSIGNMENTS,
    "ListPartitionReassignments",
    Versions(0, 0),
    0,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
