"""A member that is a consumer of a Python library: `member.py aiokafka|kafka-python|confluent-kafka|faststream|quixstreams`.

The protocol is told in ../../README.md. The library decides which interpreter runs it, so this file is plain enough for Python 3.8.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

WISH: dict[str, Any] = json.loads(os.environ["MEMBER"])


def say(event: str, **facts: object) -> None:
    """Print an event as one line."""
    sys.stdout.write(json.dumps(dict(facts, event=event)) + "\n")
    sys.stdout.flush()


def ready(client: str) -> None:
    """Say that the client is open."""
    say("ready", client=f"{client} on Python {platform.python_version()}")


def record(partition: int, offset: int, value: bytes) -> None:
    """A record as the application got it."""
    say("record", partition=partition, offset=offset, value=value.decode())


class Orders:
    """Lines of stdin, read by a thread of their own; the end of stdin ends the process, so that no member outlives its harness."""

    def __init__(self) -> None:
        self._queue: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._queue.put(line.strip())
        os._exit(0)

    def next(self) -> str | None:
        """The next order, or None."""
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None


class Holding:
    """Tells what the member holds, whenever that changes."""

    def __init__(self) -> None:
        self._last: list[int] | None = None

    def now(self, partitions: Iterable[int]) -> None:
        held = sorted(partitions)
        if held != self._last:
            self._last = held
            say("holds", partitions=held)


def aiokafka_consumer() -> Any:
    """An AIOKafkaConsumer as wished, and its version."""
    import aiokafka
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

    assignors = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
    consumer = aiokafka.AIOKafkaConsumer(
        WISH["topic"], bootstrap_servers=WISH["bootstrap"], group_id=WISH["group"], group_instance_id=WISH["instance"],
        client_id=WISH["name"], auto_offset_reset="earliest", enable_auto_commit=False, session_timeout_ms=WISH["session_ms"],
        heartbeat_interval_ms=WISH["heartbeat_ms"], fetch_max_wait_ms=200, metadata_max_age_ms=2000,
        partition_assignment_strategy=(assignors[WISH["assignor"]],))
    return consumer, f"aiokafka {aiokafka.__version__}"


async def aiokafka_member() -> None:
    """Be a member by aiokafka."""
    consumer, version = aiokafka_consumer()
    orders, holding = Orders(), Holding()
    await consumer.start()
    ready(version)
    while True:
        batches = await consumer.getmany(timeout_ms=50)
        holding.now(each.partition for each in consumer.assignment())
        for batch in batches.values():
            for each in batch:
                record(each.partition, each.offset, each.value)
        order = orders.next()
        if order == "commit":
            await consumer.commit()
            say("committed")
        elif order == "leave":
            await consumer.stop()
            return say("left")


def kafka_python_consumer() -> Any:
    """A KafkaConsumer as wished, and its version; the library's releases from 2.0 to 3.0 differ in what they can."""
    import kafka
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

    assignors: dict[str, Any] = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
    if WISH["assignor"] == "cooperative-sticky":
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

        assignors["cooperative-sticky"] = CooperativeStickyAssignor
    options = {"group_instance_id": WISH["instance"]} if WISH["instance"] is not None else {}
    consumer = kafka.KafkaConsumer(
        WISH["topic"], bootstrap_servers=WISH["bootstrap"], group_id=WISH["group"], client_id=WISH["name"], auto_offset_reset="earliest",
        enable_auto_commit=False, session_timeout_ms=WISH["session_ms"], heartbeat_interval_ms=WISH["heartbeat_ms"], fetch_max_wait_ms=200,
        metadata_max_age_ms=2000, max_poll_interval_ms=30000, partition_assignment_strategy=[assignors[WISH["assignor"]]], **options)
    return consumer, f"kafka-python {kafka.__version__}"


def kafka_python_member() -> None:
    """Be a member by kafka-python."""
    consumer, version = kafka_python_consumer()
    orders, holding = Orders(), Holding()
    ready(version)
    while True:
        batches = consumer.poll(timeout_ms=50)
        holding.now(each.partition for each in consumer.assignment())
        for batch in batches.values():
            for each in batch:
                record(each.partition, each.offset, each.value)
        order = orders.next()
        if order == "commit":
            consumer.commit()
            say("committed")
        elif order == "leave":
            consumer.close()
            return say("left")


