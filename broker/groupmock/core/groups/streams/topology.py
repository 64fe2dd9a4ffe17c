"""Configures the topology of a streams group for the topics of the cluster (ST-60 to ST-68). In Kafka: InternalTopicManager and
StreamsTopology, which are equal in 4.3.0 and 4.4.0."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from groupmock_codec import error_codes
from groupmock_codec.messages.k88_streams_group_heartbeat import Subtopology, TopicInfo, Topology

from ...java.hash_maps import HashKeys, Kind, filled_order, string_rank
from ...java.orders import SMALLEST_TABLE
from ..consumer.assignors.spec import Spreads
from ..refused import Refused
from .partition_counts import INCORRECTLY_PARTITIONED, NotConfigured, PartitionCounts, sources_of

T = TypeVar("T")
MISSING_SOURCE_TOPICS: Final = 1
MISSING_INTERNAL_TOPICS: Final = 3
NO_CONFIGS: Final[dict[str, str]] = {}
MOST_NAMED: Final = 3
"""A text names at most this number of topics."""


class NewTopic(msgspec.Struct, frozen=True):
    """An internal topic to be created. The replication factor 0 is the broker's default."""

    partitions: int
    replication_factor: int
    configs: dict[str, str]


class Configured(msgspec.Struct, frozen=True):
    """A topology with the numbers of its tasks and the partition counts of its internal topics. `status` is None if the topology is ready,
    else the code and text of a heartbeat's status, and then nobody has tasks. `missing` has the internal topics to be created, in Kafka's
    order. In Kafka: ConfiguredTopology."""

    status: tuple[int, str] | None
    tasks: dict[str, int] = {}
    stateful: frozenset[str] = frozenset()
    internal: dict[str, int] = {}
    missing: dict[str, NewTopic] = {}


def required_topics(topology: Topology) -> frozenset[str]:
    """Return the topics whose changes the group notices: sources, repartition topics that are read, and changelogs."""
    return frozenset(_required(topology.subtopologies))


def source_topics_of(topology: Topology) -> dict[str, frozenset[str]]:
    """Return the external sources and repartition sources of each subtopology."""
    return {each.subtopology_id: frozenset(sources_of(each)) for each in topology.subtopologies}


def task_count(configured: Configured) -> int:
    """Return the number of all active tasks."""
    return sum(configured.tasks.values())


