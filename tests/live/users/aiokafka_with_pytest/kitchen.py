"""A service as a user writes it: it takes orders from Kafka with aiokafka, cooks each and writes a receipt.

An order is committed when its receipt is written, so that a crash serves it again and never skips it. A record that is no order goes to the
topic `orders.dead`, and the partition goes on. If the group refuses a commit, another instance has the partition now and serves the order
again; receipts are written once for each id.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError

Cook = Callable[[str], Awaitable[None]]


@dataclass
class Receipts:
    """The contents of a database: the ids of served orders and the number of attempts for each."""

    written: set[str] = field(default_factory=set)
    tried: Counter[str] = field(default_factory=Counter)

    def write(self, order: str) -> None:
        """Write a receipt once for each id."""
        self.written.add(order)


async def at_once(order: str) -> None:
    """Cook an order without waiting."""


class Kitchen:
    """One instance of the service."""

    def __init__(self, bootstrap: str, receipts: Receipts, name: str, cook: Cook = at_once, **settings: Any) -> None:
        self.receipts = receipts
        self.refused = 0
        """Number of commits that the group refused."""
        self._cook = cook
        self._bootstrap = bootstrap
        self._settings = {"client_id": name, "group_id": "kitchen", "auto_offset_reset": "earliest", "enable_auto_commit": False} | settings

    async def run(self) -> None:
        """Serve orders until the task is cancelled."""
        consumer = AIOKafkaConsumer("orders", bootstrap_servers=self._bootstrap, **self._settings)
        aside = AIOKafkaProducer(bootstrap_servers=self._bootstrap)
        async with aside, consumer:
            async for record in consumer:
                await self._serve(record, aside)
                await self._commit(consumer, record)

    async def _serve(self, record: ConsumerRecord, aside: AIOKafkaProducer) -> None:
        try:
            order = str(json.loads(record.value)["id"])
        except (ValueError, KeyError, TypeError):
            await aside.send_and_wait("orders.dead", record.value, key=record.key)
            return
        self.receipts.tried[order] += 1
        await self._cook(order)
        self.receipts.write(order)

    async def _commit(self, consumer: AIOKafkaConsumer, record: ConsumerRecord) -> None:
        try:
            await consumer.commit({TopicPartition(record.topic, record.partition): record.offset + 1})
        except (CommitFailedError, IllegalStateError):
            self.refused += 1


def started(kitchen: Kitchen) -> asyncio.Task[None]:
    """Start the kitchen as a task next to the test."""
    return asyncio.create_task(kitchen.run())
