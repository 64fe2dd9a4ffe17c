"""DeleteRecords (21) moves the log start offset of partitions; -1 means the high watermark. Parked fetches are not woken, as in Kafka."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k21_delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

from ..authorizer.acl import DELETE, TOPIC
from ..budget import Ration, within
from ..java.hashes import java_hash
from ..java.orders import SMALL_MAP, scala_map_order, scala_table_order, scala_trie_order
from ..log.config_keys import split_list
from ..log.place import Place, by_name
from ..log.topics import Topic
from ..work import A_FEW

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn
    from ..work import Steps

TOPIC_COST: Final = 5
PARTITION_COST: Final = 10
HIGH_WATERMARK: Final = -1


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Delete the records of each partition before the requested offset; the last entry of a partition counts. Rows are in the order of
    Kafka's maps."""
    asked = request.message
    assert isinstance(asked, DeleteRecordsRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topics], TOPIC_COST)
    partitions = within([topic.partitions for topic in asked.topics])
    ration.take(partitions, PARTITION_COST)
    turn.begin_request(partial(_answered, cluster, request, asked), partitions)


def _answered(cluster: Cluster, request: Request, asked: DeleteRecordsRequest, turn: Turn) -> Steps:
    wanted = {Place(topic.name, b"", each.partition_index): each.offset for topic in asked.topics for each in topic.partitions}
    found: dict[Place, DeleteRecordsPartitionResult] = {}
    absent: dict[Place, DeleteRecordsPartitionResult] = {}
    denied = cluster.denied(turn, request, DELETE, TOPIC, (topic.name for topic in asked.topics))
    unauthorized: dict[Place, DeleteRecordsPartitionResult] = {}
    hashes: dict[Place, int] = {}
    for place in wanted:
        hashes[place] = by_name(place)
        if not len(hashes) % A_FEW:
            yield
    for place in scala_table_order(wanted, hashes.__getitem__):
        if place.name in denied:
            unauthorized[place] = _refused(place, error_codes.TOPIC_AUTHORIZATION_FAILED)
        elif cluster.topics.find(place.name, place.partition) is not None:
            found[place] = _delete(cluster, request.node, place, wanted[place])
        else:
            absent[place] = _refused(place, error_codes.UNKNOWN_TOPIC_OR_PARTITION)
        if (len(found) + len(absent)) % A_FEW == A_FEW - 1:
            yield
    # The parts of a large immutable map are ordered like large ones, even if they are small.
    order = scala_table_order if found else scala_trie_order if len(wanted) > SMALL_MAP else scala_map_order
    topics: dict[str, list[Place]] = {}
    by_table = [place for rows in (found, unauthorized, absent) for place in scala_table_order(rows, hashes.__getitem__)]
    for place in order(by_table, hashes.__getitem__):
        topics.setdefault(place.name, []).append(place)
    yield
    rows, results = {**found, **unauthorized, **absent}, []
    for name in scala_trie_order(topics, java_hash):
        partitions = [rows[place] for place in order(topics[name], hashes.__getitem__)]
        results.append(DeleteRecordsTopicResult(name=name, partitions=partitions))
        yield
    turn.reply(request.ticket, DeleteRecordsResponse(topics=results))


def _delete(cluster: Cluster, node: int, place: Place, offset: int) -> DeleteRecordsPartitionResult:
    topic = cluster.topics.require(place.name)
    partition = topic.partitions[place.partition]
    # Clients may not write to Kafka's own topics, neither with DeleteRecords nor with Produce (INVALID_TOPIC_EXCEPTION, 17):
    # docs/kafka/differences.md#found-by-generated-exchanges-of-the-data-plane-and-by-hostile-bytes
    if topic.internal:
        return _refused(place, error_codes.INVALID_TOPIC_EXCEPTION)
    if partition.leader != node:
        return _refused(place, error_codes.NOT_LEADER_OR_FOLLOWER)
    # A compacted log keeps the last record of each key, so Partition.deleteRecordsOnLeader refuses to delete records.
    if not _deletes(cluster, topic, node):
        return _refused(place, error_codes.POLICY_VIOLATION)
    target = partition.end if offset == HIGH_WATERMARK else offset
    if not 0 <= target <= partition.end:
        return _refused(place, error_codes.OFFSET_OUT_OF_RANGE)
    partition.delete_before(target)
    return DeleteRecordsPartitionResult(partition_index=place.partition, low_watermark=partition.start)


def _deletes(cluster: Cluster, topic: Topic, node: int) -> bool:
    """True if the topic's cleanup policy includes "delete", so that records may be deleted."""
    return "delete" in split_list(cluster.topics.config(topic, "cleanup.policy", node))


def _refused(place: Place, code: int) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(partition_index=place.partition, low_watermark=-1, error_code=code)
