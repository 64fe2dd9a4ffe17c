"""confluent-kafka with group.protocol=consumer (KIP-848) joins, hands partitions over, commits, returns, and subscribes by expression.

With --against the same tests run on Apache Kafka.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Final

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from stock_team import Cluster

PATIENCE: Final = 40.0
RECORDS: Final = 60


class Readers:
    """Consumers of one group that are polled in turn, with the records and partitions of each."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap, self.topic, self.group = bootstrap, topic, f"g-{uuid.uuid4().hex[:8]}"
        self.all: dict[str, confluent_kafka.Consumer] = {}
        self.read: dict[str, list[bytes]] = {}

    def join(self, name: str, subscription: str | None = None, instance: str | None = None) -> None:
        settings = {"bootstrap.servers": self.bootstrap, "group.id": self.group, "group.protocol": "consumer", "client.id": name}
        static = {} if instance is None else {"group.instance.id": instance}
        consumer = confluent_kafka.Consumer({**settings, **static, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.subscribe([subscription or self.topic])
        self.all[name] = consumer
        self.read.setdefault(name, [])

    def leave(self, name: str) -> None:
        self.all.pop(name).close()

    def has(self, name: str) -> list[tuple[str, int]]:
        return sorted((each.topic, each.partition) for each in self.all[name].assignment())

    def until(self, holds: Callable[[], bool]) -> None:
        """Poll all consumers until the condition holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, {name: (self.has(name), len(self.read[name])) for name in self.all}
            for name, consumer in list(self.all.items()):
                message = consumer.poll(0.05)
                if message is not None and not message.error():
                    self.read[name].append(message.value() or b"")


@pytest.fixture
def readers(cluster: Cluster) -> Iterator[Readers]:
    topic = f"orders-{uuid.uuid4().hex[:8]}"
    cluster.create_topic(topic, 6)
    for number in range(RECORDS):
        cluster.produce(topic, str(number).encode(), partition=number % 6)
    made = Readers(cluster.bootstrap, topic)
    yield made
    for name in list(made.all):
        made.leave(name)


def everything(readers: Readers) -> list[tuple[str, int]]:
    return [(readers.topic, index) for index in range(6)]


def described(readers: Readers) -> Any:
    # The admin client is kept in a variable, because answers arrive only while it exists.
    admin = AdminClient({"bootstrap.servers": readers.bootstrap})
    return admin.describe_consumer_groups([readers.group])[readers.group].result(10)


def test_two_share_and_one_takes_over_what_was_committed(readers: Readers) -> None:
    readers.join("one")
    readers.until(lambda: len(readers.read["one"]) == RECORDS)
    readers.all["one"].commit(asynchronous=False)
    readers.join("two")
    readers.until(lambda: [len(readers.has(name)) for name in ("one", "two")] == [3, 3])
    found = described(readers)
    assert (found.type.name, len(found.members), found.partition_assignor) == ("CONSUMER", 2, "uniform")
    readers.leave("one")
    readers.until(lambda: readers.has("two") == everything(readers))
    assert readers.read["two"] == [], "what was committed is not read again"
    readers.leave("two")
    assert described(readers).state.name == "EMPTY"


def test_a_static_member_is_back_where_it_was(readers: Readers) -> None:
    readers.join("one", instance="i-1")
    readers.join("two", instance="i-2")
    readers.until(lambda: [len(readers.has(name)) for name in ("one", "two")] == [3, 3])
    before = {name: readers.has(name) for name in ("one", "two")}
    readers.leave("two")
    readers.join("two", instance="i-2")
    readers.until(lambda: readers.has("two") == before["two"])
    assert readers.has("one") == before["one"], "nobody else noticed"


def test_a_subscription_by_expression(readers: Readers) -> None:
    readers.join("one", subscription=f"^{readers.topic[:-2]}.*")
    readers.until(lambda: readers.has("one") == everything(readers))