def confluent_kafka_commit(consumer: Any) -> None:
    """Commit what was read, if anything was."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        consumer.commit(asynchronous=False)
    except KafkaException as failed:
        if failed.args[0].code() != KafkaError._NO_OFFSET:  # nothing was read: nothing to commit
            raise
    say("committed")


def confluent_kafka_member() -> None:
    """Be a member by confluent-kafka, which is librdkafka."""
    import confluent_kafka

    options = {
        "bootstrap.servers": WISH["bootstrap"], "group.id": WISH["group"], "client.id": WISH["name"], "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "max.poll.interval.ms": 30000, "fetch.wait.max.ms": 200, "topic.metadata.refresh.interval.ms": 2000,
    }
    if WISH.get("protocol") == "consumer":  # session and heartbeat are the broker's (KIP-848)
        options.update({"group.protocol": "consumer", "group.remote.assignor": WISH["assignor"]})
    else:
        options.update({"session.timeout.ms": WISH["session_ms"], "heartbeat.interval.ms": WISH["heartbeat_ms"],
                        "partition.assignment.strategy": WISH["assignor"]})
    if WISH["instance"] is not None:
        options["group.instance.id"] = WISH["instance"]
    consumer: Any = confluent_kafka.Consumer(options)
    orders, holding = Orders(), Holding()
    consumer.subscribe([WISH.get("pattern") or WISH["topic"]])
    version = confluent_kafka.version()  # a string in 2.16, (string, number) in 2.3
    ready(f"confluent-kafka {version if isinstance(version, str) else version[0]} (librdkafka {confluent_kafka.libversion()[0]})")
    while True:
        message = consumer.poll(0.05)
        holding.now(each.partition for each in consumer.assignment())
        if message is not None and message.error() is None:
            record(message.partition(), message.offset(), message.value())
        elif message is not None and message.error().code() == confluent_kafka.KafkaError._FATAL:  # it does nothing any more
            say("failed", why=str(message.error()))
            os._exit(1)
        order = orders.next()
        if order == "commit":
            confluent_kafka_commit(consumer)
        elif order == "leave":
            consumer.close()
            return say("left")


async def faststream_member() -> None:
    """Be a member by a subscriber of FastStream, which acknowledges by hand."""
    from aiokafka.abc import ConsumerRebalanceListener
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from faststream import AckPolicy
    from faststream.__about__ import __version__
    from faststream.kafka import KafkaBroker, KafkaMessage

    holding, orders = Holding(), Orders()
    messages: list[Any] = []

    class Told(ConsumerRebalanceListener):
        """Tells what the member holds."""

        async def on_partitions_revoked(self, revoked: Any) -> None:
            messages.clear()  # they were another generation's

        async def on_partitions_assigned(self, assigned: Any) -> None:
            holding.now(each.partition for each in assigned)

    broker = KafkaBroker(WISH["bootstrap"], client_id=WISH["name"], metadata_max_age_ms=2000, logger=None)

    subscriber: Any = broker.subscriber(
        WISH["topic"], group_id=WISH["group"], group_instance_id=WISH["instance"], auto_offset_reset="earliest",
        ack_policy=AckPolicy.MANUAL, session_timeout_ms=WISH["session_ms"], heartbeat_interval_ms=WISH["heartbeat_ms"],
        fetch_max_wait_ms=200, partition_assignment_strategy=(RoundRobinPartitionAssignor,), listener=Told())

    async def handle(message: KafkaMessage) -> None:
        messages[:] = [message]
        raw: Any = message.raw_message
        record(raw.partition, raw.offset, raw.value)

    subscriber(handle)
    await broker.start()
    ready(f"FastStream {__version__}")
    while True:
        await asyncio.sleep(0.05)  # how often this program looks for orders
        order = orders.next()
        if order == "commit":
            for each in messages:
                await each.ack()  # commits all that was read, and once only
            messages.clear()
            say("committed")
        elif order == "leave":
            await broker.stop()
            return say("left")


def quixstreams_member() -> None:
    """Be a member by a pipeline of Quix Streams, which commits by itself."""
    import confluent_kafka
    import quixstreams
    from quixstreams.context import message_context

    holding, orders = Holding(), Orders()
    held: set[int] = set()
    positions: dict[int, int] = {}

    class Pipeline(quixstreams.Application):
        """Tells what the member holds: the library has no callback of rebalances."""

        def _on_assign(self, consumer: Any, topic_partitions: Any) -> None:
            super()._on_assign(consumer, topic_partitions)
            held.update(each.partition for each in topic_partitions)
            holding.now(held)

        def _on_revoke(self, consumer: Any, topic_partitions: Any) -> None:
            super()._on_revoke(consumer, topic_partitions)
            held.difference_update(each.partition for each in topic_partitions)
            positions.clear()

        _on_lost = _on_revoke

    options = {"client.id": WISH["name"], "session.timeout.ms": WISH["session_ms"], "heartbeat.interval.ms": WISH["heartbeat_ms"],
               "fetch.wait.max.ms": 200, "topic.metadata.refresh.interval.ms": 2000}
    if WISH["instance"] is not None:
        options["group.instance.id"] = WISH["instance"]
    pipeline = Pipeline(WISH["bootstrap"], consumer_group=WISH["group"], auto_offset_reset="earliest", commit_interval=0.2,
                        consumer_extra_config=options, consumer_poll_timeout=0.05, loglevel="ERROR",
                        state_dir=tempfile.mkdtemp(prefix="quix-"))

    def take(value: bytes, *_: Any) -> None:
        context = message_context()
        record(context.partition, context.offset, value)
        positions[context.partition] = context.offset + 1

    def obey() -> None:
        asked: Any = confluent_kafka.Consumer({"bootstrap.servers": WISH["bootstrap"], "group.id": WISH["group"]})
        while True:
            order = orders.next()
            if order == "commit":
                wanted = [confluent_kafka.TopicPartition(WISH["topic"], each) for each in positions]
                while any(each.offset != positions.get(each.partition, each.offset) for each in asked.committed(wanted) if wanted):
                    time.sleep(0.05)  # how often this program asks the cluster
                say("committed")
            elif order == "leave":
                return pipeline.stop()
            time.sleep(0.05)  # how often this program looks for orders

    pipeline.dataframe(pipeline.topic(WISH["topic"], value_deserializer="bytes")).update(take, metadata=True)
    threading.Thread(target=obey, daemon=True).start()
    ready(f"Quix Streams {quixstreams.__version__} on confluent-kafka {confluent_kafka.version()}")
    pipeline.run()
    say("left")


LIBRARIES: dict[str, Callable[[], None]] = {
    "aiokafka": lambda: asyncio.run(aiokafka_member()),
    "kafka-python": kafka_python_member,
    "confluent-kafka": confluent_kafka_member,
    "faststream": lambda: asyncio.run(faststream_member()),
    "quixstreams": quixstreams_member,
}

if __name__ == "__main__":
    LIBRARIES[sys.argv[1]]()
