"""A consumer as users write it, for `groupmock audit --drive`: `audited.py aiokafka|kafka-python|confluent-kafka`.

It takes everything from the environment, commits automatically as the library does by default, and closes its consumer on SIGTERM. Timeouts
are shorter than the defaults, so that what waits for them does not take minutes. Plain enough for Python 3.8.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable

BOOTSTRAP, TOPIC, GROUP = (os.environ[f"GROUPMOCK_{name}"] for name in ("BOOTSTRAP", "TOPIC", "GROUP"))
CLIENT, INSTANCE = os.environ["GROUPMOCK_CLIENT_ID"], os.environ.get("GROUPMOCK_INSTANCE_ID")
PROTOCOL = os.environ.get("AUDITED_PROTOCOL")
ASSIGNOR = os.environ.get("AUDITED_ASSIGNOR", "range")
SESSION_MS, HEARTBEAT_MS, COMMIT_MS, METADATA_MS, POLL_MS, REQUEST_MS = 6000, 500, 500, 2000, 20000, 8000


async def aiokafka_consumer() -> None:
    """aiokafka."""
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(
        TOPIC, bootstrap_servers=BOOTSTRAP, group_id=GROUP, client_id=CLIENT, group_instance_id=INSTANCE, auto_offset_reset="earliest",
        session_timeout_ms=SESSION_MS, heartbeat_interval_ms=HEARTBEAT_MS, auto_commit_interval_ms=COMMIT_MS,
        metadata_max_age_ms=METADATA_MS, max_poll_interval_ms=POLL_MS, request_timeout_ms=REQUEST_MS)
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    await consumer.start()
    try:
        while not stopping.is_set():
            await consumer.getmany(timeout_ms=200)
    finally:
        await consumer.stop()


def kafka_python_consumer() -> None:
    """kafka-python."""
    from kafka import KafkaConsumer

    options: dict[str, object] = {} if INSTANCE is None else {"group_instance_id": INSTANCE}
    if ASSIGNOR == "cooperative-sticky":
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

        options["partition_assignment_strategy"] = [CooperativeStickyAssignor]
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=BOOTSTRAP, group_id=GROUP, client_id=CLIENT, auto_offset_reset="earliest",
        session_timeout_ms=SESSION_MS, heartbeat_interval_ms=HEARTBEAT_MS, auto_commit_interval_ms=COMMIT_MS,
        metadata_max_age_ms=METADATA_MS, max_poll_interval_ms=POLL_MS, request_timeout_ms=REQUEST_MS, **options)
    stopping = stopped_by_sigterm()
    try:
        while not stopping():
            consumer.poll(timeout_ms=200)
    finally:
        consumer.close()


def confluent_kafka_consumer() -> None:
    """confluent-kafka, which is librdkafka."""
    from confluent_kafka import Consumer

    options = {
        "bootstrap.servers": BOOTSTRAP, "group.id": GROUP, "client.id": CLIENT, "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": COMMIT_MS, "topic.metadata.refresh.interval.ms": METADATA_MS, "max.poll.interval.ms": POLL_MS,
        "socket.timeout.ms": REQUEST_MS,
    }
    if PROTOCOL is not None:  # session and heartbeat are the broker's (KIP-848)
        options["group.protocol"] = PROTOCOL
    else:
        options.update({"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS, "partition.assignment.strategy": ASSIGNOR})
    consumer = Consumer(options if INSTANCE is None else {**options, "group.instance.id": INSTANCE})
    consumer.subscribe([TOPIC])
    stopping = stopped_by_sigterm()
    try:
        while not stopping():
            consumer.poll(0.2)
    finally:
        consumer.close()


def stopped_by_sigterm() -> Callable[[], bool]:
    """Was SIGTERM sent?"""
    seen = []
    signal.signal(signal.SIGTERM, lambda *_: seen.append(True))
    return lambda: bool(seen)


LIBRARIES: dict[str, Callable[[], None]] = {
    "aiokafka": lambda: asyncio.run(aiokafka_consumer()),
    "kafka-python": kafka_python_consumer,
    "confluent-kafka": confluent_kafka_consumer,
}

if __name__ == "__main__":
    LIBRARIES[sys.argv[1]]()
