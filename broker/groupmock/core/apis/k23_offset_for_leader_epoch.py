"""OffsetForLeaderEpoch (23) tells where a leader epoch ended, so that a reader notices truncation (KIP-101, KIP-279, KIP-320)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

from ..authorizer.acl import CLUSTER, CLUSTER_ACTION, CLUSTER_NAME, DESCRIBE, TOPIC
from ..budget import take, within
from ..log.fetches import fence
from ..log.partition import Partition

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

PARTITION_COST: Final = 4


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer for each partition the epoch that was found and its end offset, or -1 and -1 for an unknown epoch."""
    asked = request.message
    assert isinstance(asked, OffsetForLeaderEpochRequest)
    take(turn.settings, within([topic.partitions for topic in asked.topics]) + len(asked.topics), PARTITION_COST)
    # Brokers send this request with a right on the cluster, and consumers with rights on the topics (KIP-320).
    by_topic = not cluster.allows(request, CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
    denied = cluster.denied(turn, request, DESCRIBE, TOPIC, (topic.topic for topic in asked.topics)) if by_topic else ()
    topics = [
        OffsetForLeaderTopicResult(
            topic=topic.topic,
            partitions=[_answer(cluster.topics.find(topic.topic, wanted.partition), request.node, wanted) for wanted in topic.partitions],
        )
        for topic in asked.topics
        if topic.topic not in denied
    ]
    code = error_codes.TOPIC_AUTHORIZATION_FAILED
    topics += [
        OffsetForLeaderTopicResult(
            topic=topic.topic, partitions=[EpochEndOffset(error_code=code, partition=each.partition) for each in topic.partitions]
        )
        for topic in asked.topics
        if topic.topic in denied
    ]
    turn.reply(request.ticket, OffsetForLeaderEpochResponse(topics=topics))


def _answer(partition: Partition | None, node: int, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    if partition is None:
        code = error_codes.UNKNOWN_TOPIC_OR_PARTITION
    elif partition.leader != node:
        code = error_codes.NOT_LEADER_OR_FOLLOWER
    else:
        code = fence(wanted.current_leader_epoch, partition)
    if partition is None or code != error_codes.NONE:
        return EpochEndOffset(error_code=code, partition=wanted.partition)
    found = partition.epoch_end(wanted.leader_epoch)
    return EpochEndOffset(partition=wanted.partition, leader_epoch=found.epoch, end_offset=found.start)
