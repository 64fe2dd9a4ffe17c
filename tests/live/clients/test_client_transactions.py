"""Stock transactional producers consume, transform, produce and commit in one transaction. A zombie is fenced, and no read_committed reader
sees an abort.

With --against the same tests run on Apache Kafka.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator

import confluent_kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import ProducerFenced
from stock_team import Cluster

COUNT = 20
PATIENCE = 20.0
WANTED = sorted(f"done-{number}" for number in range(COUNT))


class Topics:
    """A source topic with all its records, and a sink topic."""

    def __init__(self, cluster: Cluster) -> None:
        self.bootstrap, self.tag = cluster.bootstrap, uuid.uuid4().hex[:8]
        self.source, self.sink = f"source-{self.tag}", f"sink-{self.tag}"
        cluster.create_topic(self.source, 2)
        cluster.create_topic(self.sink, 1)
        for number in range(COUNT):
            cluster.produce(self.source, str(number).encode(), partition=number % 2)

    def read(self, level: str) -> list[str]:
        """Return all values of the sink topic that a consumer with that isolation level reads."""
        settings = {"bootstrap.servers": self.bootstrap, "group.id": f"reader-{self.tag}", "enable.partition.eof": True}
        consumer = confluent_kafka.Consumer(settings | {"isolation.level": level, "enable.auto.commit": False})
        consumer.assign([confluent_kafka.TopicPartition(self.sink, 0, 0)])
        found = []
        try:
            while (message := consumer.poll(PATIENCE)) is not None and not message.error():
                found.append((message.value() or b"").decode())
        finally:
            consumer.close()
        return found


@pytest.fixture
def topics(cluster: Cluster) -> Topics:
    return Topics(cluster)


@pytest.fixture
def consumer(topics: Topics) -> Iterator[confluent_kafka.Consumer]:
    settings = {"bootstrap.servers": topics.bootstrap, "group.id": f"workers-{topics.tag}", "auto.offset.reset": "earliest"}
    made = confluent_kafka.Consumer(settings | {"enable.auto.commit": False, "isolation.level": "read_committed"})
    made.subscribe([topics.source])
    yield made
    made.close()


def producer_of(topics: Topics) -> confluent_kafka.Producer:
    made = confluent_kafka.Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": f"worker-{topics.tag}", "log_level": 0})
    made.init_transactions(PATIENCE)
    return made


def test_librdkafka_consumes_transforms_and_produces_each_record_once(topics: Topics, consumer: confluent_kafka.Consumer) -> None:
    """The second transaction is aborted, so its records are consumed again."""
    producer, done, transactions = producer_of(topics), 0, 0
    while done < COUNT:
        messages = consumer.consume(5, PATIENCE)
        transactions += 1
        producer.begin_transaction()
        for message in messages:
            producer.produce(topics.sink, b"done-" + (message.value() or b""))
        if transactions == 2:
            producer.flush(PATIENCE)
            producer.abort_transaction(PATIENCE)
            # The loop runs backwards, so that the last seek of each partition goes to its first message.
            for message in reversed(messages):
                consumer.seek(confluent_kafka.TopicPartition(topics.source, message.partition() or 0, message.offset() or 0))
            continue
        producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), PATIENCE)
        producer.commit_transaction(PATIENCE)
        done += len(messages)
    assert sorted(topics.read("read_committed")) == WANTED
    assert len(topics.read("read_uncommitted")) > COUNT
    assert sorted(each.offset for each in consumer.committed(consumer.assignment(), PATIENCE)) == [COUNT // 2, COUNT // 2]


def test_librdkafka_fences_a_zombie(topics: Topics) -> None:
    zombie = producer_of(topics)
    zombie.begin_transaction()
    zombie.produce(topics.sink, b"zombie")
    zombie.flush(PATIENCE)
    producer_of(topics)
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        zombie.commit_transaction(PATIENCE)
    assert (refused.value.args[0].code(), refused.value.args[0].fatal()) == (confluent_kafka.KafkaError._FENCED, True)
    assert topics.read("read_committed") == []


def test_aiokafka_consumes_transforms_and_produces_each_record_once(topics: Topics) -> None:
    asyncio.run(_aiokafka(topics))
    assert sorted(topics.read("read_committed")) == WANTED


async def _aiokafka(topics: Topics) -> None:
    group = f"workers-{topics.tag}"
    settings = {"bootstrap_servers": topics.bootstrap}
    how = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "isolation_level": "read_committed"}
    async with (
        AIOKafkaProducer(**settings, transactional_id=f"worker-{topics.tag}") as producer,
        AIOKafkaConsumer(topics.source, **settings, group_id=group, **how) as consumer,
    ):
        done = 0
        while done < COUNT:
            found = await consumer.getmany(timeout_ms=1000, max_records=5)
            async with producer.transaction():
                for messages in found.values():
                    for message in messages:
                        await producer.send(topics.sink, b"done-" + message.value)
                offsets = {partition: messages[-1].offset + 1 for partition, messages in found.items()}
                if offsets:
                    await producer.send_offsets_to_transaction(offsets, group)
            done += sum(map(len, found.values()))
        with pytest.raises(ZeroDivisionError):
            async with producer.transaction():
                await producer.send_and_wait(topics.sink, b"aborted")
                raise ZeroDivisionError


def test_aiokafka_fences_a_zombie(topics: Topics) -> None:
    async def run() -> None:
        settings = {"bootstrap_servers": topics.bootstrap, "transactional_id": f"worker-{topics.tag}"}
        zombie, newer = AIOKafkaProducer(**settings), AIOKafkaProducer(**settings)
        await zombie.start()
        await newer.start()
        try:
            with pytest.raises(ProducerFenced):
                async with zombie.transaction():
                    await zombie.send_and_wait(topics.sink, b"zombie")
        finally:
            await newer.stop()
            await zombie.stop()

    asyncio.run(run())
    assert topics.read("read_committed") == []
