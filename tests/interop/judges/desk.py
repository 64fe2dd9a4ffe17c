"""What the harness itself does with the cluster: topics, records, offsets, descriptions: by confluent-kafka, and some requests by hand."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, OffsetSpec, ResourceType

from . import wire
from .telling import wait
from .wire import Described

SECONDS = 15.0
SPEC: Any = OffsetSpec  # untyped in the library
ILLEGAL_GENERATION = 22


class Desk:
    """The cluster at `bootstrap` (one node)."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "delivery.timeout.ms": 15000, "log_level": 0})

    def create_topic(self, topic: str, partitions: int) -> None:
        for future in self._admin.create_topics([NewTopic(topic, partitions, 1)], request_timeout=SECONDS).values():
            future.result(SECONDS)
        wait(f"metadata of {topic}", lambda: self.partitions(topic) == partitions, lambda: self.partitions(topic))

    def partitions(self, topic: str) -> int:
        """How many the topic has; 0 while it is not there."""
        found = self._admin.list_topics(timeout=SECONDS).topics.get(topic)
        return len(found.partitions) if found is not None and found.error is None else 0

    def topics(self) -> set[str]:
        """Every name."""
        return set(self._admin.list_topics(timeout=SECONDS).topics)

    def produce(self, topic: str, values: dict[int, list[str]]) -> None:
        """`values` by partition; returns when all are acknowledged."""
        failed: list[object] = []
        for partition, those in values.items():
            for value in those:
                self._producer.produce(topic, value=value, key=value.split(" ")[0], partition=partition,
                                       on_delivery=lambda error, _: failed.append(error) if error else None)
        left = self._producer.flush(SECONDS)
        if left or failed:
            raise RuntimeError(f"the harness could not produce: {left} not acknowledged, {failed[:3]}")

    def ends(self, topic: str, spec: Any = None) -> dict[int, int]:
        """Log end offset by partition; `spec` for another place of the log."""
        asked = {TopicPartition(topic, each): spec or SPEC.latest() for each in range(self.partitions(topic))}
        return {each.partition: future.result(SECONDS).offset for each, future in self._admin.list_offsets(asked).items()}

    def starts(self, topic: str) -> dict[int, int]:
        """Log start offset by partition."""
        return self.ends(topic, SPEC.earliest())

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Committed offset by partition, those that have one."""
        answers = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        found = answers[group].result(SECONDS).topic_partitions
        return {each.partition: each.offset for each in found if each.topic == topic and each.offset >= 0}

    def describe(self, group: str) -> Described:
        """State, protocol and member ids of a classic group."""
        with wire.link(self.bootstrap) as to:
            return wire.describe(to, group)

    def describe_consumers(self, group: str) -> Described | None:
        """A group of the consumer protocol; None if there is none of that name."""
        with wire.link(self.bootstrap) as to:
            return wire.describe_consumers(to, group)

    def describe_streams(self, group: str) -> Described:
        """A group of the streams protocol."""
        with wire.link(self.bootstrap) as to:
            return wire.describe_streams(to, group)

    def configure_group(self, group: str, name: str, value: str) -> None:
        """One setting of a group (KIP-848), kept before the group is there."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        wanted = ConfigResource(ResourceType.GROUP, group, incremental_configs=[entry])
        self._admin.incremental_alter_configs([wanted])[wanted].result(SECONDS)

    def config(self, topic: str, name: str) -> str:
        """One setting of a topic."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return str(self._admin.describe_configs([resource])[resource].result(SECONDS)[name].value)

    def read(self, topic: str, level: str = "read_committed") -> list[tuple[str, str]]:
        """(key, value) of all that the topic holds now, without a group."""
        ends, found = self.ends(topic), []
        reader = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "the harness joins no group", "enable.auto.commit": False,
                           "enable.partition.eof": True, "isolation.level": level})
        try:
            reader.assign([TopicPartition(topic, each, 0) for each in ends])
            waiting = set(ends)
            while waiting:
                message = reader.poll(SECONDS)
                if message is None:
                    raise RuntimeError(f"{topic}: nothing came for {SECONDS:.0f} s")
                if message.error() is None:
                    found.append(((message.key() or b"").decode(), (message.value() or b"").decode()))
                else:
                    waiting.discard(message.partition())
        finally:
            reader.close()
        return found

    def generation(self, group: str, highest: int = 200) -> int:
        """The generation, which no admin API tells: the one number that a heartbeat of a living member is not refused for."""
        with wire.link(self.bootstrap) as to:
            member = wire.describe(to, group).members[0]
            for generation in range(highest):
                if wire.heartbeat(to, group, generation, member) != ILLEGAL_GENERATION:
                    return generation
        raise RuntimeError(f"{group}: no generation below {highest}")
