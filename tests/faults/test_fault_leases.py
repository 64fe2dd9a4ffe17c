"""The heartbeat fast path under fault rules and holds: no answer is repeated that a rule, or a steered group, would have changed."""

from __future__ import annotations

import json
from pathlib import Path

import aiokafka
import pytest
from fault_script import Run
from raw_wire import until

from groupmock import Broker

SEEDS = 160
SHARES = 2


def play(seed: int, path: Path, leases: bool) -> tuple[bytes, int]:
    run = Run(seed, path, leases)
    run.play()
    return path.read_bytes(), run.driver.counters.repeated_heartbeats


@pytest.mark.parametrize("share", range(SHARES))
def test_leases_change_nothing_whatever_rules_and_holds_there_are(tmp_path: Path, share: int) -> None:
    repeated = struck = 0
    for seed in range(10_000 + share, 10_000 + SEEDS, SHARES):
        with_leases, count = play(seed, tmp_path / "on.jsonl", True)
        without, none = play(seed, tmp_path / "off.jsonl", False)
        assert with_leases == without, f"seed {seed}: {first_difference(with_leases, without)}"
        assert none == 0
        repeated += count
        beats = {row["ticket"] for row in map(json.loads, without.splitlines()[1:]) if row["kind"] == "request" and row["api_key"] == 12}
        struck += sum(row["kind"] == "fault" and row.get("ticket") in beats for row in map(json.loads, without.splitlines()[1:]))
    assert repeated > 50 and struck > 5, f"{repeated} heartbeats were repeated, {struck} struck: the script proves nothing"


def first_difference(one: bytes, other: bytes) -> str:
    return next(f"{a!r} / {b!r}" for a, b in zip(one.splitlines(), other.splitlines(), strict=False) if a != b)


@pytest.fixture
def swift() -> dict[str, int]:
    """A consumer that beats every 20 ms."""
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
    """The rebalance that is held reaches the member: its heartbeat says 27 and it joins."""
    async with Broker(topics={"orders": 1}, group_initial_rebalance_delay_ms=0) as broker:
        async with aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=broker.bootstrap, group_id="g", **swift):
            before = await broker.wait_for("g", state="Stable")
            counters = broker._broker._up().server.counters
            await until(lambda: counters.repeated_heartbeats >= 3)
            async with broker.hold("g", "PreparingRebalance"):
                await broker.rebalance("g")
                seen = counters.requests.get(11, 0)
                await until(lambda: counters.requests.get(11, 0) > seen)  # it joins
                assert broker.groups["g"].state == "PreparingRebalance"
            await broker.wait_for("g", state="Stable", generation=before.generation + 1)
