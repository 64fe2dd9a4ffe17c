"""Run beside a mock cluster (`groupmock run -- python stock_group.py LIBRARY`): two stock consumers come, one goes, the other goes."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from kp_reader import Reader

TURN_MS = 20


def where() -> dict[str, Any]:
    """What both libraries are told."""
    return {"bootstrap_servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"], "group_id": "kitchen", "heartbeat_interval_ms": 50}


async def aiokafka() -> None:
    """With names of their own; eager."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    producer = AIOKafkaProducer(bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"])
    await producer.start()
    anna, ben = (AIOKafkaConsumer("orders", client_id=name, session_timeout_ms=6000, **where()) for name in ("anna", "ben"))
    await anna.start()
    await ben.start()
    await _until(lambda: len(anna.assignment()) == len(ben.assignment()) == 3, producer)
    await anna.stop()
    await _until(lambda: len(ben.assignment()) == 6, producer)
    await ben.stop()
    await producer.stop()


async def _until(reached: Any, producer: Any) -> None:
    """A record goes to every partition meanwhile, again and again."""
    while not reached():
        for partition in range(6):
            await producer.send_and_wait("orders", b"one", partition=partition)
        await asyncio.sleep(TURN_MS / 1000)


def kafka_python() -> None:
    """By their default client id; cooperative-sticky."""
    from kafka import KafkaProducer
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

    def reader() -> Reader:
        return Reader("orders", partition_assignment_strategy=[CooperativeStickyAssignor], session_timeout_ms=6000, **where())

    def until(reached: Callable[[], bool]) -> None:
        while not reached():
            for partition in range(6):
                producer.send("orders", b"one", partition=partition)
            time.sleep(TURN_MS / 1000)

    producer = KafkaProducer(bootstrap_servers=os.environ["KAFKA_BOOTSTRAP_SERVERS"])
    one = reader()
    until(lambda: one.held == 6)
    two = reader()
    until(lambda: one.held == two.held == 3)
    two.close()
    until(lambda: one.held == 6)
    one.close()
    producer.close()


if __name__ == "__main__":
    if sys.argv[1] == "aiokafka":
        asyncio.run(aiokafka())
    else:
        kafka_python()
