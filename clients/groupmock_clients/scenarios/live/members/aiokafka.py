"""A member that is stock aiokafka: with its own range assignor, with ours, or the twin."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from ....cooperative.aiokafka import CooperativeAssignor, CooperativeConsumer, RangeOrCooperative
from ..member_spec import COOPERATIVE, DUAL, RANGE, ROUND_ROBIN, MemberSpec
from .channel import FETCH_MS, POLL_MS, Channel, Listener

STOCK: Final = {RANGE: RangePartitionAssignor, ROUND_ROBIN: RoundRobinPartitionAssignor}


class Eager(Listener, ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """aiokafka wants its own class."""


def run(spec: MemberSpec, channel: Channel) -> None:
    """Until SIGTERM."""
    asyncio.run(_run(spec, channel))


async def _run(spec: MemberSpec, channel: Channel) -> None:
    consumer, assignor = _consumer(spec)
    await consumer.start()
    _subscribe(consumer, assignor, spec.twin, list(spec.topics), channel)
    channel.say("ready", library=f"aiokafka {_version()}")
    try:
        while not channel.ended:
            batches = await consumer.getmany(timeout_ms=POLL_MS)
            channel.holds(consumer.assignment())
            for tp, records in batches.items():
                channel.delivered(tp.topic, tp.partition, [record.offset for record in records])
            topics = channel.topics()
            if topics is not None:
                _subscribe(consumer, assignor, spec.twin, topics, channel)
    finally:
        await consumer.stop()


def _consumer(spec: MemberSpec) -> tuple[Any, CooperativeAssignor | None]:
    """The consumer, and our assignor if it has one."""
    options: dict[str, Any] = {
        "bootstrap_servers": spec.bootstrap, "group_id": spec.group, "client_id": spec.name, "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": spec.commit_ms, "session_timeout_ms": spec.session_ms, "heartbeat_interval_ms": spec.heartbeat_ms,
        "metadata_max_age_ms": spec.metadata_ms, "fetch_max_wait_ms": FETCH_MS,
    }  # fmt: skip
    (word,) = spec.assignors  # more than one costs aiokafka a JoinGroup each
    if word not in (COOPERATIVE, DUAL):
        return AIOKafkaConsumer(**options, partition_assignment_strategy=[STOCK[word]]), None
    kind = CooperativeAssignor if word == COOPERATIVE else RangeOrCooperative
    assignor = kind(spec.design, delay_ms=spec.delay_ms, max_moves=spec.max_moves, move_interval_ms=spec.move_interval_ms)
    if spec.twin:
        return CooperativeConsumer(**options, assignor=assignor), assignor
    consumer = AIOKafkaConsumer(**options, partition_assignment_strategy=[assignor])
    assignor.attach(consumer)
    return consumer, assignor


def _subscribe(consumer: Any, assignor: CooperativeAssignor | None, twin: bool, topics: list[str], channel: Channel) -> None:
    listener: Any
    if assignor is None or twin:
        listener = Eager(channel)
    else:
        listener = assignor.listener(Eager(channel, assignor))
    consumer.subscribe(topics, listener=listener)


def _version() -> str:
    from aiokafka import __version__

    return str(__version__)
