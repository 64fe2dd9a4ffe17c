"""`groupmock like` copies a cluster of real Apache Kafka, and both clusters answer requests alike. It needs java and the shared folder.

confluent-kafka writes the topics: records plain and compressed, in an aborted and in a committed transaction, a log with a deleted begin,
configs, and a group with commits. The test compares what an admin client and a consumer see.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from groupmock import Broker
from tools.oracle import kafka

PATIENCE = 30
GROUP = "kitchen"
TOPICS = {"orders": 3, "prices": 1, "paid": 1}
CONFIGS = {"cleanup.policy": "compact", "retention.ms": "86400000", "min.insync.replicas": "1"}


def fill(bootstrap: str, nodes: int) -> None:
    """Write topics, records, configs and commits into the cluster."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [NewTopic(name, count, nodes, config=CONFIGS if name == "prices" else {}) for name, count in TOPICS.items()]
    for done in admin.create_topics(wanted).values():
        done.result(PATIENCE)
    for compression in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": compression, "linger.ms": 50})
        for at in range(8):
            producer.produce("orders", key=f"{compression}{at}", value=f"{at}" * 20, partition=at % 2, headers=[("h", b"\xff")])
            producer.produce("prices", key=f"{at % 3}", value=None if at == 7 else f"{compression}{at}")
        assert producer.flush(PATIENCE) == 0
    for end in ("abort_transaction", "commit_transaction"):
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "till"})
        producer.init_transactions(PATIENCE)
        producer.begin_transaction()
        producer.produce("paid", key="k", value=end)
        producer.flush(PATIENCE)
        getattr(producer, end)(PATIENCE)
    for done in admin.delete_records([TopicPartition("orders", 0, 3)]).values():
        done.result(PATIENCE)
    offsets = [TopicPartition("orders", 0, 5, metadata="noted"), TopicPartition("orders", 1, 2), TopicPartition("prices", 0, 39)]
    for done in admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP, offsets)]).values():
        done.result(PATIENCE)


def seen(bootstrap: str) -> dict[str, Any]:
    """Return what an admin client and a consumer see of the cluster."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    places = [TopicPartition(name, index) for name, count in TOPICS.items() for index in range(count)]
    ends = {}
    for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]  # confluent-kafka's stubs
        found = admin.list_offsets(dict.fromkeys(places, spec))
        ends[spec.__class__.__name__] = sorted(
            (place.topic, place.partition, done.result(PATIENCE).offset) for place, done in found.items()
        )
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in TOPICS]
    configs = {
        resource.name: {name: entry.value for name, entry in done.result(PATIENCE).items() if entry.source == 1}
        for resource, done in admin.describe_configs(resources).items()
    }
    (committed,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)]).values()
    offsets = sorted((each.topic, each.partition, each.offset, each.metadata or "") for each in committed.result(PATIENCE).topic_partitions)
    return {"ends": ends, "configs": configs, "committed": offsets, "records": records(bootstrap, places)}


def records(bootstrap: str, places: list[TopicPartition]) -> list[Any]:
    """Return everything that a consumer with isolation level read_committed reads from the start of every partition."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "looks", "auto.offset.reset": "earliest", "isolation.level": "read_committed",
         "enable.partition.eof": True, "enable.auto.commit": False}
    )  # fmt: skip
    consumer.assign([TopicPartition(place.topic, place.partition, 0) for place in places])
    found: list[Any] = []
    ended: set[tuple[str, int]] = set()
    limit = time.monotonic() + PATIENCE
    while len(ended) < len(places) and time.monotonic() < limit:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            ended.add((str(message.topic()), int(message.partition() or 0)))
        else:
            found.append((message.topic(), message.partition(), message.offset(), message.key(), message.value(), message.headers(),
                          message.timestamp()))  # fmt: skip
    consumer.close()
    return sorted(found, key=lambda each: each[:3])


def compared(bootstrap: str, profile: str, nodes: int) -> list[str]:
    """Return the differences, one per line."""
    fill(bootstrap, nodes)
    with Broker(like=bootstrap.split(",")[0], like_records=1000, profile=profile, nodes=nodes) as copy:
        left, mine = seen(bootstrap), seen(copy.bootstrap)
        not_copied = copy._up().not_copied
    assert left["records"], "the cluster has records"
    found = [f"{name}\n  kafka {left[name]}\n  copy  {mine[name]}" for name in left if left[name] != mine[name]]
    return found + [f"not copied: {sentence}" for sentence in not_copied]


@pytest.mark.parametrize(("version", "profile", "nodes"), [("4.3.0", "kafka-4.3", 2), ("3.9.1", "kafka-3.9", 1), ("4.3.0", "groupmock", 1)])
def test_a_copy_answers_as_the_cluster_does(version: str, profile: str, nodes: int) -> None:
    with kafka(version, nodes=nodes) as bootstrap:
        assert compared(bootstrap, profile, nodes) == []
