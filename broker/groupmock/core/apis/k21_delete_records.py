"""DeleteRecords (21): move the log start offset; -1 means up to the high watermark. Parked fetches are not woken, as in Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k21_delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

from ..effects import Effects, Reply
from ..log.config_keys import split_list
from ..log.topics import Topic

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request

HIGH_WATERMARK: Final = -1


def handle(cluster: Cluster, request: Request, now: int, out: Effects) -> None:
    """Topics with a partition that exists come first, as Kafka answers; a partition listed twice counts once, with its last offset."""
    asked = request.message
    assert isinstance(asked, DeleteRecordsRequest)
    wanted = {(topic.name, each.partition_index): each.offset for topic in asked.topics for each in topic.partitions}
    found = {place: offset for place, offset in wanted.items() if cluster.topics.find(*place) is not None}
    rows = [(place, _delete(cluster, request.node, place, offset)) for place, offset in found.items()]
    rows += [(place, _refused(place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)) for place in wanted if place not in found]
    topics: dict[str, DeleteRecordsTopicResult] = {}
    for (name, _), row in rows:
        topics.setdefault(name, DeleteRecordsTopicResult(name=name)).partitions.append(row)
    out.append(Reply(request.ticket, DeleteRecordsResponse(topics=list(topics.values()))))


def _delete(cluster: Cluster, node: int, place: tuple[str, int], offset: int) -> DeleteRecordsPartitionResult:
    topic = cluster.topics.require(place[0])
    partition = topic.partitions[place[1]]
    if topic.internal:
        return _refused(place, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if partition.leader != node:
        return _refused(place, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if not _deletes(cluster, topic, node):
        return _refused(place, ErrorCode.POLICY_VIOLATION)
    target = partition.end if offset == HIGH_WATERMARK else offset
    if not 0 <= target <= partition.end:
        return _refused(place, ErrorCode.OFFSET_OUT_OF_RANGE)
    partition.delete_before(target)
    return DeleteRecordsPartitionResult(partition_index=place[1], low_watermark=partition.start)


def _deletes(cluster: Cluster, topic: Topic, node: int) -> bool:
    """May records be deleted: is "delete" in the topic's cleanup policy?"""
    return "delete" in split_list(cluster.topics.config(topic, "cleanup.policy", node))


def _refused(place: tuple[str, int], code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=place[1], low_watermark=-1, error_code=code)
