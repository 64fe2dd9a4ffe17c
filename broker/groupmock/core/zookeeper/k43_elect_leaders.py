"""ElectLeaders (43) as Kafka 2.8 has it: a partition is told once, nobody waits, and a type that is none is an error of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.errors import ErrorCode
from groupmock_codec.messages.k43_elect_leaders import ElectLeadersRequest, ElectLeadersResponse, ReplicaElectionResult, TopicPartitions

from ..apis.k43_elect_leaders import check_price, elected, refused, wanted
from ..effects import Reply
from ..log import reassigning
from ..log.refusal import TopicRefused
from .admin_manager import NO_PARTITION

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Topics without a row are left out. The handler dies of a type that is none when all partitions are asked for."""
    asked = request.message
    assert isinstance(asked, ElectLeadersRequest)
    check_price(cluster, asked, turn)
    if asked.topic_partitions is not None:
        asked.topic_partitions = _once(asked.topic_partitions)
    place = len(turn.out)
    if asked.election_type not in (reassigning.PREFERRED, reassigning.UNCLEAN):
        if asked.topic_partitions is None:
            turn.abandon(request.ticket, f"ElectLeaders of all partitions has the unknown type {asked.election_type}")
            return
        broken = refused(asked, TopicRefused(ErrorCode.UNKNOWN_SERVER_ERROR, ""))
        answer = ElectLeadersResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR, replica_election_results=broken)
    elif turn.quirks.controller_only and request.node != cluster.topics.controller():
        answer = ElectLeadersResponse(replica_election_results=refused(asked, TopicRefused(ErrorCode.NOT_CONTROLLER, "")))
    else:
        answer = ElectLeadersResponse(replica_election_results=_results(cluster, asked, turn))
    turn.out.insert(place, Reply(request.ticket, answer))


def _once(partitions: list[TopicPartitions]) -> list[TopicPartitions]:
    found: dict[str, dict[int, None]] = {}
    for each in partitions:
        found.setdefault(each.topic, {}).update(dict.fromkeys(each.partitions))
    return [TopicPartitions(topic=topic, partitions=list(indexes)) for topic, indexes in found.items()]


def _results(cluster: Cluster, asked: ElectLeadersRequest, turn: Turn) -> list[ReplicaElectionResult]:
    def election(topic: str, index: int) -> None:
        partition = cluster.topics.find(topic, index)
        if partition is None:
            raise TopicRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_PARTITION)
        reassigning.elect(turn, cluster.topics, topic, partition, asked.election_type)

    rows = elected(wanted(cluster, asked), election, every=asked.topic_partitions is None)
    return [row for row in rows if row.partition_result]
