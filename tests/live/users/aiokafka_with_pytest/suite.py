"""The tests of the kitchen service, written by a reader of docs/start/first-steps.md, docs/how-to/faults.md and
docs/reference/python.md."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio
from kitchen import Kitchen, Receipts, started  # type: ignore[import-not-found]  # a folder by itself, as a user has it

from groupmock import AsyncBroker

pytestmark = pytest.mark.asyncio
Start = Callable[..., Kitchen]
QUICK = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 100, "metadata_max_age_ms": 500, "retry_backoff_ms": 50}


@pytest.fixture(scope="session")
def groupmock_config() -> dict[str, Any]:
    return {"topics": {"orders": 4, "orders.dead": 1}}


@pytest.fixture
def broker(groupmock_server_async: AsyncBroker) -> AsyncBroker:
    return groupmock_server_async


@pytest.fixture
def receipts() -> Receipts:
    return Receipts()


@pytest_asyncio.fixture
async def tasks() -> AsyncIterator[list[asyncio.Task[None]]]:
    running: list[asyncio.Task[None]] = []
    yield running
    for task in running:
        await stop(task)


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def order(broker: AsyncBroker, *ids: str) -> None:
    for number, each in enumerate(ids):
        await broker.produce("orders", json.dumps({"id": each}), partition=number % 4)


async def test_orders_are_served_and_committed(broker: AsyncBroker, receipts: Receipts, tasks: list[asyncio.Task[None]]) -> None:
    await order(broker, "a", "b", "c", "d", "e")
    tasks.append(started(Kitchen(broker.bootstrap, receipts, "anna", **QUICK)))
    view = await broker.wait_for("kitchen", state="Stable", members=1, lag=0)
    assert view.offsets["orders"] == {0: 2, 1: 1, 2: 1, 3: 1}
    assert receipts.written == {"a", "b", "c", "d", "e"}


async def test_a_second_instance_takes_its_share(broker: AsyncBroker, receipts: Receipts, tasks: list[asyncio.Task[None]]) -> None:
    tasks.append(started(Kitchen(broker.bootstrap, receipts, "anna", **QUICK)))
    await broker.wait_for("kitchen", state="Stable", members=1, assignment="orders")
    tasks.append(started(Kitchen(broker.bootstrap, receipts, "ben", **QUICK)))
    view = await broker.wait_for("kitchen", state="Stable", members=2, assignment="orders")
    assert sorted(len(member.assignment["orders"]) for member in view.members) == [2, 2]
    await order(broker, "a", "b", "c", "d")
    await broker.wait_for("kitchen", lag=0)
    assert receipts.tried == {"a": 1, "b": 1, "c": 1, "d": 1}


async def test_what_a_crashed_instance_had_not_committed_is_served_again(
    broker: AsyncBroker, receipts: Receipts, tasks: list[asyncio.Task[None]]
) -> None:
    cooking = asyncio.Event()

    async def never_done(order: str) -> None:
        cooking.set()
        await asyncio.Event().wait()

    await order(broker, "a")
    tasks.append(started(Kitchen(broker.bootstrap, receipts, "anna", cook=never_done, **QUICK)))
    await asyncio.wait_for(cooking.wait(), 10)
    async with await broker.freeze("kitchen", "anna"):  # A frozen member counts as dead: it sends nothing, not even a LeaveGroup.
        await broker.expire("kitchen", "anna")
        tasks.append(started(Kitchen(broker.bootstrap, receipts, "ben", **QUICK)))
        await broker.wait_for("kitchen", state="Stable", members=1, member="ben", lag=0)
        assert (receipts.written, receipts.tried["a"]) == ({"a"}, 2)


async def test_a_commit_for_a_generation_that_is_over_is_refused_and_survived(
    broker: AsyncBroker, receipts: Receipts, tasks: list[asyncio.Task[None]]
) -> None:
    cooking, done = asyncio.Event(), asyncio.Event()

    async def slowly(order: str) -> None:
        cooking.set()
        await done.wait()

    await order(broker, "a")
    kitchen = Kitchen(broker.bootstrap, receipts, "anna", cook=slowly, **QUICK | {"heartbeat_interval_ms": 3000})
    tasks.append(started(kitchen))
    await asyncio.wait_for(cooking.wait(), 10)
    await broker.set_generation("kitchen")
    done.set()
    (old,) = (await broker.wait_for("kitchen", state="PreparingRebalance", members=2)).members[:1]
    # aiokafka returns under a new member id, so the test need not wait until the old one expires.
    await broker.expire("kitchen", old.member_id)
    await broker.wait_for("kitchen", state="Stable", members=1, lag=0)
    assert (kitchen.refused, receipts.tried["a"], receipts.written) == (1, 2, {"a"})


async def test_who_polls_too_slowly_loses_its_partitions_to_another(
    broker: AsyncBroker, receipts: Receipts, tasks: list[asyncio.Task[None]]
) -> None:
    cooking, done = asyncio.Event(), asyncio.Event()

    async def slowly(order: str) -> None:
        cooking.set()
        await done.wait()

    await order(broker, "a")
    slow = Kitchen(broker.bootstrap, receipts, "anna", cook=slowly, max_poll_interval_ms=300, **QUICK)
    tasks.append(started(slow))
    await asyncio.wait_for(cooking.wait(), 10)
    await broker.wait_for("kitchen", state="Empty")  # aiokafka leaves the group by itself after max_poll_interval_ms.
    tasks.append(started(Kitchen(broker.bootstrap, receipts, "ben", **QUICK)))
    await broker.wait_for("kitchen", state="Stable", member="ben", lag=0)
    done.set()
    await broker.wait_for("kitchen", state="Stable", members=2)
    assert (slow.refused, receipts.tried["a"], receipts.written) == (1, 2, {"a"})


async def test_after_a_restart_it_goes_on_where_it_was(broker: AsyncBroker, receipts: Receipts, tasks: list[asyncio.Task[None]]) -> None:
    await order(broker, "a", "b", "c", "d")
    first = started(Kitchen(broker.bootstrap, receipts, "anna", **QUICK))
    await broker.wait_for("kitchen", lag=0)
    await stop(first)
    await broker.wait_for("kitchen", state="Empty")
    await order(broker, "e", "f", "g", "h")
    tasks.append(started(Kitchen(broker.bootstrap, receipts, "anna", **QUICK)))
    await broker.wait_for("kitchen", state="Stable", members=1, lag=0)
    assert set(receipts.tried) == set("abcdefgh")
    assert set(receipts.tried.values()) == {1}


async def test_a_poison_record_is_put_aside_and_the_partition_goes_on(
    broker: AsyncBroker, receipts: Receipts, tasks: list[asyncio.Task[None]]
) -> None:
    for value in (json.dumps({"id": "a"}), "no order at all", None, b"\xff\x00", json.dumps({"id": "b"})):
        await broker.produce("orders", value, key="anna", partition=2)
    tasks.append(started(Kitchen(broker.bootstrap, receipts, "anna", **QUICK)))
    await broker.wait_for("kitchen", lag=0, offsets={"orders/2": 5})
    assert receipts.written == {"a", "b"}
    assert [record.value for record in await broker.records("orders.dead")] == [b"no order at all", None, b"\xff\x00"]
