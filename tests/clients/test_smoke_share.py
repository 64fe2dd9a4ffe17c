"""The stock share consumer of confluent-kafka gets, accepts, releases and rejects records, and a lock ends when the clock is stepped. Waits
for events; asserts no duration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer

from groupmock import Broker

LOCK_S = 300
"""So long that no lock ends on a slow machine, unless the clock is stepped."""
KIND_OF = {3: AcknowledgeType.RELEASE, 4: AcknowledgeType.REJECT, 5: AcknowledgeType.REJECT}
"""The test releases or rejects the records with these offsets, and accepts all others."""
GIVE_UP = 60
"""A test has failed after this many polls of one second."""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(
        profile="kafka-4.4",
        topics={"orders": 1},
        seed=1,
        group_share_record_lock_duration_ms=LOCK_S * 1000,
        group_share_assignment_interval_ms=0,
    ) as broker:
        broker.configure_group("workers", {"share.auto.offset.reset": "earliest"})
        yield broker


@pytest.fixture
def worker(broker: Broker) -> Iterator[Callable[[str], ShareConsumer]]:
    made = []

    def make(name: str) -> ShareConsumer:
        consumer = ShareConsumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "workers",
                "client.id": name,
                "share.acknowledgement.mode": "explicit",
            }
        )
        consumer.subscribe(["orders"])
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close()


def _messages(consumer: ShareConsumer) -> list[Any]:
    for _ in range(GIVE_UP):
        if messages := consumer.poll(timeout=1.0):
            return list(messages)
    raise AssertionError("no records came")


def test_a_worker_accepts_releases_and_rejects_and_another_gets_what_is_left(
    broker: Broker, worker: Callable[[str], ShareConsumer]
) -> None:
    for _ in range(6):
        broker.produce("orders", b"work")
    anna = worker("anna")
    messages = _messages(anna)
    while len(messages) < 6:
        messages += _messages(anna)
    for message in messages:
        anna.acknowledge(message, KIND_OF.get(message.offset(), AcknowledgeType.ACCEPT))
    anna.commit_sync()
    assert [(message.offset(), message.delivery_count()) for message in _messages(anna)] == [(3, 2)]

    # Anna never acknowledges record 3 again, as if she had crashed.
    broker.step(LOCK_S)
    ben = worker("ben")
    messages = _messages(ben)
    assert [(message.offset(), message.delivery_count()) for message in messages] == [(3, 3)]
    ben.acknowledge(messages[0], AcknowledgeType.ACCEPT)
    ben.commit_sync()
    broker.wait_for("workers", acquired=0)
    assert [row.lag for row in broker.in_flight("workers")] == [0]
    assert "delivered to ben" in broker.story("workers")
