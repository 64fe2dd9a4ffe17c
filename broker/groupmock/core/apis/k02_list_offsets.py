"""ListOffsets (2) finds offsets by timestamp. v0 lists segment starts, v1 one offset with its timestamp, and v4 adds leader epochs. Special
timestamps are -3 for the maximum (v7, KIP-734), -4 for the earliest local offset (v8, KIP-405), -5 for the latest tiered one (v9,
KIP-1005), and -6 for the earliest one whose upload is pending (v11, KIP-1023)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.compression import OverLimit
from groupmock_codec.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from groupmock_codec.records import RecordsError
from groupmock_codec.room import Room

from ..authorizer.acl import DESCRIBE, TOPIC
from ..budget import Ration, within
from ..java.hashes import java_hash
from ..java.orders import scala_table_order, scala_trie_order
from ..log.fetches import READ_COMMITTED, fence
from ..log.partition import NOTHING, Partition, TimestampAndOffset
from ..log.place import Place, by_name

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

Row = tuple[Place, ListOffsetsPartitionResponse]

TOPIC_COST: Final = 8
PARTITION_COST: Final = 7
CONSUMER: Final = -1
"""The replica id that consumers send."""
LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
NOT_AVAILABLE_SINCE: Final = 5
SINCE: Final = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Answer each partition that this node leads, and refuse the others. Even a replica is answered by the leader only."""
    asked = request.message
    assert isinstance(asked, ListOffsetsRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topics], TOPIC_COST)
    ration.take(within([topic.partitions for topic in asked.topics]), PARTITION_COST)
    denied = cluster.denied(turn, request, DESCRIBE, TOPIC, (topic.name for topic in asked.topics))
    allowed = [topic for topic in asked.topics if topic.name not in denied]
    if allowed and asked.isolation_level not in (0, 1) and not turn.quirks.list_offsets_in_order:
        # Kafka 4's handler throws at an unknown isolation level.
        failed = _failed(asked.topics, error_codes.UNKNOWN_SERVER_ERROR)
        turn.reply(request.ticket, ListOffsetsResponse(topics=failed))
        return
    twice = _twice(allowed)
    merged = request.version > 0 and not turn.quirks.list_offsets_in_order
    rows: list[Row] = []
    room = turn.settings.room()
    for topic in allowed:
        for wanted in topic.partitions:
            place = Place(topic.name, b"", wanted.partition_index)
            # Kafka handles v0 separately, without looking for duplicates (KafkaApis.handleListOffsetRequestV0).
            refused = request.version > 0 and place in twice
            if refused:
                rows.append((place, _refused(place.partition, error_codes.INVALID_REQUEST)))
            else:
                rows.append((place, _answer(cluster, request, asked, topic.name, wanted, room)))
    # Kafka 4.3 answers each partition once, with INVALID_REQUEST (42) if it was listed twice. Kafka 3.9 answers row by row:
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    topics = _merged(rows) if merged else _in_order(allowed, rows)
    topics += _failed([topic for topic in asked.topics if topic.name in denied], error_codes.TOPIC_AUTHORIZATION_FAILED)
    turn.reply(request.ticket, ListOffsetsResponse(topics=topics))


def _failed(topics: list[ListOffsetsTopic], code: int) -> list[ListOffsetsTopicResponse]:
    return [
        ListOffsetsTopicResponse(name=topic.name, partitions=[_refused(each.partition_index, code) for each in topic.partitions])
        for topic in topics
    ]


def _twice(topics: list[ListOffsetsTopic]) -> set[Place]:
    counted = Counter(Place(topic.name, b"", each.partition_index) for topic in topics for each in topic.partitions)
    return {place for place, times in counted.items() if times > 1}


def _in_order(topics: list[ListOffsetsTopic], rows: list[Row]) -> list[ListOffsetsTopicResponse]:
    """Return the rows in the order of the request, as Kafka 3.9 does in every version and later releases do in v0."""
    left = iter(rows)
    return [ListOffsetsTopicResponse(name=topic.name, partitions=[next(left)[1] for _ in topic.partitions]) for topic in topics]


def _merged(rows: list[Row]) -> list[ListOffsetsTopicResponse]:
    """Merge the rows so that each topic and partition comes once, in the order of Kafka 4's maps."""
    by_place = dict(rows)
    topics: dict[str, list[Place]] = {}
    for place in scala_table_order(by_place, by_name):
        topics.setdefault(place.name, []).append(place)
    return [
        ListOffsetsTopicResponse(name=name, partitions=[by_place[place] for place in scala_table_order(topics[name], by_name)])
        for name in scala_trie_order(topics, java_hash)
    ]


