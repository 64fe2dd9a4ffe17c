"""Commands for nodes move a coordinator or a partition leader, or stop, start or stall a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ..effects import NodeChanged
from ..identity import Listener, Node
from .find import check_partition, live_node, next_up, node_of, offsets_partition
from .register import Arguments, Group, Milliseconds, NodeId, NotNow, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..turn import Turn

Partition = Annotated[int, Meta(description="partition of __consumer_offsets", ge=0)]
OfGroup = Annotated[Group | None, Meta(description="group id, of a group that may not exist yet; or say partition")]
OfPartition = Annotated[Partition | None, Meta(description="partition of __consumer_offsets; or say group")]


class MoveCoordinator(Arguments):
    """Move the coordinator of a group (or of a partition of __consumer_offsets) to another node, or unload and load it where it is.

    Waiting requests are answered NOT_COORDINATOR (16). Once the group is loaded, it has the state of its last record (Stable with its
    members, or Empty)."""

    group: OfGroup = None
    partition: OfPartition = None
    node: Annotated[NodeId | None, Meta(description="where to; null: the next node that runs")] = None
    loading_ms: Annotated[Milliseconds, Meta(description="so long the new coordinator answers 14 (COORDINATOR_LOAD_IN_PROGRESS)")] = 0


@steers("move_coordinator", MoveCoordinator)
def move_coordinator(cluster: Cluster, arguments: MoveCoordinator, turn: Turn) -> None:
    """Unload the group's coordinator and load it on another node (docs/kafka/group-protocol.md#load-unload-deletion)."""
    hosting = cluster.groups.hosting
    partition = offsets_partition(cluster, arguments.group, arguments.partition)
    node = live_node(cluster, arguments.node) if arguments.node is not None else next_up(turn, hosting.leader_of(partition) or 0)
    if node is None:
        raise NotNow("no node runs that could coordinate: start one first")
    hosting.make_topic(turn)
    hosting.load(turn, partition, node, arguments.loading_ms)


class UnloadCoordinator(Arguments):
    """Leave a group (or a partition of __consumer_offsets) without a coordinator: FindCoordinator answers COORDINATOR_NOT_AVAILABLE (15)
    until a coordinator is moved there."""

    group: OfGroup = None
    partition: OfPartition = None


@steers("unload_coordinator", UnloadCoordinator)
def unload_coordinator(cluster: Cluster, arguments: UnloadCoordinator, turn: Turn) -> None:
    """Unload the coordinator of a group. Parked requests are answered NOT_COORDINATOR (16) (docs/kafka/group-protocol.md#unload)."""
    partition = offsets_partition(cluster, arguments.group, arguments.partition)
    if cluster.groups.hosting.leader_of(partition) is None:
        raise NotNow(f"partition {partition} of __consumer_offsets is led by nobody already")
    cluster.groups.hosting.make_topic(turn)
    cluster.groups.hosting.unload(turn, partition)


class LoadCoordinator(Arguments):
    """Let a node become the coordinator of a partition of __consumer_offsets after some time; the former coordinator loses it at once."""

    partition: Partition
    node: NodeId
    loading_ms: Milliseconds = 0


@steers("load_coordinator", LoadCoordinator)
def load_coordinator(cluster: Cluster, arguments: LoadCoordinator, turn: Turn) -> None:
    """Load a coordinator on a node (docs/kafka/group-protocol.md#loading and docs/kafka/group-protocol.md#after-load)."""
    partition, node = offsets_partition(cluster, None, arguments.partition), live_node(cluster, arguments.node)
    cluster.groups.hosting.make_topic(turn)
    cluster.groups.hosting.load(turn, partition, node, arguments.loading_ms)


class MoveLeader(Arguments):
    """Make another node the leader of a topic's partition, which raises the leader epoch by one (KIP-320)."""

    topic: TopicName
    partition: Annotated[int, Meta(description="partition of the topic", ge=0)]
    node: NodeId


@steers("move_leader", MoveLeader)
def move_leader(cluster: Cluster, arguments: MoveLeader, turn: Turn) -> None:
    """Make a node the leader of a partition, and one of its replicas if it was none."""
    check_partition(cluster, arguments.topic, arguments.partition)
    cluster.topics.lead(turn, arguments.topic, arguments.partition, live_node(cluster, arguments.node))


class StopNode(Arguments):
    """Stop a node: its port refuses connections, its coordinators move to the next node that runs, its partitions to their next replica.

    With `clean`, coordinators move first and answer waiting requests with NOT_COORDINATOR (16), then connections are closed. Otherwise the
    node just dies."""

    node: NodeId
    clean: Annotated[bool, Meta(description="answer who waits before it goes")] = True
    loading_ms: Annotated[Milliseconds, Meta(description="so long the coordinators load where they go")] = 0


