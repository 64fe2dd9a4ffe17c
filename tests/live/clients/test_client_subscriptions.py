"""Subscriptions change: a new topic matches a pattern, a topic gets more partitions, members subscribe to different topics."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from stock_members import LIBRARIES
from stock_team import Cluster, Team, delivered, partitions, produce, settled

EVERY_LIBRARY = pytest.mark.parametrize("library", LIBRARIES)
QUICK_METADATA = {"metadata_ms": 300, "poll_ms": 30_000}


@EVERY_LIBRARY
def test_a_new_topic_that_matches_the_pattern_is_read(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library, topics=(), pattern=f"^{topic}.*", **QUICK_METADATA) for _ in range(2)]
    settled(people, partitions(topic, 6), sizes=(3, 3))
    late = f"{topic}-late"
    cluster.create_topic(late, 4)
    settled(people, partitions(topic, 6) | partitions(late, 4), sizes=(5, 5))
    delivered(people, produce(cluster, topic, "old") + produce(cluster, late, "new", across=range(4)))


@EVERY_LIBRARY
def test_a_topic_that_does_not_match_is_left_alone(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    cluster.create_topic(f"other-{topic}", 2)
    only = team.join(library, topics=(), pattern=f"^{topic}.*", **QUICK_METADATA)
    settled([only], partitions(topic, 6))
    cluster.create_topic(f"{topic}-seen", 1)
    settled([only], partitions(topic, 6) | partitions(f"{topic}-seen", 1))


# librdkafka is left out, because its patterns also match internal topics, on Kafka as well.
@pytest.mark.parametrize("library", ["aiokafka", "kafka-python"])
def test_a_pattern_does_not_match_topics_that_the_cluster_calls_internal(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    only = team.join(library, topics=(), pattern=f"^({topic}|__consumer_(offsets|{topic}))$", **QUICK_METADATA)
    settled([only], partitions(topic, 6))
    assert "__consumer_offsets" in AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=10).topics
    late = f"__consumer_{topic}"
    cluster.create_topic(late, 2)
    settled([only], partitions(topic, 6) | partitions(late, 2))


@EVERY_LIBRARY
def test_added_partitions_are_assigned_and_read_from_their_start(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    people = [team.join(library, **QUICK_METADATA) for _ in range(2)]
    settled(people, partitions(topic, 6), sizes=(3, 3))
    # The admin client is kept in a variable, because it must exist until the answer arrives.
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_partitions([NewPartitions(topic, 8)])[topic].result(10)
    early = produce(cluster, topic, "before-they-are-known", across=(6, 7))
    settled(people, partitions(topic, 8), sizes=(4, 4))
    delivered(people, early + produce(cluster, topic, "after", across=range(8)))


@EVERY_LIBRARY
def test_members_with_different_topics_get_only_their_own(library: str, cluster: Cluster, team: Team, topic: str) -> None:
    other = f"{topic}-b"
    cluster.create_topic(other, 2)
    # The leader learns only now, from its changed metadata, of the topic to which the other member subscribes.
    one = team.join(library, **QUICK_METADATA)
    two = team.join(library, topics=(other,), **QUICK_METADATA)
    settled([one, two], partitions(topic, 6) | partitions(other, 2), sizes=(6, 2))
    assert (one.owned(), two.owned()) == (partitions(topic, 6), partitions(other, 2))
