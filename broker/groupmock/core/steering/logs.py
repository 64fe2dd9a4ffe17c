"""Commands for logs do now what cleanup.policy would do later, without waiting for time, size or a dirty ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from ..log import compaction, retention
from ..log.placement import NO_LEADER
from ..log.topics import Topic
from .find import check_partition, node_of, topic_of
from .register import Arguments, BadArguments, NodeId, NotNow, TopicName, steers

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..log.partition import Partition
    from ..turn import Turn

MOST_LEAPT: Final = 2**40
"""A jump of offsets is limited to what five hundred empty batches can cover."""
OfTopic = Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="partition of the topic; null: all of them")]


class CompactTopic(Arguments):
    """Compact a topic's log as Kafka's log cleaner would: the newest record of each key stays, and tombstones stay for delete.retention.ms.

    The active segment is not compacted, as on Kafka: `roll` begins a new one first, so that everything written so far can be compacted."""

    topic: TopicName
    partition: OfTopic = None
    roll: Annotated[bool, Meta(description="begin a new segment first")] = False


@steers("compact_topic", CompactTopic)
def compact_topic(cluster: Cluster, arguments: CompactTopic, turn: Turn) -> None:
    """Run one cleaning round (core.log.compaction). If nothing can be cleaned, nothing happens."""
    topic, partitions = _chosen(cluster, arguments.topic, arguments.partition)
    _check_policy(cluster, topic, "compact")
    for partition in partitions:
        if arguments.roll:
            partition.segments.roll(partition.end, turn.wall_ms)
        done = compaction.compact(partition, cluster.topics.limits(topic, partition.leader), turn.wall_ms)
        if done is not None:
            turn.note("log_compacted", topic=topic.name, partition=partition.index, **done._asdict())


class RetainTopic(Arguments):
    """Apply retention.ms and retention.bytes to a topic's log now: records that are too old or exceed the size are deleted, and the log
    start offset moves."""

    topic: TopicName
    partition: OfTopic = None


@steers("retain_topic", RetainTopic)
def retain_topic(cluster: Cluster, arguments: RetainTopic, turn: Turn) -> None:
    """Delete old records: whole segments by age, and single batches by size (docs/kafka/differences.md#records-that-are-too-old)."""
    topic, partitions = _chosen(cluster, arguments.topic, arguments.partition)
    _check_policy(cluster, topic, "delete")
    logs = [retention.Aging(topic.name, partition, cluster.topics.limits(topic, partition.leader)) for partition in partitions]
    retention.shrink(turn, logs)
    turn.begin(lambda turn: retention.sweep(turn, logs))


class SetNextOffset(Arguments):
    """Give a partition's next record a higher offset; the gap stays empty. A log without records may begin anywhere."""

    topic: TopicName
    partition: Annotated[int, Meta(description="partition of the topic", ge=0)]
    offset: Annotated[int, Meta(description="of the next record", ge=0, le=2**62)]
    start: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="where a log without records begins; null: at that offset too")
    ] = None


@steers("set_next_offset", SetNextOffset)
def set_next_offset(cluster: Cluster, arguments: SetNextOffset, turn: Turn) -> None:
    """Set the next offset of a log. Waiting fetches are checked."""
    check_partition(cluster, arguments.topic, arguments.partition)
    partition = cluster.topics.require_partition(arguments.topic, arguments.partition)
    if arguments.offset < partition.end:
        raise NotNow(f"partition {arguments.partition} of topic {arguments.topic!r} goes to {partition.end} already: no offset comes again")
    if partition.start == partition.end:
        first = arguments.offset if arguments.start is None else arguments.start
    elif arguments.start is None:
        first = partition.end
    else:
        raise NotNow(f"partition {arguments.partition} of topic {arguments.topic!r} has records: it begins where it begins")
    if not 0 <= arguments.offset - first <= MOST_LEAPT:
        raise BadArguments(f"set_next_offset: from {first} to {arguments.offset}: a log leaps over 0 to {MOST_LEAPT} offsets")
    partition.go_on_at(arguments.offset, arguments.start)
    cluster.topics.fetches.changed(turn, [(arguments.topic, arguments.partition)])


class LagReplica(Arguments):
    """Keep a replica of a partition behind: it gets no new records from now on, and leaves the in-sync replicas.

    A consumer that fetches from it (KIP-392) gets only the records that it has, and OFFSET_OUT_OF_RANGE (1) beyond them."""

    topic: TopicName
    partition: Annotated[int, Meta(description="partition of the topic", ge=0)]
    node: NodeId


@steers("lag_replica", LagReplica)
def lag_replica(cluster: Cluster, arguments: LagReplica, turn: Turn) -> None:
    """Let a replica fall behind. A replica that lags already stays where it stopped first."""
    partition = _replica(cluster, arguments)
    if partition.leader == arguments.node:
        raise NotNow(f"node {arguments.node} leads partition {arguments.partition} of topic {arguments.topic!r}: move the leader first")
    partition.lagging.setdefault(arguments.node, partition.end)


class CatchUpReplica(Arguments):
    """Let a replica that was kept behind have the whole log again."""

    topic: TopicName
    partition: Annotated[int, Meta(description="partition of the topic", ge=0)]
    node: NodeId


@steers("catch_up_replica", CatchUpReplica)
def catch_up_replica(cluster: Cluster, arguments: CatchUpReplica, turn: Turn) -> None:
    """Let a replica catch up with the whole log. Fetches that wait there are checked."""
    partition = _replica(cluster, arguments)
    if partition.leader == NO_LEADER:
        raise NotNow(f"nobody leads partition {arguments.partition} of topic {arguments.topic!r}, so there is nobody to fetch from")
    if partition.lagging.pop(arguments.node, None) is not None:
        cluster.topics.fetches.changed(turn, [(arguments.topic, arguments.partition)])


def _replica(cluster: Cluster, named: LagReplica | CatchUpReplica) -> Partition:
    """Return the partition, after checking that the named node has a replica of it. Raises NoSuch, NotNow."""
    check_partition(cluster, named.topic, named.partition)
    partition = cluster.topics.require_partition(named.topic, named.partition)
    if node_of(cluster, named.node) not in partition.replicas:
        raise NotNow(
            f"node {named.node} has no replica of partition {named.partition} of topic {named.topic!r}: "
            f"those have one: {', '.join(map(str, partition.replicas))}"
        )
    return partition


def _chosen(cluster: Cluster, name: str, index: int | None) -> tuple[Topic, list[Partition]]:
    """Return the topic with the partition of that index, or with all its partitions. Raises NoSuch."""
    topic = topic_of(cluster, name)
    if index is not None:
        check_partition(cluster, name, index)
    return topic, topic.partitions if index is None else [topic.partitions[index]]


def _check_policy(cluster: Cluster, topic: Topic, wanted: str) -> None:
    """Refuse a topic whose cleanup policy does not include `wanted`. Raises NotNow."""
    policy = cluster.topics.config(topic, "cleanup.policy", cluster.topics.controller())
    if wanted not in policy.split(","):
        raise NotNow(f"topic {topic.name!r} has cleanup.policy={policy}: set it to {wanted}, or to compact,delete, first")