def configure(topology: Topology, topics: Mapping[str, tuple[bytes, int]]) -> Configured:
    """Configure the topology for the existing topics, by name with id and partition count. Raises Refused for a topology that is invalid
    whatever topics exist, and UNKNOWN_SERVER_ERROR where Kafka's code throws (ST-73)."""
    by_id = {each.subtopology_id: each for each in topology.subtopologies}
    if len(by_id) < len(topology.subtopologies):
        raise _thrown()
    kind: Kind[str] = Kind(Spreads().__getitem__, string_rank)  # Each name is in several maps, and its hash is computed once.
    order = filled_order(kind, list(by_id), SMALLEST_TABLE)
    subtopologies = [by_id[each] for each in order]
    # Kafka puts the copartition groups into a map of their own, whose order is another one if the ids are equal in many bits.
    copartitioned = [topics_of for each in filled_order(kind, order, SMALLEST_TABLE) for topics_of in _copartition_groups(by_id[each])]
    existing = {name: partitions for name, (_, partitions) in topics.items()}
    counts = PartitionCounts(existing)
    try:
        _check_sources(subtopologies, existing)
        counts.decide(subtopologies, copartitioned)
        wanted = _wanted(kind, subtopologies, counts)
        missing = _missing(kind, subtopologies, wanted, existing)
    except NotConfigured as error:
        return Configured((error.code, error.text))
    if missing:
        return Configured((MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {_summary(list(missing))}"), missing=missing)
    return Configured(
        None,
        {each.subtopology_id: counts.tasks(each) for each in subtopologies},
        frozenset(each.subtopology_id for each in subtopologies if each.state_changelog_topics),
        {name: topic.partitions for name, topic in wanted.items()},
    )


def _thrown() -> Refused:
    return Refused(error_codes.UNKNOWN_SERVER_ERROR, "")


def _copartition_groups(subtopology: Subtopology) -> list[list[str]]:
    """Return the topics of each copartition group, in the order in which Kafka puts them into a set."""
    sources, repartition = subtopology.source_topics, [topic.name for topic in subtopology.repartition_source_topics]
    groups = subtopology.copartition_groups
    return [_picked(sources, each.source_topics) + _picked(repartition, each.repartition_source_topics) for each in groups]


def _picked(names: Sequence[str], indexes: Collection[int]) -> list[str]:
    if not all(0 <= index < len(names) for index in indexes):
        raise _thrown()
    return [names[index] for index in indexes]


def _check_sources(subtopologies: Sequence[Subtopology], existing: Mapping[str, int]) -> None:
    absent = {topic for each in subtopologies for topic in each.source_topics if topic not in existing}
    if absent:
        text = f"Source topics {_summary(sorted(absent, key=string_rank))} are missing."
        raise NotConfigured(MISSING_SOURCE_TOPICS, text)


def _wanted(kind: Kind[str], subtopologies: Sequence[Subtopology], counts: PartitionCounts) -> dict[str, NewTopic]:
    """Return all internal topics, in the order in which Kafka puts them into a map: by subtopology, repartition topics first."""
    wanted = {}
    for subtopology in sorted(subtopologies, key=lambda each: string_rank(each.subtopology_id)):
        for topics in (subtopology.repartition_source_topics, subtopology.state_changelog_topics):
            by_name = {topic.name: _new_topic(topic, counts) for topic in topics}
            if len(by_name) < len(topics):
                raise _thrown()
            wanted.update({name: by_name[name] for name in filled_order(kind, list(by_name), SMALLEST_TABLE)})
    return wanted


def _new_topic(topic: TopicInfo, counts: PartitionCounts) -> NewTopic:
    configs = {each.key: each.value for each in topic.topic_configs} if topic.topic_configs else NO_CONFIGS
    partitions = topic.partitions or counts.decided[topic.name]
    if len(configs) < len(topic.topic_configs) or partitions < 1:
        raise _thrown()
    return NewTopic(partitions, topic.replication_factor, configs)


def _missing(
    kind: Kind[str], subtopologies: Sequence[Subtopology], wanted: Mapping[str, NewTopic], existing: Mapping[str, int]
) -> dict[str, NewTopic]:
    """Return the internal topics that do not exist, in the order of the map from which Kafka removed the existing topics. Raises
    NotConfigured if one exists with another count."""
    wrong = {name for name, topic in wanted.items() if existing.get(name, topic.partitions) != topic.partitions}
    if wrong:
        name = next(name for name in filled_order(kind, list(_required(subtopologies)), SMALLEST_TABLE) if name in wrong)
        text = f"expected {wanted[name].partitions}, found {existing[name]}"
        raise NotConfigured(INCORRECTLY_PARTITIONED, f"Existing topic {name} has different number of partitions: {text}")
    if all(name in existing for name in wanted):
        return {}
    order = HashKeys(kind, keys=wanted)
    for name in filled_order(kind, list(_required(subtopologies)), SMALLEST_TABLE):
        if name in existing and name in wanted:
            order.remove(name)
    return {name: wanted[name] for name in order}


def _required(subtopologies: Sequence[Subtopology]) -> dict[str, None]:
    """Return the topics on which these subtopologies depend, in the order in which Kafka puts them into a set."""
    found: dict[str, None] = {}
    for each in subtopologies:
        found.update(dict.fromkeys(sources_of(each)))
        found.update(dict.fromkeys([topic.name for topic in each.state_changelog_topics]))
    return found


def _summary(names: Sequence[str]) -> str:
    """Return the first names, and how many others there are."""
    more = f" and {len(names) - MOST_NAMED} additional topics" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
