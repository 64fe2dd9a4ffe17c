"""A member that is stock confluent-kafka, which is librdkafka: range or cooperative-sticky."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import confluent_kafka

from ..member_spec import MemberSpec
from .channel import FETCH_MS, POLL_MS, Channel


def run(spec: MemberSpec, channel: Channel) -> None:
    """Until SIGTERM."""
    consumer = _consumer(spec)
    _subscribe(consumer, list(spec.topics), channel)
    channel.say("ready", library=f"confluent-kafka {confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})")
    try:
        while not channel.ended:
            message = consumer.poll(POLL_MS / 1000)
            channel.holds(consumer.assignment())
            if message is not None and message.error() is None:
                channel.delivered(str(message.topic()), int(message.partition() or 0), [int(message.offset() or 0)])
            topics = channel.topics()
            if topics is not None:
                _subscribe(consumer, topics, channel)
    finally:
        consumer.close()


def _consumer(spec: MemberSpec) -> Any:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": spec.bootstrap,
            "group.id": spec.group,
            "client.id": spec.name,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": spec.commit_ms,
            "session.timeout.ms": spec.session_ms,
            "heartbeat.interval.ms": spec.heartbeat_ms,
            "topic.metadata.refresh.interval.ms": spec.metadata_ms,
            "fetch.wait.max.ms": FETCH_MS,
            "partition.assignment.strategy": ",".join(spec.assignors),
        }
    )


def _subscribe(consumer: Any, topics: list[str], channel: Channel) -> None:
    events = {"on_assign": "assigned", "on_revoke": "revoked", "on_lost": "lost"}
    consumer.subscribe(topics, **{name: _callback(channel, event) for name, event in events.items()})


def _callback(channel: Channel, event: str) -> Callable[[Any, Any], None]:
    return lambda _, partitions: channel.callback(event, partitions)
