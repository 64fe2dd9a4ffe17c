"""aiokafka rejoins and survives if a rebalance callback changes the subscription."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener

from groupmock_clients.cooperative.aiokafka import CooperativeAssignor, CooperativeConsumer, stop_wholly

ALL = frozenset((topic, number) for topic in "TU" for number in range(4))
OPTIONS: dict[str, Any] = {"group_id": "g", "client_id": "A", "heartbeat_interval_ms": 50, "retry_backoff_ms": 50}


class Widens(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """A listener that subscribes to one more topic when it receives a partition."""

    def __init__(self, consumer: Any, assignor: CooperativeAssignor) -> None:
        self.consumer, self.assignor = consumer, assignor
        self.held: set[tuple[str, int]] = set()
        self.has_all = asyncio.Event()

    def subscribe(self, topics: list[str]) -> None:
        twin = isinstance(self.consumer, CooperativeConsumer)
        self.consumer.subscribe(topics, listener=self if twin else self.assignor.listener(self))

    def on_partitions_revoked(self, revoked: Any) -> None:
        raise AssertionError(f"{revoked} should stay")

    async def on_partitions_assigned(self, assigned: Any) -> None:
        if not self.held:
            self.subscribe(["T", "U"])
        self.held |= {(tp.topic, tp.partition) for tp in assigned}
        if self.held == ALL:
            self.has_all.set()


def made(twin: bool, bootstrap: str) -> tuple[Any, CooperativeAssignor]:
    assignor = CooperativeAssignor()
    if twin:
        return CooperativeConsumer(bootstrap_servers=bootstrap, assignor=assignor, **OPTIONS), assignor
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, partition_assignment_strategy=[assignor], **OPTIONS)
    assignor.attach(consumer)
    return consumer, assignor


@pytest.mark.parametrize("twin", [False, True], ids=["stock", "twin"])
async def test_subscription_changed_in_a_callback_is_assigned(twin: bool, house: Any) -> None:
    """Without the adapter aiokafka 0.14 silently ends its coordination here."""
    house.broker.create_topic("U", 4)
    consumer, assignor = made(twin, house.broker.bootstrap)
    await consumer.start()
    try:
        widens = Widens(consumer, assignor)
        widens.subscribe(["T"])
        await asyncio.wait_for(widens.has_all.wait(), 20)
    finally:
        await (consumer.stop() if twin else stop_wholly(consumer))
