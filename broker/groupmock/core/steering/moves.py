"""These commands move all leaders, or all coordinators, of a node or of the whole cluster at once.

For a client this is like a rolling restart or a preferred election of a whole cluster: every partition that it reads, or every group that
it is in, moves at once, and one Metadata request must be enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ..log.replicas import heir
from .find import listed, live_node, next_up, node_of, topic_of
from .register import Arguments, Milliseconds, NodeId, NotNow, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn


class MoveLeaders(Arguments):
    """Move the leaders of all partitions at once, or only those of one topic or one node; each leader epoch grows by one.

    Each goes to its next in-sync replica, or to any other node if it has none; with `to`, all go to one node. Partitions with coordinators
    are moved by a command of their own."""

    node: Annotated[NodeId | None, Meta(description="what that node leads; null: what any node leads")] = None
    to: Annotated[NodeId | None, Meta(description="where to; null: each to its next replica")] = None
    topic: Annotated[TopicName | None, Meta(description="of that topic; null: of all")] = None


@steers("move_leaders", MoveLeaders)
def move_leaders(cluster: Cluster, arguments: MoveLeaders, turn: Turn) -> None:
    """Move the leaders to other nodes, which become replicas if they were none (see move_leader)."""
    if arguments.topic is not None:
        topic_of(cluster, arguments.topic)
    if arguments.node is not None:
        node_of(cluster, arguments.node)
    if arguments.to is not None:
        live_node(cluster, arguments.to)
    moves = list(_moves(cluster, arguments))
    if not moves:
        raise NotNow(f"no leader can be moved: topics: {listed(cluster.topics.names())}; nodes that run: {_running(turn)}")
    cluster.topics.lead_all(turn, moves)


def _moves(cluster: Cluster, arguments: MoveLeaders) -> Iterator[tuple[str, int, int]]:
    topics, hosted = cluster.topics, {hosting.topic: hosting.places for hosting in cluster.hostings}
    for name in topics.names() if arguments.topic is None else [arguments.topic]:
        for partition in topics.require(name).partitions:
            if partition.index < hosted.get(name, 0) or arguments.node not in (None, partition.leader):
                continue
            to = heir(cluster.environment, partition) if arguments.to is None else arguments.to
            if to is not None and to != partition.leader:
                yield name, partition.index, to


class MoveCoordinators(Arguments):
    """Move the coordinators of all groups at once, or those of one node. Waiting requests are answered NOT_COORDINATOR (16); committed
    offsets stay."""

    node: Annotated[NodeId | None, Meta(description="what that node coordinates; null: what any node does")] = None
    to: Annotated[NodeId | None, Meta(description="where to; null: each to the next node that runs")] = None
    loading_ms: Annotated[Milliseconds, Meta(description="so long the new coordinators answer 14 (COORDINATOR_LOAD_IN_PROGRESS)")] = 0


@steers("move_coordinators", MoveCoordinators)
def move_coordinators(cluster: Cluster, arguments: MoveCoordinators, turn: Turn) -> None:
    """Move every partition of __consumer_offsets to another node. If there is no other node, a partition is unloaded and loaded where it
    is."""
    hosting = cluster.groups.hosting
    if arguments.node is not None:
        node_of(cluster, arguments.node)
    to = None if arguments.to is None else live_node(cluster, arguments.to)
    if not turn.environment.up:
        raise NotNow("no node runs that could coordinate: start one first")
    hosting.make_topic(turn)
    led = [(each, leader) for each in range(hosting.hosted) if (leader := hosting.leader_of(each)) is not None]
    for partition, leader in led:
        if arguments.node in (None, leader) and to != leader:
            hosting.load(turn, partition, to or next_up(turn, leader) or leader, arguments.loading_ms)


def _running(turn: Turn) -> str:
    return listed([str(node.node_id) for node in turn.environment.up])
