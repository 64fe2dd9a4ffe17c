"""ListOffsets (2): v0 lists segment starts, v1 one offset and its timestamp, v4 leader epochs, v7 -3 max timestamp (KIP-734),
v8 -4 earliest local (KIP-405), v9 -5 latest tiered (KIP-1005), v11 -6 earliest pending upload (KIP-1023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

from ..effects import Effects, Reply
from ..log.fetches import fence
from ..log.partition import NOTHING, Partition, TimestampAndOffset

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
SINCE: Final = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


def handle(cluster: Cluster, request: Request, now: int, out: Effects) -> None:
    """Answer every partition at once; only the leader answers, whoever asks."""
    asked = request.message
    assert isinstance(asked, ListOffsetsRequest)
    topics = [
        ListOffsetsTopicResponse(
            name=topic.name,
            partitions=[_answer(cluster, request, asked, topic.name, wanted) for wanted in _once(topic.partitions)],
        )
        for topic in asked.topics
    ]
    _mark_duplicates(asked, topics)
    out.append(Reply(request.ticket, ListOffsetsResponse(topics=topics)))


def _once(partitions: list[ListOffsetsPartition]) -> list[ListOffsetsPartition]:
    return list({partition.partition_index: partition for partition in partitions}.values())


def _mark_duplicates(asked: ListOffsetsRequest, topics: list[ListOffsetsTopicResponse]) -> None:
    """A partition listed twice is INVALID_REQUEST."""
    for topic, answer in zip(asked.topics, topics, strict=True):
        indexes = [partition.partition_index for partition in topic.partitions]
        for place, row in enumerate(answer.partitions):
            if row.error_code == ErrorCode.NONE and indexes.count(row.partition_index) > 1:
                answer.partitions[place] = _refused(row.partition_index, ErrorCode.INVALID_REQUEST)


def _answer(
    cluster: Cluster, request: Request, asked: ListOffsetsRequest, topic: str, wanted: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    partition = cluster.topics.find(topic, wanted.partition_index)
    code = _gate(cluster, request, asked, partition, wanted)
    if code is not ErrorCode.NONE or partition is None:
        return _refused(wanted.partition_index, code)
    if request.version == 0:
        return _old_style(cluster, partition, wanted)
    found = _look_up(partition, wanted.timestamp, cluster.settings.quirks.negative_timestamps_are_times)
    epoch = found.leader_epoch if request.version >= 4 else -1  # the schema does not let it be dropped
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index, timestamp=found.timestamp, offset=found.offset, leader_epoch=epoch
    )


def _gate(
    cluster: Cluster, request: Request, asked: ListOffsetsRequest, partition: Partition | None, wanted: ListOffsetsPartition
) -> ErrorCode:
    since = SINCE.get(wanted.timestamp, 0 if wanted.timestamp >= 0 else None)
    if (since is None or request.version < since) and not cluster.settings.quirks.negative_timestamps_are_times:
        return ErrorCode.UNSUPPORTED_VERSION
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if asked.isolation_level not in (0, 1) or (request.version == 0 and wanted.max_num_offsets < 0):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    if partition.leader != request.node:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return fence(wanted.current_leader_epoch, partition)


def _look_up(partition: Partition, timestamp: int, only_two: bool) -> TimestampAndOffset:
    if timestamp == LATEST:
        return TimestampAndOffset(-1, partition.end, partition.leader_epoch)
    if timestamp < EARLIEST and only_two:
        return partition.by_timestamp(timestamp)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return TimestampAndOffset(-1, partition.start, partition.epoch_at(partition.start))
    if timestamp == MAX_TIMESTAMP:
        return partition.latest_timestamp()
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING  # without tiered storage there is neither
    return partition.by_timestamp(timestamp)


def _old_style(cluster: Cluster, partition: Partition, wanted: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    """v0: starts of the segments that are older than `timestamp`, newest first; groupmock's logs are one segment each."""
    starts = [partition.start] if wanted.timestamp != LATEST or partition.end == partition.start else [partition.end, partition.start]
    if wanted.timestamp >= 0:
        starts = _written_before(partition, wanted.timestamp)
    return ListOffsetsPartitionResponse(partition_index=wanted.partition_index, old_style_offsets=starts[: wanted.max_num_offsets])


def _written_before(partition: Partition, timestamp: int) -> list[int]:
    if partition.written_ms > timestamp:
        return []
    return [partition.start] if partition.end == partition.start else [partition.end, partition.start]


def _refused(index: int, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
