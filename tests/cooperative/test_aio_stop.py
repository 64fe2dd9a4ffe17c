"""aiokafka's stop() where a failed fetch waits for its next attempt: what it does by itself, and what stop_wholly makes of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from groupmock import Broker
from groupmock_clients.cooperative.aio_stop import stop_wholly

PATIENCE = 20


class Heard(logging.Handler):
    """Sets `event` when aiokafka says that a fetch failed: its task sleeps the backoff from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "Failed fetch messages" in record.getMessage():
            self.event.set()


@pytest.fixture
async def waits_to_fetch_again() -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer whose leader is gone, with a minute to wait before it tries again."""
    heard = Heard()
    logger = logging.getLogger("aiokafka.consumer.fetcher")
    logger.addHandler(heard)
    try:
        async with asyncio.timeout(PATIENCE), Broker(topics={"orders": 2}, nodes=2, seed=1) as broker:
            one = AIOKafkaConsumer("orders", bootstrap_servers=broker.bootstrap, retry_backoff_ms=60_000)
            await one.start()
            for partition in one.assignment():
                await one.position(partition)  # or the node may be gone before it was asked where to begin: no fetch fails then
            await broker.stop_node(2)
            await heard.event.wait()
            yield one
    finally:
        logger.removeHandler(heard)


def connections(consumer: Any) -> list[Any]:
    return [each for each in consumer._client._conns.values() if each.connected()]


async def test_by_itself_it_says_cancelled_and_leaves_connections(waits_to_fetch_again: AIOKafkaConsumer) -> None:
    """Green as long as stop_wholly is needed."""
    with pytest.raises(asyncio.CancelledError):
        await waits_to_fetch_again.stop()
    assert connections(waits_to_fetch_again)
    await waits_to_fetch_again._client.close()


async def test_stopped_wholly_it_ends_and_leaves_nothing(waits_to_fetch_again: AIOKafkaConsumer) -> None:
    await stop_wholly(waits_to_fetch_again)
    assert not connections(waits_to_fetch_again)


async def test_who_is_cancelled_meanwhile_is_cancelled() -> None:
    class Endless:
        async def stop(self) -> None:
            await asyncio.Event().wait()

    task = asyncio.create_task(stop_wholly(Endless()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