def _answer(
    cluster: Cluster, request: Request, asked: ListOffsetsRequest, topic: str, wanted: ListOffsetsPartition, room: Room
) -> ListOffsetsPartitionResponse:
    partition = cluster.topics.find(topic, wanted.partition_index)
    code = _gate(cluster, request, asked, partition, wanted)
    if code != error_codes.NONE or partition is None:
        return _refused(wanted.partition_index, code)
    if request.version == 0:
        return _old_style(cluster, partition, wanted)
    try:
        found = _look_up(partition, wanted.timestamp, _upper(cluster, asked, partition), room)
    except OverLimit:
        # The client repeats its ListOffsets for partitions that got no answer, with fewer partitions per request:
        # docs/kafka/differences.md#budgets-of-one-request
        late = error_codes.OFFSET_NOT_AVAILABLE if request.version >= NOT_AVAILABLE_SINCE else error_codes.LEADER_NOT_AVAILABLE
        return _refused(wanted.partition_index, late)
    except RecordsError as broken:
        return _refused(wanted.partition_index, broken.error_code)
    epoch = found.leader_epoch if request.version >= 4 else -1
    return ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index, timestamp=found.timestamp, offset=found.offset, leader_epoch=epoch
    )


def _gate(
    cluster: Cluster, request: Request, asked: ListOffsetsRequest, partition: Partition | None, wanted: ListOffsetsPartition
) -> int:
    since = SINCE.get(wanted.timestamp, 0 if wanted.timestamp >= 0 else None)
    if since is None or request.version < since:
        return error_codes.UNSUPPORTED_VERSION
    if asked.isolation_level not in (0, 1):
        return error_codes.UNKNOWN_SERVER_ERROR
    if partition is None:
        return error_codes.UNKNOWN_TOPIC_OR_PARTITION
    if request.version == 0 and wanted.max_num_offsets < 0:
        return error_codes.UNKNOWN_SERVER_ERROR
    if partition.leader != request.node:
        return error_codes.NOT_LEADER_OR_FOLLOWER
    return fence(wanted.current_leader_epoch, partition)


def _upper(cluster: Cluster, asked: ListOffsetsRequest, partition: Partition) -> int:
    """Return the offset at which the log ends for the sender, which is the last stable offset for a consumer with read_committed
    (TX-89). A request of a replica has no isolation level (KafkaApis.handleListOffsetRequest; seen on 4.3.0, 3.9.1)."""
    if asked.isolation_level != READ_COMMITTED or asked.replica_id != CONSUMER:
        return partition.end
    return partition.stable(cluster.environment.settings.quirks.stable_offset_within_log)


def _look_up(partition: Partition, timestamp: int, upper: int, room: Room) -> TimestampAndOffset:
    if timestamp == LATEST:
        return TimestampAndOffset(-1, upper, partition.leader_epoch)
    found = _look_for(partition, timestamp, room)
    # If DeleteRecords cut an open transaction, the log's start is after the last stable offset, but EARLIEST is answered nevertheless.
    return NOTHING if found.offset >= upper and timestamp not in (EARLIEST, EARLIEST_LOCAL) else found


def _look_for(partition: Partition, timestamp: int, room: Room) -> TimestampAndOffset:
    # Without tiered storage the local log is the whole log (KIP-405).
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return TimestampAndOffset(-1, partition.start, partition.epoch_at(partition.start))
    if timestamp == MAX_TIMESTAMP:
        return partition.latest_timestamp(room)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING  # There are no tiered offsets and no pending uploads without tiered storage.
    return partition.by_timestamp(timestamp, room)


def _old_style(cluster: Cluster, partition: Partition, wanted: ListOffsetsPartition) -> ListOffsetsPartitionResponse:
    """Answer v0 with the start offsets of segments that are older than `timestamp`, newest first. A log of groupmock has one segment."""
    starts = [partition.start] if wanted.timestamp != LATEST or partition.end == partition.start else [partition.end, partition.start]
    if wanted.timestamp not in (LATEST, EARLIEST):
        starts = _written_before(partition, wanted.timestamp)
    return ListOffsetsPartitionResponse(partition_index=wanted.partition_index, old_style_offsets=starts[: wanted.max_num_offsets])


def _written_before(partition: Partition, timestamp: int) -> list[int]:
    if partition.written_ms > timestamp:
        return []
    return [partition.start] if partition.end == partition.start else [partition.end, partition.start]


def _refused(index: int, code: int) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
