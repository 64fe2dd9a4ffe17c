"""DescribeQuorum (55) describes the quorum of the metadata log: the controller is the leader and only voter, and the other nodes are
observers (KIP-595).

There is no such log here. Its end offset is computed: one record for each topic and partition ever created, and one for every half second
without events (KIP-835). No controller listens anywhere, so the nodes have no endpoints (KIP-853).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec import error_codes
from groupmock_codec.messages.k55_describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumNode,
    QuorumPartitionResponse,
    QuorumTopicResponse,
    ReplicaState,
)
from groupmock_codec.units import NS_PER_MS

from ..authorizer.acl import CLUSTER, DENIED_TEXT, DESCRIBE
from ..authorizer.right import Right
from ..budget import Ration

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..events import Request
    from ..turn import Turn

METADATA_TOPIC: Final = "__cluster_metadata"
# The first leader of the metadata log has this epoch in every release of Kafka.
EPOCH: Final = 1
IDLE_MS: Final = 500
NODES_SINCE: Final = 2
NOT_HERE: Final = "This server does not host this topic-partition."
TOPIC_COST: Final = 2
PARTITION_COST: Final = 2

RIGHTS: Final = (Right(DESCRIBE),)


def handle(cluster: Cluster, request: Request, turn: Turn) -> None:
    """Describe partition 0 of the metadata log if the request names only this partition; otherwise refuse all with
    UNKNOWN_TOPIC_OR_PARTITION (3)."""
    asked = request.message
    assert isinstance(asked, DescribeQuorumRequest)
    ration = Ration(turn.settings)
    ration.take_names([topic.topic_name for topic in asked.topics], TOPIC_COST)
    ration.take(sum([len(topic.partitions) for topic in asked.topics]), PARTITION_COST)
    if [(topic.topic_name, [each.partition_index for each in topic.partitions]) for topic in asked.topics] == [(METADATA_TOPIC, [0])]:
        turn.reply(request.ticket, _quorum(cluster, turn, request.version))
        return
    refused = [
        QuorumTopicResponse(
            topic_name=topic.topic_name,
            partitions=[
                QuorumPartitionResponse(
                    partition_index=each.partition_index, error_code=error_codes.UNKNOWN_TOPIC_OR_PARTITION, error_message=NOT_HERE
                )
                for each in topic.partitions
            ],
        )
        for topic in asked.topics
    ]
    turn.reply(request.ticket, DescribeQuorumResponse(topics=refused))


def _quorum(cluster: Cluster, turn: Turn, version: int) -> DescribeQuorumResponse:
    leader, topics = cluster.topics.controller(), cluster.topics
    end = turn.now // NS_PER_MS // IDLE_MS + topics.made + topics.partition_count + 1
    states = {
        node.node_id: ReplicaState(
            replica_id=node.node_id, log_end_offset=end, last_fetch_timestamp=turn.wall_ms, last_caught_up_timestamp=turn.wall_ms
        )
        for node in turn.environment.up
    }
    partition = QuorumPartitionResponse(
        leader_id=leader,
        leader_epoch=EPOCH,
        high_watermark=end,
        current_voters=[state for node, state in states.items() if node == leader],
        observers=[state for node, state in states.items() if node != leader],
    )
    topic = QuorumTopicResponse(topic_name=METADATA_TOPIC, partitions=[partition])
    return DescribeQuorumResponse(topics=[topic], nodes=[QuorumNode(node_id=leader)] if version >= NODES_SINCE else [])


def refused(request: Request, code: int, text: str) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=code, error_message=DENIED_TEXT[CLUSTER] if request.version >= NODES_SINCE else "")
