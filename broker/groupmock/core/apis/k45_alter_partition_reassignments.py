"""AlterPartitionReassignments (45) moves the replicas of partitions, or cancels a move (KIP-455, KIP-860)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

from ..authorizer.acl import ALTER
from ..authorizer.right import Right
from ..budget import Ration
from ..effects import Reply
from ..log import reassigning
from ..log.refusal import TopicRefused

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

TOPIC_COST: Final = 4
PARTITION_COST: Final = 8
REPLICA_COST: Final = 1

RIGHTS: Final = (Right(ALTER),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Move the replicas of each partition on its own, and answer a row per partition."""
    asked = request.message
    assert isinstance(asked, AlterPartitionReassignmentsRequest)
    _check_price(asked, turn)
    # The answer is later inserted at this place in the effects, because the effects of new leaders must come after it.
    place = len(turn.out)
    late = error_codes.REQUEST_TIMED_OUT if asked.timeout_ms <= 0 and asked.topics else error_codes.NONE
    answer = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=asked.allow_replication_factor_change,
        error_code=late,
        error_message=None if asked.topics else "",
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    ReassignablePartitionResponse(partition_index=each.partition_index, error_code=late, error_message=None)
                    if late
                    else _tried(cluster, turn, topic.name, each, asked.allow_replication_factor_change)
                    for each in topic.partitions
                ],
            )
            for topic in asked.topics
        ],
    )
    turn.out.insert(place, Reply(request.ticket, answer))


def _check_price(asked: AlterPartitionReassignmentsRequest, turn: Turn) -> None:
    """Count every topic, partition and replica that is named against the work limit of the request. Raises OverBudget."""
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topics], TOPIC_COST)
    for topic in asked.topics:
        ration.take(len(topic.partitions), PARTITION_COST, len(topic.partitions) * len(topic.name))
        ration.take(sum([len(each.replicas or ()) for each in topic.partitions]), REPLICA_COST)


def _tried(
    cluster: Cluster, turn: Turn, topic: str, wanted: ReassignablePartition, may_change_factor: bool
) -> ReassignablePartitionResponse:
    try:
        _reassign(cluster, turn, topic, wanted, may_change_factor)
    except TopicRefused as refused:
        return _row(wanted.partition_index, refused)
    return _row(wanted.partition_index, None)


def _reassign(cluster: Cluster, turn: Turn, topic: str, wanted: ReassignablePartition, may_change_factor: bool) -> None:
    partition = cluster.topics.find(topic, wanted.partition_index)
    if topic not in cluster.topics:
        raise TopicRefused(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}.")
    if partition is None:
        raise TopicRefused(error_codes.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic}:{wanted.partition_index}.")
    if wanted.replicas is None:
        raise TopicRefused(error_codes.NO_REASSIGNMENT_IN_PROGRESS, "")
    reassigning.check_replicas(turn, partition, wanted.replicas, may_change_factor)
    reassigning.reassign(turn, cluster.topics, topic, partition, wanted.replicas)


def _row(index: int, refused: TopicRefused | None) -> ReassignablePartitionResponse:
    """Return the answer's row for a partition. The text of a refusal may be missing."""
    if refused is None:
        return ReassignablePartitionResponse(partition_index=index, error_message=None)
    return ReassignablePartitionResponse(partition_index=index, error_code=refused.code, error_message=refused.message or None)


def refused(request: Request, code: int, text: str) -> AlterPartitionReassignmentsResponse:
    asked, refusal = request.message, TopicRefused(code, text)
    assert isinstance(asked, AlterPartitionReassignmentsRequest)
    rows = [
        ReassignableTopicResponse(name=topic.name, partitions=[_row(each.partition_index, refusal) for each in topic.partitions])
        for topic in asked.topics
    ]
    return AlterPartitionReassignmentsResponse(error_code=code, error_message=text, responses=rows)
