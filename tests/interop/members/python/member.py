"""A member that is a consumer of a Python library: `member.py aiokafka|kafka-python|confluent-kafka`.

The protocol is told in ../../README.md. The library decides which interpreter runs it, so this file is plain enough for Python 3.8.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import queue
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

WISH: dict[str, Any] = json.loads(os.environ["MEMBER"])


def say(event: str, **facts: object) -> None:
    """One event, one line."""
    sys.stdout.write(json.dumps(dict(facts, event=event)) + "\n")
    sys.stdout.flush()


def ready(client: str) -> None:
    """The client is open."""
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
    """aiokafka."""
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
    """kafka-python."""
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
    """confluent-kafka, which is librdkafka."""
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


LIBRARIES: dict[str, Callable[[], None]] = {
    "aiokafka": lambda: asyncio.run(aiokafka_member()),
    "kafka-python": kafka_python_member,
    "confluent-kafka": confluent_kafka_member,
}

if __name__ == "__main__":
    LIBRARIES[sys.argv[1]]()
