"""aiokafka's own stop() fails while a fetch waits for its retry or the coordinator is missing, and stop_wholly succeeds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from groupmock import Broker
from groupmock_clients.cooperative.aiokafka.stop import _rest, stop_wholly

PATIENCE = 20


class Heard(logging.Handler):
    """Sets `event` when aiokafka logs a failed fetch, after which the fetching task sleeps for the backoff time."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "Failed fetch messages" in record.getMessage():
            self.event.set()


@pytest.fixture
async def waits_to_fetch_again() -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a consumer whose leader is gone and which waits a minute before its next fetch."""
    heard = Heard()
    logger = logging.getLogger("aiokafka.consumer.fetcher")
    logger.addHandler(heard)
    try:
        async with asyncio.timeout(PATIENCE), Broker(topics={"orders": 2}, nodes=2, seed=1) as broker:
            one = AIOKafkaConsumer("orders", bootstrap_servers=broker.bootstrap, retry_backoff_ms=60_000)
            await one.start()
            for partition in one.assignment():
                # Without this request the node could stop before the consumer's first fetch, and then no fetch would fail.
                await one.position(partition)
            await broker.stop_node(2)
            await heard.event.wait()
            yield one
    finally:
        logger.removeHandler(heard)


def connections(consumer: Any) -> list[Any]:
    return [each for each in consumer._client._conns.values() if each.connected()]


async def test_by_itself_it_says_cancelled_and_leaves_connections(waits_to_fetch_again: AIOKafkaConsumer) -> None:
    """If this test fails, aiokafka has been fixed and stop_wholly is no longer needed."""
    with pytest.raises(asyncio.CancelledError):
        await waits_to_fetch_again.stop()
    assert connections(waits_to_fetch_again)
    await waits_to_fetch_again._client.close()


async def test_stopped_wholly_it_ends_and_leaves_nothing(waits_to_fetch_again: AIOKafkaConsumer) -> None:
    await stop_wholly(waits_to_fetch_again)
    assert not connections(waits_to_fetch_again)


@pytest.fixture
async def without_a_coordinator() -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a consumer with an uncommitted position and no coordinator."""
    async with asyncio.timeout(PATIENCE):
        async with Broker(topics={"orders": 2}, group_initial_rebalance_delay_ms=0) as broker:
            one = AIOKafkaConsumer(
                "orders", bootstrap_servers=broker.bootstrap, group_id="g", auto_offset_reset="earliest", retry_backoff_ms=50,
                heartbeat_interval_ms=50,
            )  # fmt: skip
            await one.start()
            await broker.produce("orders", b"one")
            await one.getone()
        while one._coordinator.coordinator_id is not None:  # noqa: ASYNC110  # there is no event
            await asyncio.sleep(0.01)
        yield one


async def test_by_itself_it_commits_for_ever(without_a_coordinator: AIOKafkaConsumer) -> None:
    """If this test fails, aiokafka has been fixed and stop_wholly is no longer needed."""
    stopping = asyncio.create_task(without_a_coordinator.stop())
    assert not (await asyncio.wait([stopping], timeout=2))[0]
    without_a_coordinator._coordinator._coordination_task.cancel()
    await asyncio.gather(stopping, return_exceptions=True)
    await _rest(without_a_coordinator)


async def test_stopped_wholly_it_gives_up_its_commit_and_leaves_nothing(without_a_coordinator: AIOKafkaConsumer) -> None:
    await stop_wholly(without_a_coordinator)
    assert not connections(without_a_coordinator)
    theirs = ("aiokafka", "GroupCoordinator", "Fetcher")
    assert not [task for task in asyncio.all_tasks() if any(word in repr(task.get_coro()) for word in theirs)]


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
