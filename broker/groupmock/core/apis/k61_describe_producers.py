"""DescribeProducers (61) lists the producers that a partition's log knows (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

from ..authorizer.acl import DENIED_TEXT, READ, TOPIC
from ..budget import Ration, within
from ..java.hashes import long_hash
from ..java.orders import java_order
from ..log.producers import ProducerStates

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

TOPIC_COST: Final = 4
PARTITION_COST: Final = 5
PRODUCER_COST: Final = 3
PRODUCER_BYTES: Final = 40
NONE: Final = -1
NO_SUCH_TOPIC: Final = "This server does not host this topic-partition."


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe the partitions in the order of the request. Every replica of a partition answers, not its leader only."""
    asked = request.message
    assert isinstance(asked, DescribeProducersRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.name for topic in asked.topics], TOPIC_COST)
    ration.take(within([topic.partition_indexes for topic in asked.topics]), PARTITION_COST)
    denied = cluster.denied(turn, request, READ, TOPIC, (topic.name for topic in asked.topics))
    code, text = error_codes.TOPIC_AUTHORIZATION_FAILED, DENIED_TEXT[TOPIC]
    topics = []
    for topic in asked.topics:
        if topic.name in denied:
            refused = [PartitionResponse(partition_index=each, error_code=code, error_message=text) for each in topic.partition_indexes]
            topics.append(TopicResponse(name=topic.name, partitions=refused))
            continue
        rows = [_described(cluster, request.node, turn, ration, topic.name, index) for index in topic.partition_indexes]
        topics.append(TopicResponse(name=topic.name, partitions=rows))
    turn.reply(request.ticket, DescribeProducersResponse(topics=topics))


def _described(cluster: Cluster, node: int, turn: Turn, ration: Ration, topic: str, index: int) -> PartitionResponse:
    partition = cluster.topics.find(topic, index)
    if partition is None:
        # Only an unknown topic gets an error message, because the message comes from the request handler and not from the log
        # (KafkaApis.handleDescribeProducersRequest).
        message = NO_SUCH_TOPIC if cluster.topics.get(topic) is None else None
        return PartitionResponse(partition_index=index, error_code=error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_message=message)
    if node not in partition.replicas:
        return PartitionResponse(partition_index=index, error_code=error_codes.NOT_LEADER_OR_FOLLOWER)
    count = len(partition.producers)
    ration.take(count, PRODUCER_COST, count * PRODUCER_BYTES)
    return PartitionResponse(partition_index=index, active_producers=_producers(partition.producers))


def _producers(known: ProducerStates) -> list[ProducerState]:
    states = known.all()
    rows = []
    for producer_id in java_order(states, long_hash):
        state, start = states[producer_id], known.open_from(producer_id)
        rows.append(
            ProducerState(
                producer_id=producer_id,
                producer_epoch=state.epoch,
                last_sequence=state.last_sequence,
                last_timestamp=state.timestamp,
                coordinator_epoch=state.coordinator_epoch,
                current_txn_start_offset=NONE if start is None else start,
            )
        )
    return rows
