"""ElectLeaders (key 43) has versions 0-2, flexible from 2.

v0 new (KIP-183): the preferred replica. v1 the type of election and an error for all of them (KIP-460). v2 flexible (KIP-482).
"""

from __future__ import annotations

from typing import Annotated

from ..api_keys import ELECT_LEADERS
from ..declare import INT8, INT16, INT32, STRING, ApiDeclaration, Message, Versions, array, nullable, since


class TopicPartitions(Message):
    topic: Annotated[str, STRING] = ""
    partitions: Annotated[list[int], array(INT32)] = []


class ElectLeadersRequest(Message):
    """Null `topic_partitions` ask for every partition. An `election_type` of 0 is preferred, and 1 is unclean."""

    election_type: Annotated[int, INT8, since(1)] = 0
    topic_partitions: Annotated[list[TopicPartitions] | None, array(TopicPartitions), nullable()] = []
    timeout_ms: Annotated[int, INT32] = 60000


class PartitionResult(Message):
    partition_id: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16] = 0
    error_message: Annotated[str | None, STRING, nullable()] = ""


class ReplicaElectionResult(Message):
    topic: Annotated[str, STRING] = ""
    partition_result: Annotated[list[PartitionResult], array(PartitionResult)] = []


class ElectLeadersResponse(Message):
    throttle_time_ms: Annotated[int, INT32] = 0
    error_code: Annotated[int, INT16, since(1)] = 0
    replica_election_results: Annotated[list[ReplicaElectionResult], array(ReplicaElectionResult)] = []


API = ApiDeclaration(ELECT_LEADERS, "ElectLeaders", Versions(0, 2), 2, ElectLeadersRequest, ElectLeadersResponse)
