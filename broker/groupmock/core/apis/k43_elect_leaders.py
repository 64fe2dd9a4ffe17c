"""ElectLeaders (43) makes the first replica of a partition its leader, or any replica if the partition has no leader (KIP-183, KIP-460)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)

from ..authorizer.acl import ALTER
from ..authorizer.right import Right
from ..budget import Ration, fitting
from ..effects import Reply
from ..log import reassigning
from ..log.refusal import TopicRefused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

TOP_ERROR_SINCE: Final = 1
TOPIC_COST: Final = 3
PARTITION_COST: Final = 4

RIGHTS: Final = (Right(ALTER),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Hold the elections and answer a row per partition. For all partitions (null) only those that had an election are answered, below
    the name of every topic."""
    asked = request.message
    assert isinstance(asked, ElectLeadersRequest)
    _check_price(cluster, asked, turn)
    # The answer is later inserted at this place in the effects, because the effects of new leaders must come after it.
    place = len(turn.out)
    failure = _failure(asked)
    if failure is not None:
        answer = refused(request, failure.code, failure.message)
    else:
        answer = ElectLeadersResponse(replica_election_results=_results(cluster, asked, turn))
    turn.out.insert(place, Reply(request.ticket, answer))


def _check_price(cluster: Cluster, asked: ElectLeadersRequest, turn: Turn) -> None:
    """Count the named partitions, or all partitions that exist, against the work limit of the request. Raises OverBudget."""
    ration = Ration(turn.settings)
    if asked.topic_partitions is None:
        ration.take(cluster.topics.count, TOPIC_COST)
        ration.take(cluster.topics.partition_count, PARTITION_COST)
        return
    ration.take_names([each.topic for each in asked.topic_partitions], TOPIC_COST)
    for each in asked.topic_partitions:
        ration.take(len(each.partitions), PARTITION_COST, len(each.partitions) * len(each.topic))


def _failure(asked: ElectLeadersRequest) -> TopicRefused | None:
    """Return the error with which all elections are refused, or None. An empty list is answered before anything else is checked, and the
    time before the type."""
    if asked.topic_partitions == []:
        return None
    if asked.timeout_ms <= 0:
        return TopicRefused(error_codes.REQUEST_TIMED_OUT, "")
    if asked.election_type not in (reassigning.PREFERRED, reassigning.UNCLEAN):
        return TopicRefused(error_codes.INVALID_REQUEST, f"Unknown election type {asked.election_type}")
    return None


def refused(request: Request, code: int, text: str) -> ElectLeadersResponse:
    """Return the answer that refuses every named partition with the same error."""
    asked, failure = request.message, TopicRefused(code, text)
    assert isinstance(asked, ElectLeadersRequest)
    rows = [
        ReplicaElectionResult(topic=each.topic, partition_result=[_row(index, failure) for index in each.partitions])
        for each in asked.topic_partitions or ()
    ]
    return ElectLeadersResponse(error_code=code if request.version >= TOP_ERROR_SINCE else error_codes.NONE, replica_election_results=rows)


def _results(cluster: Cluster, asked: ElectLeadersRequest, turn: Turn) -> list[ReplicaElectionResult]:
    rows = [
        ReplicaElectionResult(
            topic=each.topic, partition_result=[_elect(cluster, turn, each.topic, index, asked.election_type) for index in each.partitions]
        )
        for each in _wanted(cluster, asked)
    ]
    if asked.topic_partitions is None:  # The answer to a request for all partitions omits those that needed no election.
        for each in rows:
            each.partition_result = [one for one in each.partition_result if one.error_code != error_codes.ELECTION_NOT_NEEDED]
    return rows


def _wanted(cluster: Cluster, asked: ElectLeadersRequest) -> list[TopicPartitions]:
    """Return the partitions for which the request asks for an election. A null list asks for every partition."""
    if asked.topic_partitions is not None:
        return asked.topic_partitions
    return [TopicPartitions(topic=name, partitions=list(range(cluster.topics.partitions(name) or 0))) for name in cluster.topics.names()]


def _elect(cluster: Cluster, turn: Turn, topic: str, index: int, election_type: int) -> PartitionResult:
    partition = cluster.topics.find(topic, index)
    try:
        if topic not in cluster.topics:
            raise TopicRefused(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}")
        if partition is None:
            raise TopicRefused(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{index}")
        reassigning.elect(turn, cluster.topics, topic, partition, election_type)
    except TopicRefused as failure:
        return _row(index, failure)
    return _row(index, None)


def _row(index: int, failure: TopicRefused | None) -> PartitionResult:
    """Return the answer's row for a partition. The text of a failure may be missing."""
    if failure is None:
        return PartitionResult(partition_id=index, error_message=None)
    return PartitionResult(partition_id=index, error_code=failure.code, error_message=fitting(failure.message) or None)