@steers("stop_node", StopNode)
def stop_node(cluster: Cluster, arguments: StopNode, turn: Turn) -> None:
    """Stop a node of the cluster. Partitions without a replica on another node are without a leader until the node starts again."""
    if all(each.node_id != node_of(cluster, arguments.node) for each in turn.environment.up):
        return
    turn.environment.up = tuple([each for each in turn.environment.up if each.node_id != arguments.node])
    turn.timers.cancel(("stall", str(arguments.node)))
    stopped = NodeChanged(arguments.node, "stopped")
    # The effects happen in order, so clients of a node that dies never get the NOT_COORDINATOR (16) of its coordinators.
    if not arguments.clean:
        turn.out.append(stopped)
    for hosting in cluster.hostings:
        for partition in hosting.led_by(arguments.node):
            heir = next_up(turn, arguments.node)
            if heir is None:
                hosting.unload(turn, partition)
            else:
                hosting.load(turn, partition, heir, arguments.loading_ms)
        hosting.stopped(arguments.node)
    cluster.topics.node_stopped(turn, arguments.node)
    if arguments.clean:
        turn.out.append(stopped)


class StartNode(Arguments):
    """Start a stopped node again on its port, as the leader of partitions that have no other leader. Also ends a stall."""

    node: NodeId
    loading_ms: Annotated[Milliseconds, Meta(description="so long the coordinators load that come back to it")] = 0


@steers("start_node", StartNode)
def start_node(cluster: Cluster, arguments: StartNode, turn: Turn) -> None:
    """Start a stopped node, or end the stall of a node that is up."""
    node = node_of(cluster, arguments.node)
    if any(each.node_id == node for each in turn.environment.up):
        resume(turn, node)
        return
    turn.environment.up = tuple([each for each in turn.environment.identity.nodes if each in turn.environment.up or each.node_id == node])
    for hosting in cluster.hostings:
        for partition in hosting.led_by(None):
            hosting.load(turn, partition, node, arguments.loading_ms)
    cluster.topics.node_started(turn, node)
    turn.out.append(NodeChanged(node, "started"))


class AddedListener(Arguments):
    """The address of a listener of the new node."""

    name: str
    protocol: str
    host: Annotated[str, Meta(min_length=1)]
    port: Annotated[int, Meta(ge=1, le=65535)]
    listens: str | None = None


class AddNode(Arguments):
    """Add a node with the next number. It leads and coordinates nothing until something is moved there, or a topic is created. Its port
    already listens when the command is submitted."""

    node: Annotated[NodeId, Meta(description="its id: one more than the last one's")]
    host: Annotated[str, Meta(description="what clients are told", min_length=1)]
    port: Annotated[int, Meta(description="what clients are told", ge=1, le=65535)]
    rack: Annotated[str | None, Meta(description="its broker.rack")] = None
    listens: Annotated[str | None, Meta(description="HOST:PORT where it listens, where that is another address")] = None
    listeners: Annotated[tuple[AddedListener, ...], Meta(description="its listeners, if the nodes have others than PLAINTEXT")] = ()


@steers("add_node", AddNode)
def add_node(cluster: Cluster, arguments: AddNode, turn: Turn) -> None:
    """Add the node to the cluster's identity (docs/kafka/differences.md#moving-leaders-adding-nodes)."""
    environment = turn.environment
    nodes = environment.identity.nodes
    if arguments.node != nodes[-1].node_id + 1:
        raise NotNow(f"the next node is node {nodes[-1].node_id + 1}")
    node = Node(arguments.node, arguments.host, arguments.port, arguments.rack, arguments.listens)
    added = [Listener(each.name, each.protocol, node.node_id, each.host, each.port, each.listens) for each in arguments.listeners]
    listeners = (*environment.identity.listeners, *added)
    environment.known_as(environment.identity._replace(nodes=(*nodes, node), listeners=listeners))
    environment.up = (*environment.up, node)
    turn.out.append(NodeChanged(node.node_id, "added"))


class StallNode(Arguments):
    """Let no bytes in or out of a node while its connections stay open, like a network that stalls. Timers continue, and sessions may
    expire."""

    node: NodeId
    ms: Annotated[Milliseconds | None, Meta(description="go on after so long; null: when the node is started")] = None


@steers("stall_node", StallNode)
def stall_node(cluster: Cluster, arguments: StallNode, turn: Turn) -> None:
    """Stall a node of the cluster. For a node that is stalled already, the later end counts."""
    node, key = live_node(cluster, arguments.node), ("stall", str(arguments.node))
    if arguments.ms is None:
        turn.timers.cancel(key)
    else:
        turn.timers.set(key, turn.after(arguments.ms))
    if node not in turn.environment.stalled:
        turn.environment.stalled.add(node)
        turn.out.append(NodeChanged(node, "stalled"))


def resume(turn: Turn, node: int) -> bool:
    """Resume a stalled node, and return whether it was stalled."""
    turn.timers.cancel(("stall", str(node)))
    if node not in turn.environment.stalled:
        return False
    turn.environment.stalled.discard(node)
    turn.out.append(NodeChanged(node, "resumed"))
    return True
