"""Faults for consumer groups: conditions, `fence_member` and the ready plans work, and every run can be replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from cases import for_each
from consumer_wire import ConsumerWire
from replayed import replayed

from groupmock.faults.facts import for_consumer_groups
from groupmock.faults.plan import BadPlan, read_plan, ready_plans, rule_as_data
from groupmock.rig import WireRig
from groupmock.rig.wire import request
from groupmock_codec.error_codes import FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH

UNAUTHORIZED = 30
PLANS: Final = [name for name in ready_plans() if for_consumer_groups(read_plan(name))]


class House(ConsumerWire):
    def rule(self, when: dict[str, Any], do: str | dict[str, Any], **more: Any) -> None:
        asked = {"when": when, "do": {"kind": do} if isinstance(do, str) else do, **more}
        self.rig.command("add_faults", rules=[{"name": "r", **asked}])

    def fired(self, name: str = "r") -> int:
        return self.rig.driver.rules.registry.report(name).fired


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with replayed(House(tmp_path / "run.jsonl")) as made:
        yield made


HOLDS: Final[dict[str, Any]] = {
    "member_epoch": [1, 2], "progress": "stable", "group": "g", "member_id": "A", "instance_id": "i", "state": "Stable", "nth": 1,
}  # fmt: skip
FAILS: Final[dict[str, Any]] = {
    "member_epoch": 3, "progress": "un*", "group": "h", "member_id": "B", "instance_id": "j", "state": "Reconciling", "nth": 2,
}  # fmt: skip


@for_each("api", ["ConsumerGroupHeartbeat", "OffsetCommit", "OffsetFetch"])
def test_each_condition_sees_what_a_request_says(api: str, house: House) -> None:
    house.join("A", instance_id="i")
    ask = {
        "ConsumerGroupHeartbeat": lambda: house.beat("A", instance_id="i")[0], "OffsetCommit": lambda: house.commit("A"),
        "OffsetFetch": lambda: house.fetched("A"),
    }[api]  # fmt: skip
    for condition in HOLDS:
        for conditions, met in (({condition: HOLDS[condition]}, 1), ({condition: FAILS[condition]}, 0)):
            house.rule({"api": api} | conditions, {"kind": "error", "code": UNAUTHORIZED})
            assert (ask() == UNAUTHORIZED, house.fired()) == (bool(met), met), conditions
            house.rig.command("clear_faults")


def test_the_second_heartbeat_of_that_member_at_that_epoch(house: House) -> None:
    house.join("A")
    house.rule({"api": "ConsumerGroupHeartbeat", "member_id": "A", "member_epoch": 3, "nth": 2}, "observe")
    house.beat("A")
    house.join("B")
    for step in ({}, {"owned": [0, 1]}, {}):
        house.beat("B")
        house.beat("A", **step)
        assert house.fired() == 0
    house.beat("A")
    assert ({name: member.epoch for name, member in house.members.items()}, house.fired()) == ({"A": 3, "B": 3}, 1)


def test_a_subscription_names_topics(house: House) -> None:
    house.rule({"api": "ConsumerGroupHeartbeat", "topic": "t"}, "observe")
    house.join("A")
    house.beat("A")
    assert house.fired() == 1


def test_a_rule_that_missed_says_what_was_there(house: House) -> None:
    house.join("A")
    house.rule({"api": "ConsumerGroupHeartbeat", "member_epoch": 1, "progress": "unrevoked*"}, "drop", stage="request")
    house.beat("A")
    report = house.rig.driver.rules.registry.report("r")
    assert report.near_miss is not None
    assert report.near_miss.failed == ["member_epoch is 2, wanted 1", "progress is stable, wanted unrevoked*"]


REFUSED: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "nobody leads": ({"api": "ConsumerGroupHeartbeat", "role": "leader"}, "drop", "role can never hold"),
    "a generation": ({"api": "ConsumerGroupHeartbeat", "generation": 2}, "drop", "generation can never hold"),
    "no epoch": ({"api": "SyncGroup", "member_epoch": 2}, "drop", "member_epoch can never hold"),
    "no way to a target": ({"api": "Heartbeat", "progress": "stable"}, "drop", "progress can never hold"),
    "too old to name a member": ({"api": "OffsetFetch", "version": 8, "member_epoch": 2}, "drop", "member_epoch can never hold"),
    "a classic heartbeat": ({"api": "Heartbeat"}, "fence_member", "it names no member epoch"),
}


@for_each(("when", "do", "why"), REFUSED.values(), ids=REFUSED)
def test_what_a_request_does_not_say_is_refused(when: dict[str, Any], do: str, why: str) -> None:
    with pytest.raises(BadPlan, match=why):
        WireRig.make().command("add_faults", rules=[{"name": "r", "when": when, "do": {"kind": do}}])


def test_fence_member_is_110_until_it_joins_again(house: House) -> None:
    house.join("A")
    house.rule({"api": "ConsumerGroupHeartbeat"}, "fence_member", times=1)
    assert [house.beat("A", owned=[0, 1, 2, 3])[0] for _ in range(2)] == [FENCED_MEMBER_EPOCH, FENCED_MEMBER_EPOCH]
    assert (house.commit("A"), house.fetched("A"), house.fired()) == (STALE_MEMBER_EPOCH, STALE_MEMBER_EPOCH, 1)
    assert house.join("A") == (0, 3, [0, 1, 2, 3])


def test_who_only_joins_has_nothing_to_be_fenced_by(house: House) -> None:
    house.rule({"api": "ConsumerGroupHeartbeat"}, "fence_member", times=1)
    assert (house.join("A"), house.fired()) == ((0, 2, [0, 1, 2, 3]), 1)


def test_there_is_a_test_for_every_ready_plan_for_consumer_groups() -> None:
    assert set(PLANS) == {"stale-epoch", "fenced-member", "slow-revoker", "lost-heartbeat-answer"}


def under(house: House, name: str) -> None:
    """Activate the fault plan when the only member owns all partitions."""
    house.rig.command("add_faults", rules=[rule_as_data(rule) for rule in read_plan(name).rule])
    assert house.join("A")[2] == [0, 1, 2, 3]


def test_the_plan_stale_epoch(house: House) -> None:
    under(house, "stale-epoch")
    assert ([house.commit("A") for _ in range(2)], house.fired("stale-epoch")) == ([STALE_MEMBER_EPOCH, 0], 1)


def test_the_plan_fenced_member(house: House) -> None:
    under(house, "fenced-member")
    assert [house.beat("A")[0] for _ in range(4)] == [0, 0, FENCED_MEMBER_EPOCH, FENCED_MEMBER_EPOCH]
    assert (house.join("A"), house.beat("A")) == ((0, 3, [0, 1, 2, 3]), (0, 3, None))


def test_the_plan_slow_revoker(house: House) -> None:
    """The member that waits for partitions has the current epoch and none of them, and receives them after four seconds."""
    under(house, "slow-revoker")
    house.join("B")
    assert house.beat("A") == (0, 2, [0, 1])
    wire = house.rig.connect()
    wire.send(request(68, 1, house.said("A", [0, 1])))
    for _ in range(4):
        assert (wire.data, house.beat("B")) == (b"", (0, 3, None))
        house.rig.sleep(1_000)
    assert (wire.data != b"", house.beat("B")) == (True, (0, 3, [2, 3]))


def test_the_plan_lost_heartbeat_answer(house: House) -> None:
    """The member still has its old epoch, because the answer with the new epoch was lost. A heartbeat with all fields gets the full
    assignment (CG-33)."""
    under(house, "lost-heartbeat-answer")
    house.join("B")
    with pytest.raises(AssertionError):
        house.beat("A")
    assert house.beat("A") == (0, 2, None)
    full = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 60_000}
    assert house.beat("A", [0, 1, 2, 3], **full) == (0, 2, [0, 1])
    assert (house.beat("A", [0, 1]), house.beat("B")) == ((0, 3, None), (0, 3, [2, 3]))
