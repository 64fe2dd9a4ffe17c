"""Commands that lose records at the end of a log, as a cluster does after an unclean election or with a broken disk (KIP-101, KIP-320)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ..log import reassigning
from ..log.replicas import heir
from .find import check_partition, live_node, topic_of
from .register import Arguments, BadArguments, NodeId, NotNow, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..log.partition import Partition
    from ..turn import Turn

PartitionIndex = Annotated[int, Meta(description="partition of the topic", ge=0)]


class TruncateLog(Arguments):
    """Remove the records of a partition from an offset on; the next record gets that offset. The leader and its epoch stay.

    A batch that contains the offset is lost as a whole. A consumer beyond the new end gets 1 (OFFSET_OUT_OF_RANGE), or since Fetch v12,
    if it names the epoch of its last record, the offset at which it diverges."""

    topic: TopicName
    partition: PartitionIndex
    offset: Annotated[int, Meta(description="the new end of the log", ge=0)]


@steers("truncate_log", TruncateLog)
def truncate_log(cluster: Cluster, arguments: TruncateLog, turn: Turn) -> None:
    """Truncate the log and check the fetches that wait for it."""
    partition = _partition(cluster, arguments.topic, arguments.partition)
    _check_end(arguments.topic, partition, arguments.offset)
    reassigning.truncate(turn, arguments.topic, partition, arguments.offset)
    cluster.topics.fetches.changed(turn, [(arguments.topic, partition.index)])


class ElectUncleanLeader(Arguments):
    """Make a replica the leader whose log is shorter than the old leader's: the records that it lacks are lost, and the leader epoch grows
    by one.

    This is what Kafka does with unclean.leader.election.enable when no replica in sync runs. Consumers find the truncation with
    OffsetForLeaderEpoch (KIP-320)."""

    topic: TopicName
    partition: PartitionIndex
    node: Annotated[NodeId | None, Meta(description="the new leader; null: the first replica that lags, or else the next replica")] = None
    offset: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="where the log of the new leader ends; null: where lag_replica stopped it")
    ] = None


@steers("elect_unclean_leader", ElectUncleanLeader)
def elect_unclean_leader(cluster: Cluster, arguments: ElectUncleanLeader, turn: Turn) -> None:
    """Truncate the log to that of the new leader and move the leader. In a cluster of one node, the node leads again."""
    partition = _partition(cluster, arguments.topic, arguments.partition)
    node = live_node(cluster, _successor(cluster, partition) if arguments.node is None else arguments.node)
    if arguments.offset is None and node not in partition.lagging:
        raise NotNow(f"node {node} has the whole log: name the offset where its log ends, or let the replica lag first (lag_replica)")
    end = partition.end_at(node) if arguments.offset is None else arguments.offset
    _check_end(arguments.topic, partition, end)
    reassigning.lead_uncleanly(turn, cluster.topics, arguments.topic, partition, node, end)


def _successor(cluster: Cluster, partition: Partition) -> int:
    up = {each.node_id for each in cluster.environment.up}
    behind = next((replica for replica in partition.replicas if replica in up and replica in partition.lagging), None)
    # Node 0 exists with --first-node-id 0, so only None means that there is no such replica.
    successor = heir(cluster.environment, partition) if behind is None else behind
    return partition.leader if successor is None else successor


def _partition(cluster: Cluster, name: str, index: int) -> Partition:
    """Return the partition, after checking that it is not of a topic that only the cluster writes to. Raises NoSuch, BadArguments."""
    check_partition(cluster, name, index)
    topic = topic_of(cluster, name)
    if topic.internal:
        raise BadArguments(f"topic {name!r} is Kafka's own: its records cannot be lost here, because the coordinators have them in memory")
    return topic.partitions[index]


def _check_end(name: str, partition: Partition, offset: int) -> None:
    if not partition.start <= offset <= partition.end:
        raise NotNow(
            f"partition {partition.index} of topic {name!r} goes from {partition.start} to {partition.end}: name an offset between these"
        )
