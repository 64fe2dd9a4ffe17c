"""A member that runs stock confluent-kafka (librdkafka) with its own assignors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from ..member_spec import CONSUMER, FETCH_MS, MemberSpec
from .channel import Channel


def run(spec: MemberSpec, channel: Channel) -> None:
    """Run the consumer until the channel has ended."""
    consumer = _consumer(spec)
    # librdkafka takes a topic that starts with ^ for a regular expression.
    _subscribe(consumer, spec.topics if spec.pattern is None else [spec.pattern], channel)
    library = f"confluent-kafka {confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})"
    channel.opened(library, consumer, None)
    try:
        while not channel.ended:
            message = consumer.poll(spec.poll_ms / 1000)
            channel.polled(consumer)
            if message is not None:
                _told(message, channel)
            topics = channel.topics()
            if topics is not None:
                _subscribe(consumer, topics, channel)
    finally:
        consumer.close()


def _told(message: Any, channel: Channel) -> None:
    """Report a record, or an error in its place."""
    error = message.error()
    if error is None:
        channel.consumed(str(message.topic()), int(message.partition() or 0), [(int(message.offset() or 0), message.value())])
    elif error.code() not in (KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART):
        channel.error(KafkaException(error))


def _consumer(spec: MemberSpec) -> Any:
    options = {
        "bootstrap.servers": spec.bootstrap,
        "group.id": spec.group,
        "client.id": spec.name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": spec.commit_ms is not None,
        "auto.commit.interval.ms": spec.commit_ms or 5000,
        "topic.metadata.refresh.interval.ms": spec.metadata_ms,
        "fetch.wait.max.ms": FETCH_MS,
        **_of_protocol(spec),
        **({} if spec.instance is None else {"group.instance.id": spec.instance}),
    }
    return confluent_kafka.Consumer({**options, **spec.options})


def _of_protocol(spec: MemberSpec) -> dict[str, Any]:
    """Return the consumer's options for the classic or the consumer protocol. Under the consumer protocol (KIP-848) the broker decides
    these values, and setting them is an error."""
    if spec.protocol == CONSUMER:
        return {"group.protocol": CONSUMER}
    return {
        "session.timeout.ms": spec.session_ms,
        "heartbeat.interval.ms": spec.heartbeat_ms,
        "partition.assignment.strategy": ",".join(spec.assignors),
    }


def _subscribe(consumer: Any, topics: Iterable[str], channel: Channel) -> None:
    events = {"on_assign": "assigned", "on_revoke": "revoked", "on_lost": "lost"}
    consumer.subscribe(list(topics), **{name: _callback(channel, event) for name, event in events.items()})


def _callback(channel: Channel, event: str) -> Callable[[Any, Any], None]:
    return lambda _, partitions: channel.callback(event, partitions)
