"""The heartbeat fast path never gives a stock consumer an answer that a fault rule or a hold would change."""

from __future__ import annotations

import aiokafka
import pytest
from turns_of_loop import until

from groupmock import Broker


@pytest.fixture
def swift() -> dict[str, int]:
    """Return settings of a consumer that sends a heartbeat every 20 ms."""
    return {"heartbeat_interval_ms": 20, "session_timeout_ms": 10_000, "retry_backoff_ms": 20}


async def test_a_rule_about_heartbeats_strikes_the_next_one_of_a_stock_client_under_lease(swift: dict[str, int]) -> None:
    async with Broker(topics={"orders": 1}, group_initial_rebalance_delay_ms=0) as broker:
        async with aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=broker.bootstrap, group_id="g", **swift):
            before = await broker.wait_for("g", state="Stable")
            counters = broker._broker._up().server.counters
            await until(lambda: counters.repeated_heartbeats >= 3)
            rule = {"api": "Heartbeat", "group": "g"}
            async with broker.fault(rule, {"kind": "error", "code": "REBALANCE_IN_PROGRESS"}, times=1) as fault:
                repeated = counters.repeated_heartbeats
                await fault.wait()
                assert counters.repeated_heartbeats <= repeated + 1, "one may have been under way"
            await broker.wait_for("g", state="Stable", generation=before.generation + 1)


async def test_a_held_group_answers_nobody_by_an_old_lease(swift: dict[str, int]) -> None:
    """In a held group the member's heartbeat gets REBALANCE_IN_PROGRESS (27), and the member rejoins."""
    async with Broker(topics={"orders": 1}, group_initial_rebalance_delay_ms=0) as broker:
        async with aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=broker.bootstrap, group_id="g", **swift):
            before = await broker.wait_for("g", state="Stable")
            counters = broker._broker._up().server.counters
            await until(lambda: counters.repeated_heartbeats >= 3)
            async with await broker.hold("g", "PreparingRebalance"):
                await broker.rebalance("g")
                seen = counters.requests.get(11, 0)
                await until(lambda: counters.requests.get(11, 0) > seen)
                assert (await broker.groups)["g"].state == "PreparingRebalance"
            await broker.wait_for("g", state="Stable", generation=before.generation + 1)
