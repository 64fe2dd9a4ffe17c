"""Stock clients cope with holds, expired sessions, clock steps and stopped nodes, through `Broker` and `AsyncBroker`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from groupmock import Broker, GroupTimeout
from groupmock.core.steering import NoSuch
from groupmock.journal.read import read
from groupmock.journal.rows import CommandRow
from groupmock.rig.replay import replay
from groupmock_clients.cooperative.aiokafka import stop_wholly

PATIENCE = 20


@asynccontextmanager
async def consumer(bootstrap: str, client: str, **more: Any) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a member of group g after it has received its assignment. The block begins when it has its assignment, or before with
    `wait=False`."""
    wait = more.pop("wait", True)
    where = {"bootstrap_servers": bootstrap, "group_id": "g", "client_id": client, "heartbeat_interval_ms": 100}
    where |= {"auto_offset_reset": "earliest"} | more
    one = AIOKafkaConsumer("orders", **where)
    start = asyncio.ensure_future(one.start())
    try:
        if wait:
            await start
        yield one
    finally:
        await start
        await stop_wholly(one)


async def test_held_in_preparing_rebalance_a_client_waits_and_then_consumes() -> None:
    async with asyncio.timeout(PATIENCE), Broker(topics={"orders": 2}) as broker:
        async with await broker.hold("g", "PreparingRebalance"):
            async with asyncio.TaskGroup() as members:
                first = consumer(broker.bootstrap, "a", wait=False)
                await first.__aenter__()
                await broker.wait_for("g", state="PreparingRebalance", members=1)
                with pytest.raises(GroupTimeout):
                    await broker.wait_for("g", state="Stable", timeout=0.5)
                await broker.release("g")
                members.create_task(broker.wait_for("g", state="Stable", members=1))
        await first.__aexit__(None, None, None)


async def test_an_expired_client_comes_back_by_itself() -> None:
    async with asyncio.timeout(PATIENCE), Broker(topics={"orders": 2}) as broker:
        async with consumer(broker.bootstrap, "a"):
            before = await broker.wait_for("g", state="Stable", members=1)
            await broker.expire("g", "a")
            after = await broker.wait_for("g", state="Stable", members=1, generation=before.generation + 1)
            assert after.members[0].member_id != before.members[0].member_id


async def test_a_step_of_the_clock_expires_who_is_frozen_and_the_client_rejoins() -> None:
    async with asyncio.timeout(PATIENCE), Broker(topics={"orders": 2}) as broker:
        async with consumer(broker.bootstrap, "a", session_timeout_ms=30_000):
            before = await broker.wait_for("g", state="Stable", members=1)
            async with await broker.freeze("g", "a"):
                await broker.step(30)
                assert (await broker.groups)["g"].state == "Empty"
            await broker.wait_for("g", state="Stable", members=1, generation=before.generation + 1)


async def test_a_client_follows_its_coordinator_off_a_node_that_stops() -> None:
    settings = {"default.replication.factor": 2}
    async with asyncio.timeout(PATIENCE), Broker(topics={"orders": 2}, nodes=2, settings=settings, seed=1) as broker:
        async with consumer(broker.bootstrap, "a", metadata_max_age_ms=500, retry_backoff_ms=50) as one:
            before = await broker.wait_for("g", state="Stable", members=1)
            await broker.stop_node(2)  # Node 2 is stopped because it coordinates the group g.
            await broker.produce("orders", b"v", partition=1)
            assert (await one.getone()).value == b"v"
            await one.commit()
            assert (await broker.groups)["g"].members[0].member_id == before.members[0].member_id, "nobody had to rejoin"
            assert (await broker.groups)["g"].offsets == {"orders": {0: 0, 1: 1}}


async def test_a_forced_rebalance_with_a_chosen_leader() -> None:
    async with asyncio.timeout(PATIENCE), Broker(topics={"orders": 2}) as broker:
        async with consumer(broker.bootstrap, "a"), consumer(broker.bootstrap, "b"):
            before = await broker.wait_for("g", state="Stable", members=2)
            follower = next(member for member in before.members if member.member_id != before.leader)
            assert follower.client_id
            await broker.choose_leader("g", follower.client_id)
            await broker.rebalance("g")
            after = await broker.wait_for("g", state="Stable", members=2, generation=before.generation + 1)
            assert after.leader == follower.member_id


def test_what_cannot_be_steered_is_said_on_the_callers_thread() -> None:
    with Broker() as broker:
        with pytest.raises(NoSuch, match="no group 'g': there are none"):
            broker.expire("g", "m")
        with pytest.raises(NoSuch, match=r"no node 2: there is node 1 only \(serve --nodes N\)"), broker.stall_node(2):
            pass
        with broker.hold("g", "Empty"):
            pass
        with pytest.raises(NoSuch):
            broker.release("g")


async def test_a_run_that_was_steered_replays(tmp_path: Any) -> None:
    journal = tmp_path / "run.jsonl"
    async with asyncio.timeout(PATIENCE):
        async with Broker(topics={"orders": 2}, nodes=2, journal=str(journal), seed=3) as broker:
            await broker.hold("g", "CompletingRebalance")
            async with consumer(broker.bootstrap, "a", session_timeout_ms=30_000, metadata_max_age_ms=500, wait=False):
                await broker.wait_for("g", state="CompletingRebalance")
                await broker.release("g")
                group = await broker.wait_for("g", state="Stable", members=1)
                await broker.rebalance("g")
                await broker.wait_for("g", state="Stable", members=1, generation=group.generation + 1)
                await broker.freeze("g", "a", seconds=0.2)
                await broker.stall_node(1, seconds=0.3)
                await broker.step(60)
                await broker.move_coordinator("g", loading=0.1)
                await broker.stop_node(2)
                await broker.start_node(2)
                await broker.wait_for("g", state="Stable", members=1, generation=group.generation + 2)
    names = [row.name for row in read(journal)[1] if isinstance(row, CommandRow)]
    assert names[1:] == [
        "hold_group", "release_group", "force_rebalance", "freeze_member", "stall_node", "step_clock", "move_coordinator", "stop_node",
        "start_node",
    ]  # fmt: skip
    result = replay(journal)
    assert result.difference is None, str(result.difference)
    assert result.rows > 50
