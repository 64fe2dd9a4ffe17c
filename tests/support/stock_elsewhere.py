"""Replaces the `groupmock` fixture by any other broker, so that the tests can run against Apache Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from stock_team import Seen
from waiting import until

QUIET = {"log_level": 3}


class Groups:
    """Describes a group anew on each access to `cluster.groups[group]`."""

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def __getitem__(self, group: str) -> Seen:
        described = self._admin.describe_consumer_groups([group])[group].result(10)
        rows = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(10)
        offsets: dict[str, dict[int, int]] = {}
        for each in rows.topic_partitions:
            offsets.setdefault(each.topic, {})[each.partition] = each.offset
        name = {"PREPARING_REBALANCING": "PreparingRebalance", "COMPLETING_REBALANCING": "CompletingRebalance"}.get(
            described.state.name, described.state.name.title()
        )
        return Seen(name, described.partition_assignor or None, list(described.members), offsets)


class Elsewhere:
    """A running broker, observed through confluent-kafka's admin client."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, **QUIET})
        self._known: set[tuple[str, int]] = set()
        self.groups = Groups(self._admin)

    def create_topic(self, name: str, partitions: int = 1) -> None:
        self._admin.create_topics([NewTopic(name, partitions, 1)])[name].result(10)
        until(f"topic {name}", lambda: name in self._admin.list_topics(timeout=10).topics, lambda: "not in the metadata")

    def produce(self, topic: str, value: bytes | None, key: bytes | None = None, partition: int = 0) -> int:
        def known() -> bool:
            return partition in self._producer.list_topics(topic, 10).topics[topic].partitions

        if (topic, partition) not in self._known:  # The producer's metadata may be older than the partition.
            until(f"{topic}-{partition} to be known", known, lambda: "unknown partition")
            self._known.add((topic, partition))
        offsets: list[int | None] = []
        self._producer.produce(topic, value, key, partition, on_delivery=lambda _, message: offsets.append(message.offset()))
        self._producer.flush(10)
        assert offsets and offsets[0] is not None, f"{topic}-{partition}: no acknowledgement"
        return offsets[0]

    def records(self, topic: str) -> Sequence[Any]:
        reader = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "unused", "enable.auto.commit": False, **QUIET})
        try:
            ends = {
                index: reader.get_watermark_offsets(TopicPartition(topic, index), 10)[1]
                for index in self._admin.list_topics(topic, timeout=10).topics[topic].partitions
            }
            reader.assign([TopicPartition(topic, index, 0) for index in ends])
            found: list[Any] = []

            def all_read() -> bool:
                found.extend(reader.consume(100, 0.1))
                return len(found) >= sum(ends.values())

            until(f"{topic} to be read", all_read, lambda: len(found))
            return found
        finally:
            reader.close()

    def wait_for(self, group: str, state: str | None = None, members: int | None = None, *, timeout: float = 10.0) -> Seen:
        until(
            f"group {group} to be {state} with {members} members",
            lambda: self._is(group, state, members),
            lambda: self.groups[group],
            timeout,
        )
        return self.groups[group]

    def _is(self, group: str, state: str | None, members: int | None) -> bool:
        seen = self.groups[group]
        return state in (None, seen.state) and members in (None, len(seen.members))
