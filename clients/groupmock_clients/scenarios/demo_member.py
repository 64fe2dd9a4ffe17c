"""One member of the demo's group, in a process of its own so that it can crash: stock aiokafka or stock kafka-python, default assignors.

    python -m groupmock_clients.scenarios.demo_member LIBRARY NAME BOOTSTRAP TOPIC GROUP

Prints what it reads, a line a batch: `read 17 18 19`. SIGTERM closes the consumer as an application would, which leaves the group.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import threading
from collections.abc import Iterable

from .demo import COMMIT_MS, HEARTBEAT_MS, SESSION_MS


def main() -> int:
    """Run until SIGTERM."""
    logging.disable(logging.CRITICAL)  # a library's own warnings about a killed neighbour are not the demo's story
    library, name, bootstrap, topic, group = sys.argv[1:]
    if library == "aiokafka":
        asyncio.run(run_aiokafka(name, bootstrap, topic, group))
    else:
        run_kafka_python(name, bootstrap, topic, group)
    return 0


def tell(values: Iterable[bytes]) -> None:
    """One line to the demo."""
    sys.stdout.write(f"read {b' '.join(values).decode()}\n")
    sys.stdout.flush()


async def run_aiokafka(name: str, bootstrap: str, topic: str, group: str) -> None:
    """aiokafka's default assignor is roundrobin."""
    from aiokafka import AIOKafkaConsumer

    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id=name,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=COMMIT_MS,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
    )
    await consumer.start()
    try:
        while not ended.is_set():
            batches = await consumer.getmany(timeout_ms=200)
            if batches:
                tell(record.value for records in batches.values() for record in records)
    finally:
        await consumer.stop()


def run_kafka_python(name: str, bootstrap: str, topic: str, group: str) -> None:
    """kafka-python's default assignors are range, then roundrobin."""
    from kafka import KafkaConsumer

    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id=name,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=COMMIT_MS,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
    )
    while not ended.is_set():
        batches = consumer.poll(timeout_ms=500)
        if batches:
            tell(record.value for records in batches.values() for record in records)
    consumer.close()


if __name__ == "__main__":
    sys.exit(main())
