"""A member that is stock confluent-kafka, which is librdkafka: range or cooperative-sticky."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import confluent_kafka

from ..wish import Wish
from .desk import FETCH_MS, POLL_MS, Desk


def run(wish: Wish, desk: Desk) -> None:
    """Until SIGTERM."""
    consumer = _consumer(wish)
    _subscribe(consumer, list(wish.topics), desk)
    desk.say("ready", library=f"confluent-kafka {confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})")
    try:
        while not desk.ended:
            message = consumer.poll(POLL_MS / 1000)
            desk.holds(consumer.assignment())
            if message is not None and message.error() is None:
                desk.delivered(str(message.topic()), int(message.partition() or 0), [int(message.offset() or 0)])
            topics = desk.topics()
            if topics is not None:
                _subscribe(consumer, topics, desk)
    finally:
        consumer.close()


def _consumer(wish: Wish) -> Any:
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": wish.bootstrap,
            "group.id": wish.group,
            "client.id": wish.name,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": wish.commit_ms,
            "session.timeout.ms": wish.session_ms,
            "heartbeat.interval.ms": wish.heartbeat_ms,
            "topic.metadata.refresh.interval.ms": wish.metadata_ms,
            "fetch.wait.max.ms": FETCH_MS,
            "partition.assignment.strategy": ",".join(wish.assignors),
        }
    )


def _subscribe(consumer: Any, topics: list[str], desk: Desk) -> None:
    consumer.subscribe(topics, on_assign=_heard(desk, "assigned"), on_revoke=_heard(desk, "revoked"), on_lost=_heard(desk, "lost"))


def _heard(desk: Desk, event: str) -> Callable[[Any, Any], None]:
    return lambda _, partitions: desk.heard(event, partitions)
