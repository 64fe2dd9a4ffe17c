"""WriteTxnMarkers (27) writes the ends of transactions as control batches into partitions (KIP-98). Brokers send it to each other;
without an authorizer any client may (TX-99). The coordinator of the transaction is not informed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from groupmock_codec.records import RecordsError

from ..authorizer.acl import ALTER, CLUSTER_ACTION
from ..authorizer.right import Right
from ..budget import Ration, within
from ..java.hashes import java_hash, long_hash, partition_hash
from ..java.orders import java_order
from ..log.transactions import Marker

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

MARKER_COST: Final = 5
TOPIC_COST: Final = 5
PARTITION_COST: Final = 20

RIGHTS: Final = (Right(CLUSTER_ACTION, instead=ALTER),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Write the partitions' markers for each producer and answer a row per producer. A producer that is listed twice is answered once,
    and a marker without partitions is skipped."""
    asked = request.message
    assert isinstance(asked, WriteTxnMarkersRequest)
    ration = Ration(turn.settings)
    ration.take(len(asked.markers), MARKER_COST)
    for marker in asked.markers:
        ration.take_names([topic.name for topic in marker.topics], TOPIC_COST)
        ration.take(within([topic.partition_indexes for topic in marker.topics]), PARTITION_COST)
    found: dict[int, dict[tuple[str, int], int]] = {}
    for marker in asked.markers:
        if any(topic.partition_indexes for topic in marker.topics):
            found.setdefault(marker.producer_id, {}).update(_written(cluster, request, turn, marker))
    turn.reply(request.ticket, _response(found))
    grown = [at for errors in found.values() for at, error in errors.items() if error == error_codes.NONE]
    cluster.topics.fetches.changed(turn, dict.fromkeys(grown))


def _written(cluster: Cluster, request: Request, turn: Turn, asked: WritableTxnMarker) -> dict[tuple[str, int], int]:
    marker = Marker(asked.producer_id, asked.producer_epoch, asked.transaction_result, asked.coordinator_epoch)
    places = dict.fromkeys((topic.name, index) for topic in asked.topics for index in topic.partition_indexes)
    return {at: _write(cluster, request.node, turn, at, marker) for at in places}


def _write(cluster: Cluster, node: int, turn: Turn, at: tuple[str, int], marker: Marker) -> int:
    partition = cluster.topics.find(*at)
    if partition is None:
        return error_codes.UNKNOWN_TOPIC_OR_PARTITION
    if partition.leader != node:
        return error_codes.NOT_LEADER_OR_FOLLOWER
    try:
        cluster.topics.mark(turn, cluster.topics.require(at[0]), partition, marker)
    except RecordsError as error:
        return error.error_code
    return error_codes.NONE


def _topics(errors: dict[tuple[str, int], int]) -> list[WritableTxnMarkerTopicResult]:
    topics: dict[str, WritableTxnMarkerTopicResult] = {}
    for name, index in java_order(errors, partition_hash):
        row = WritableTxnMarkerPartitionResult(partition_index=index, error_code=errors[name, index])
        topics.setdefault(name, WritableTxnMarkerTopicResult(name=name)).partitions.append(row)
    return [topics[name] for name in java_order(topics, java_hash)]


def refused(request: Request, code: int, text: str) -> WriteTxnMarkersResponse:
    asked = request.message
    assert isinstance(asked, WriteTxnMarkersRequest)
    errors: dict[int, dict[tuple[str, int], int]] = {}
    for marker in asked.markers:
        places = [(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]
        errors[marker.producer_id] = dict.fromkeys(places, code)
    return _response(errors)


def _response(errors: dict[int, dict[tuple[str, int], int]]) -> WriteTxnMarkersResponse:
    results = [WritableTxnMarkerResult(producer_id=each, topics=_topics(errors[each])) for each in java_order(errors, long_hash)]
    return WriteTxnMarkersResponse(markers=results)
