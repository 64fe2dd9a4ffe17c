"""Read facts about topics and configs from the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ..core.log.broker_configs import started
from ..core.log.described import Described, TopicConfigs, cluster_configs, node_configs
from ..core.log.placement import NO_LEADER
from ..core.log.replicas import in_sync, offline
from ..faults.plan import id_text

if TYPE_CHECKING:
    from ..core.cluster import Cluster
    from ..core.log.partition import Partition
    from ..core.log.topics import Topic

SOURCES: Final = {
    1: "topic", 2: "node", 3: "all nodes", 4: "start", 5: "default", 6: "logger", 7: "client metrics", 8: "group",
}  # fmt: skip
"""Maps Kafka's DescribeConfigsResponse.ConfigSource to the place where a value was set: on the topic, at run time on a node or on all
nodes, or at the start."""


class TopicRow(msgspec.Struct):
    """A topic in one row. `records` is the sum of end offsets minus start offsets; `size` is the number of bytes kept."""

    name: str
    partitions: int
    replication_factor: int
    internal: bool
    records: int
    size: int


class SegmentFacts(msgspec.Struct):
    """A segment: its first offset, its size in bytes, and its newest timestamp (ms since 1970), from which retention.ms counts."""

    base_offset: int
    size: int
    newest_ms: int


class PartitionFacts(msgspec.Struct):
    """A partition as its leader knows it. `leader` is -1 without one; `isr` are the replicas in sync; `offline` those on stopped nodes;
    `epochs` maps a leader epoch to the first offset that it wrote; `size` is the number of bytes kept."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]
    start_offset: int
    end_offset: int
    size: int
    epochs: dict[int, int]
    segments: list[SegmentFacts]


class TopicFacts(msgspec.Struct):
    """A topic with its partitions and configs. `topic_id` has the form of Kafka's tools; `configs` are those set on the topic."""

    name: str
    topic_id: str
    internal: bool
    replication_factor: int
    configs: dict[str, str]
    partitions: list[PartitionFacts]


class ConfigRow(msgspec.Struct):
    """The value of a config and its origin. `value` is null for a secret or a missing value; `source` is topic, node, all nodes, start
    or default."""

    value: str | None
    source: str
    read_only: bool


def topic_row(topic: Topic) -> TopicRow:
    """Return the facts of a topic that a list of topics shows."""
    records = sum(each.end - each.start for each in topic.partitions)
    size = sum(each.size for each in topic.partitions)
    return TopicRow(topic.name, len(topic.partitions), topic.replication_factor, topic.internal, records, size)


def topic_facts(cluster: Cluster, topic: Topic) -> TopicFacts:
    """Return a topic with its partitions, segments and configs."""
    return TopicFacts(
        name=topic.name,
        topic_id=id_text(topic.topic_id),
        internal=topic.internal,
        replication_factor=topic.replication_factor,
        configs=dict(topic.configs),
        partitions=[_partition(cluster, each) for each in topic.partitions],
    )


def _partition(cluster: Cluster, found: Partition) -> PartitionFacts:
    return PartitionFacts(
        partition=found.index,
        leader=found.leader,
        leader_epoch=found.leader_epoch,
        replicas=list(found.replicas),
        isr=list(in_sync(cluster.environment, found)),
        offline=offline(cluster.environment, found),
        start_offset=found.start,
        end_offset=found.end,
        size=found.size,
        epochs={each.epoch: each.start for each in found.epochs},
        segments=[SegmentFacts(each.base_offset, each.size, each.newest_ms) for each in found.segments.kept()],
    )


def topic_configs(cluster: Cluster, topic: Topic) -> dict[str, ConfigRow]:
    """Return the configs of a topic, with the defaults of the node that leads its first partition."""
    leader = topic.partitions[0].leader
    node = cluster.topics.controller() if leader == NO_LEADER else leader
    found = TopicConfigs(cluster.topics.broker_overrides(node), cluster.environment.settings).of(topic.configs)
    return _rows(found)


def configs_of_node(cluster: Cluster, node: int | None) -> dict[str, ConfigRow]:
    """Return the configs of a node. None returns the configs that were set for all nodes at run time."""
    environment = cluster.environment
    if node is None:
        # NO_LEADER is the id of no node, so only the overrides for all nodes are returned.
        overrides = cluster.topics.broker_overrides(NO_LEADER)
        return _rows(cluster_configs(overrides, environment.settings.quirks))
    overrides = cluster.topics.broker_overrides(node)
    static = started(environment.settings, environment.identity, node)
    return _rows(node_configs(static, overrides, environment.settings.quirks))


def _rows(found: list[Described]) -> dict[str, ConfigRow]:
    return {each.name: ConfigRow(each.value, SOURCES[each.source], each.read_only) for each in sorted(found, key=lambda one: one.name)}
