"""A member that runs stock kafka-python: with its own assignors, with groupmock's (beside range during a migration), or as a
CooperativeConsumer."""

from __future__ import annotations

from typing import Any, Final

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka import __version__ as version
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from ....cooperative.kafka_python import CooperativeAssignor, CooperativeConsumer
from ..member_spec import COOPERATIVE, MemberSpec
from .channel import Channel, Listener

STOCK: Final = {
    each.name: each for each in (CooperativeStickyAssignor, RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
}


class KafkaPythonListener(Listener, ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types
    """A listener with the base class that kafka-python requires."""


def run(spec: MemberSpec, channel: Channel) -> None:
    """Run the consumer until the channel has ended. It polls without a pause, because 3.0.12 forgets a join that ends while no poll
    runs, and joins again."""
    consumer, assignor = _consumer(spec)
    listener = _listener(spec, assignor, channel)
    consumer.subscribe(list(spec.topics), pattern=spec.pattern, listener=listener)
    channel.opened(f"kafka-python {version}", consumer, assignor)
    try:
        while not channel.ended:
            batches = consumer.poll(timeout_ms=spec.poll_ms)
            channel.polled(consumer)
            for tp, records in batches.items():
                channel.consumed(tp.topic, tp.partition, [(record.offset, record.value) for record in records])
            topics = channel.topics()
            if topics is not None:
                consumer.subscribe(topics, listener=listener)
    except Exception:
        consumer.close(autocommit=False)  # The consumer closes without a last commit, because a failing one would hide the error.
        raise
    consumer.close()


def _consumer(spec: MemberSpec) -> tuple[Any, CooperativeAssignor | None]:
    """Return the consumer, and its CooperativeAssignor or None."""
    options = {**spec.python_options(), "metrics_enabled": False}
    assignor = CooperativeAssignor(**spec.settings) if COOPERATIVE in spec.assignors else None
    if spec.twin:
        return CooperativeConsumer(**options, assignor=assignor), assignor
    consumer = KafkaConsumer(
        **options, partition_assignment_strategy=[assignor if name == COOPERATIVE else STOCK[name] for name in spec.assignors]
    )
    if assignor is not None:
        assignor.attach(consumer)
    return consumer, assignor


def _listener(spec: MemberSpec, assignor: CooperativeAssignor | None, channel: Channel) -> Any:
    if assignor is None or spec.twin:
        return KafkaPythonListener(channel)
    return assignor.listener(KafkaPythonListener(channel, assignor if spec.commit_revoked else None))
