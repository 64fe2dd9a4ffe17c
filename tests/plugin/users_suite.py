"""A fully typed user's test suite that a test runs and that `make types` checks with mypy --strict. Each `type:
ignore[unused-coroutine]` marks a forgotten `await`, and strict mypy complains if it is not needed."""

from __future__ import annotations

import asyncio
from typing import Any, assert_type

import pytest

from groupmock import (
    AsyncBroker,
    AsyncUndo,
    BadPlan,
    BadWait,
    Broker,
    CannotSteer,
    ConfigError,
    ConfigRow,
    FaultNeverFired,
    FaultNotSeen,
    GroupTimeout,
    GroupView,
    MemberView,
    Record,
    RequestRow,
    RuleReport,
    State,
    TopicFacts,
    Undo,
    UnknownRule,
)

SETTLED: State = "Empty"


@pytest.fixture(scope="session")
def groupmock_config() -> dict[str, Any]:
    return {"topics": {"orders": 2}}


def test_a_cluster_of_its_own(groupmock: Broker) -> None:
    assert_type(groupmock.bootstrap, str)
    assert_type(groupmock.seed, int)
    assert_type(groupmock.journal, str | None)
    assert_type(groupmock.produce("orders", "one coffee", key="anna", partition=1, headers=[("h", None)]), int)
    assert_type(groupmock.records("orders"), list[Record])
    assert_type(groupmock.topics, dict[str, TopicFacts])
    assert_type(groupmock.configs("orders"), dict[str, ConfigRow])
    groupmock.commit_offsets("kitchen", {"orders": {0: 0, 1: 1}})
    view = groupmock.wait_for("kitchen", state=SETTLED, members=0, offsets={"orders/1": 1}, lag=0)
    assert_type(view, GroupView)
    assert_type(view.members, list[MemberView])
    assert_type(groupmock.groups, dict[str, GroupView])
    assert_type(groupmock.story("kitchen"), str)
    groupmock.set_generation("kitchen", 7)
    assert groupmock.groups["kitchen"].generation == 7


def test_steering_and_faults(groupmock: Broker) -> None:
    assert_type(groupmock.hold("kitchen", "Stable"), Undo)
    with groupmock.stall_node(1), groupmock.fault({"api": "Heartbeat"}, "drop", must_fire=False) as rule:
        assert_type(rule.fired, int)
        assert_type(rule.report, RuleReport)
        with pytest.raises(FaultNotSeen):
            rule.wait(timeout=0.01)
    assert_type(groupmock.add_fault({"api": "Heartbeat"}, {"kind": "delay", "seconds": 1.0}, name="slow"), str)
    assert_type(groupmock.load_plan("lost-sync"), list[str])
    assert [report.name for report in groupmock.never_fired()] == ["slow", "lost-sync"]
    with pytest.raises(FaultNeverFired), groupmock.fault({"api": "Heartbeat"}, "drop"):
        pass


def test_what_is_wrong_is_said(groupmock_server: Broker) -> None:
    with pytest.raises(CannotSteer):
        groupmock_server.expire("kitchen", "anna")
    with pytest.raises(GroupTimeout):
        groupmock_server.wait_for("kitchen", timeout=0.01)
    with pytest.raises(BadWait):
        groupmock_server.wait_for("kitchen", state="Steady")  # type: ignore[arg-type]
    with pytest.raises(UnknownRule):
        groupmock_server.remove_fault("nope")
    with pytest.raises(BadPlan):
        groupmock_server.add_fault({"api": "Heartbeet"}, "drop")
    with pytest.raises(ConfigError):
        Broker(group_max_sise=3)  # type: ignore[call-arg]
    with pytest.raises(ConfigError):
        Broker(group_max_size="many")  # type: ignore[arg-type]


def test_coroutines(groupmock_async: AsyncBroker) -> None:
    async def main() -> None:
        assert_type(await groupmock_async.produce("orders", "one coffee"), int)
        assert_type(await groupmock_async.groups, dict[str, GroupView])
        assert_type(await groupmock_async.hold("kitchen", "Stable"), AsyncUndo)
        assert_type(await groupmock_async.story("kitchen"), str)
        async with await groupmock_async.stall_node(1):
            await groupmock_async.step(1)
        async with groupmock_async.hold("kitchen", "Stable"):
            assert_type(await groupmock_async.requests(), list[RequestRow])
        async with groupmock_async.fault({"api": "Heartbeat"}, "drop", must_fire=False) as rule:
            assert_type(await rule.fired, int)
        (first,), none = await asyncio.gather(groupmock_async.records("orders", 0), groupmock_async.records("orders", 1))
        assert_type(first, Record)
        assert none == []

    asyncio.run(main())


@pytest.mark.filterwarnings("error")
def test_forgotten_awaits(groupmock_server_async: AsyncBroker) -> None:
    broker = groupmock_server_async
    with pytest.warns(RuntimeWarning, match="never awaited"):
        broker.hold("kitchen", "Stable")
        broker.freeze("kitchen", "anna")
        broker.stall_node(1)
        broker.expire("kitchen", "anna")  # type: ignore[unused-coroutine]
        broker.produce("orders", "one coffee")  # type: ignore[unused-coroutine]
        broker.wait_for("kitchen", state="Stable")  # type: ignore[unused-coroutine]
        broker.groups  # type: ignore[unused-coroutine]  # noqa: B018
        broker.clear()  # type: ignore[unused-coroutine]
