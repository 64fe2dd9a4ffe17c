"""A member that is stock aiokafka: with its own range assignor, with ours, or the twin."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from ....cooperative.aiokafka import CooperativeAssignor, CooperativeConsumer, RangeOrCooperative
from ..wish import COOPERATIVE, DUAL, Wish
from .desk import FETCH_MS, POLL_MS, Desk, Listener


class Eager(Listener, ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """aiokafka wants its own class."""


def run(wish: Wish, desk: Desk) -> None:
    """Until SIGTERM."""
    asyncio.run(_run(wish, desk))


async def _run(wish: Wish, desk: Desk) -> None:
    consumer, assignor = _consumer(wish)
    await consumer.start()
    _subscribe(consumer, assignor, wish.twin, list(wish.topics), desk)
    desk.say("ready", library=f"aiokafka {_version()}")
    try:
        while not desk.ended:
            batches = await consumer.getmany(timeout_ms=POLL_MS)
            desk.holds(consumer.assignment())
            for tp, records in batches.items():
                desk.delivered(tp.topic, tp.partition, [record.offset for record in records])
            topics = desk.topics()
            if topics is not None:
                _subscribe(consumer, assignor, wish.twin, topics, desk)
    finally:
        await consumer.stop()


def _consumer(wish: Wish) -> tuple[Any, CooperativeAssignor | None]:
    """The consumer, and our assignor if it has one."""
    options: dict[str, Any] = {
        "bootstrap_servers": wish.bootstrap, "group_id": wish.group, "client_id": wish.name, "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": wish.commit_ms, "session_timeout_ms": wish.session_ms, "heartbeat_interval_ms": wish.heartbeat_ms,
        "metadata_max_age_ms": wish.metadata_ms, "fetch_max_wait_ms": FETCH_MS,
    }  # fmt: skip
    (word,) = wish.assignors  # more than one costs aiokafka a JoinGroup each
    if word not in (COOPERATIVE, DUAL):
        return AIOKafkaConsumer(**options, partition_assignment_strategy=[RangePartitionAssignor]), None
    kind = CooperativeAssignor if word == COOPERATIVE else RangeOrCooperative
    assignor = kind(wish.design, delay_ms=wish.delay_ms, max_moves=wish.max_moves, move_interval_ms=wish.move_interval_ms)
    if wish.twin:
        return CooperativeConsumer(**options, assignor=assignor), assignor
    consumer = AIOKafkaConsumer(**options, partition_assignment_strategy=[assignor])
    assignor.attach(consumer)
    return consumer, assignor


def _subscribe(consumer: Any, assignor: CooperativeAssignor | None, twin: bool, topics: list[str], desk: Desk) -> None:
    listener: Any
    if assignor is None or twin:
        listener = Eager(desk)
    else:
        listener = assignor.listener(Eager(desk, assignor))
    consumer.subscribe(topics, listener=listener)


def _version() -> str:
    from aiokafka import __version__

    return str(__version__)
