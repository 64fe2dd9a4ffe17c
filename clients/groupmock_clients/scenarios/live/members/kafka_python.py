"""A member that is stock kafka-python: range, KIP-429's cooperative-sticky, our assignor (beside range while it changes over), the twin."""

from __future__ import annotations

from typing import Any, Final

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka import __version__ as version
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from ....cooperative.kafka_python import CooperativeAssignor, CooperativeConsumer
from ..member_spec import COOPERATIVE, MemberSpec
from .channel import FETCH_MS, POLL_MS, Channel, Listener

STOCK: Final = {each.name: each for each in (CooperativeStickyAssignor, RangePartitionAssignor, RoundRobinPartitionAssignor)}


class Told(Listener, ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types
    """kafka-python wants its own class."""


def run(spec: MemberSpec, channel: Channel) -> None:
    """Until SIGTERM."""
    consumer, assignor = _consumer(spec)
    listener = Told(channel, None if spec.twin else assignor)
    consumer.subscribe(list(spec.topics), listener=listener)
    channel.say("ready", library=f"kafka-python {version}")
    try:
        while not channel.ended:
            batches = consumer.poll(timeout_ms=POLL_MS)
            channel.holds(consumer.assignment())
            for tp, records in batches.items():
                channel.delivered(tp.topic, tp.partition, [record.offset for record in records])
            topics = channel.topics()
            if topics is not None:
                consumer.subscribe(topics, listener=listener)
    finally:
        consumer.close()


def _consumer(spec: MemberSpec) -> tuple[Any, CooperativeAssignor | None]:
    """The consumer, and our assignor if it has one."""
    options: dict[str, Any] = {
        "bootstrap_servers": spec.bootstrap, "group_id": spec.group, "client_id": spec.name, "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": spec.commit_ms, "session_timeout_ms": spec.session_ms, "heartbeat_interval_ms": spec.heartbeat_ms,
        "metadata_max_age_ms": spec.metadata_ms, "fetch_max_wait_ms": FETCH_MS, "metrics_enabled": False,
    }  # fmt: skip
    assignor: CooperativeAssignor | None = None
    strategy: list[Any] = []
    for word in spec.assignors:
        if word == COOPERATIVE:
            assignor = CooperativeAssignor(
                spec.design, delay_ms=spec.delay_ms, max_moves=spec.max_moves, move_interval_ms=spec.move_interval_ms
            )
            strategy.append(assignor)
        else:
            strategy.append(STOCK[word])
    if spec.twin:
        return CooperativeConsumer(**options, assignor=assignor), assignor
    consumer = KafkaConsumer(**options, partition_assignment_strategy=strategy)
    if assignor is not None:
        assignor.attach(consumer)
    return consumer, assignor
