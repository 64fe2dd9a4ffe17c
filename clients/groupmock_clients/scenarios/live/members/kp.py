"""A member that is stock kafka-python: range, KIP-429's cooperative-sticky, our assignor (beside range while it changes over), the twin."""

from __future__ import annotations

from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka import __version__ as version
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor

from ....cooperative.kafka_python import CooperativeAssignor, CooperativeConsumer
from ..wish import COOPERATIVE, STICKY, Wish
from .desk import FETCH_MS, POLL_MS, Desk, Listener


class Told(Listener, ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types
    """kafka-python wants its own class."""


def run(wish: Wish, desk: Desk) -> None:
    """Until SIGTERM."""
    consumer, assignor = _consumer(wish)
    listener = Told(desk, None if wish.twin else assignor)
    consumer.subscribe(list(wish.topics), listener=listener)
    desk.say("ready", library=f"kafka-python {version}")
    try:
        while not desk.ended:
            batches = consumer.poll(timeout_ms=POLL_MS)
            desk.holds(consumer.assignment())
            for tp, records in batches.items():
                desk.delivered(tp.topic, tp.partition, [record.offset for record in records])
            topics = desk.topics()
            if topics is not None:
                consumer.subscribe(topics, listener=listener)
    finally:
        consumer.close()


def _consumer(wish: Wish) -> tuple[Any, CooperativeAssignor | None]:
    """The consumer, and our assignor if it has one."""
    options: dict[str, Any] = {
        "bootstrap_servers": wish.bootstrap, "group_id": wish.group, "client_id": wish.name, "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": wish.commit_ms, "session_timeout_ms": wish.session_ms, "heartbeat_interval_ms": wish.heartbeat_ms,
        "metadata_max_age_ms": wish.metadata_ms, "fetch_max_wait_ms": FETCH_MS, "metrics_enabled": False,
    }  # fmt: skip
    assignor: CooperativeAssignor | None = None
    strategy: list[Any] = []
    for word in wish.assignors:
        if word == COOPERATIVE:
            assignor = CooperativeAssignor(
                wish.design, delay_ms=wish.delay_ms, max_moves=wish.max_moves, move_interval_ms=wish.move_interval_ms
            )
            strategy.append(assignor)
        else:
            strategy.append(CooperativeStickyAssignor if word == STICKY else RangePartitionAssignor)
    if wish.twin:
        return CooperativeConsumer(**options, assignor=assignor), assignor
    consumer = KafkaConsumer(**options, partition_assignment_strategy=strategy)
    if assignor is not None:
        assignor.attach(consumer)
    return consumer, assignor
