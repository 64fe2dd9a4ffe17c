"""AlterPartitionReassignments (45) as Kafka 2.8 has it: the controller alone does it, in words of its own; the first replica leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

from ..apis.k45_alter_partition_reassignments import check_price, row
from ..effects import Reply
from ..log import reassigning
from ..log.refusal import WRONG_CONTROLLER, TopicRefused
from .admin_manager import NO_PARTITION

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """A partition is told once; of one that is listed twice the last list counts. The timeout is not looked at."""
    asked = request.message
    assert isinstance(asked, AlterPartitionReassignmentsRequest)
    check_price(asked, turn)
    if turn.quirks.controller_only and request.node != cluster.topics.controller():
        elsewhere = AlterPartitionReassignmentsResponse(error_code=ErrorCode.NOT_CONTROLLER, error_message=WRONG_CONTROLLER)
        turn.reply(request.ticket, elsewhere)
        return
    place = len(turn.out)
    wanted: dict[str, dict[int, list[int] | None]] = {}
    for topic in asked.topics:
        if topic.partitions:
            wanted.setdefault(topic.name, {}).update({each.partition_index: each.replicas for each in topic.partitions})
    responses = [
        ReassignableTopicResponse(name=name, partitions=[_tried(cluster, turn, name, index, nodes) for index, nodes in rows.items()])
        for name, rows in wanted.items()
    ]
    turn.out.insert(place, Reply(request.ticket, AlterPartitionReassignmentsResponse(responses=responses)))


def _tried(cluster: Cluster, turn: Turn, topic: str, index: int, replicas: list[int] | None) -> ReassignablePartitionResponse:
    try:
        if replicas is None:
            raise TopicRefused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
        _check(turn, replicas)
        partition = cluster.topics.find(topic, index)
        if partition is None:
            raise TopicRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_PARTITION)
    except TopicRefused as refused:
        return row(index, refused)
    reassigning.reassign(turn, cluster.topics, topic, partition, replicas, first_leads=True)
    return row(index, None)


def _check(turn: Turn, replicas: Sequence[int]) -> None:
    """Raises TopicRefused in the words of KafkaController.validateReplicas."""
    listed, alive = f"ArrayBuffer({', '.join(map(str, replicas))})", [node.node_id for node in turn.environment.up]
    if not replicas:
        why = "Empty replica list specified in partition reassignment."
    elif len(set(replicas)) < len(replicas):
        why = f"Duplicate replica ids in partition reassignment replica list: {listed}"
    elif min(replicas) < 0:
        why = f"Invalid broker id in replica list: {listed}"
    elif not set(replicas) <= set(alive):
        live = f"Set({', '.join(map(str, alive))})"
        why = f"Replica assignment has brokers that are not alive. Replica list: {listed}, live broker list: {live}"
    else:
        return
    raise TopicRefused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
