"""A member that runs stock aiokafka: with its own assignors, with groupmock's, or as a CooperativeConsumer."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, __version__
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from ....cooperative.aiokafka import CooperativeAssignor, CooperativeConsumer, RangeOrCooperative, stop_wholly
from ..member_spec import COOPERATIVE, DUAL, MemberSpec
from .channel import Channel, Listener

STOCK: Final = {each.name: each for each in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)}
OURS: Final = {COOPERATIVE: CooperativeAssignor, DUAL: RangeOrCooperative}


class AiokafkaListener(Listener, ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """A listener with the base class that aiokafka requires."""


def run(spec: MemberSpec, channel: Channel) -> None:
    """Run the consumer until the channel has ended."""
    asyncio.run(consume(spec, channel))


async def consume(spec: MemberSpec, channel: Channel) -> None:
    """Run the consumer on the running event loop."""
    consumer, assignor = _consumer(spec)
    await consumer.start()
    _subscribe(spec, consumer, assignor, spec.topics, channel)
    channel.opened(f"aiokafka {__version__}", consumer, assignor)
    try:
        while not channel.ended:
            batches = await consumer.getmany(timeout_ms=spec.poll_ms)
            channel.polled(consumer)
            for tp, records in batches.items():
                channel.consumed(tp.topic, tp.partition, [(record.offset, record.value) for record in records])
            topics = channel.topics()
            if topics is not None:
                _subscribe(spec, consumer, assignor, topics, channel)
    finally:
        await stop_wholly(consumer)


def _consumer(spec: MemberSpec) -> tuple[Any, CooperativeAssignor | None]:
    """Return the consumer, and its CooperativeAssignor or None."""
    options = spec.python_options()
    (name,) = spec.assignors  # The consumer gets one assignor only, because aiokafka sends a JoinGroup for each.
    if name not in OURS:
        # Each consumer gets a class of its own, because the shipped sticky assignor keeps a member's partitions in class attributes.
        return AIOKafkaConsumer(**options, partition_assignment_strategy=[type("Stock", (STOCK[name],), {})]), None
    assignor = OURS[name](**spec.settings)
    if spec.twin:
        return CooperativeConsumer(**options, assignor=assignor), assignor
    consumer = AIOKafkaConsumer(**options, partition_assignment_strategy=[assignor])
    assignor.attach(consumer)
    return consumer, assignor


def _subscribe(spec: MemberSpec, consumer: Any, assignor: CooperativeAssignor | None, topics: Any, channel: Channel) -> None:
    listener: Any = None
    if spec.listens and (assignor is None or spec.twin):
        listener = AiokafkaListener(channel)
    elif spec.listens and assignor is not None:
        listener = assignor.listener(AiokafkaListener(channel, assignor if spec.commit_revoked else None))
    consumer.subscribe(list(topics), pattern=spec.pattern, listener=listener)
