"""Fault rules match StreamsGroupHeartbeat by its member and the group, as they match heartbeats of consumer groups, and the ready plans
work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from replayed import replayed
from streams_wire import StreamsWire, id_of

from groupmock.faults.facts import for_consumer_groups, for_other_groups
from groupmock.faults.plan import read_plan, rule_as_data
from groupmock_codec.error_codes import FENCED_MEMBER_EPOCH

UNAUTHORIZED: Final = 30
ALL: Final = {"0": [0, 1], "1": [0, 1]}
FIRST_EPOCH: Final = 2
HOLDS: Final[dict[str, Any]] = {
    "member_epoch": [2, 3], "progress": "stable", "group": "app", "member_id": id_of("anna"), "state": "Stable", "nth": 1,
    "client_id": "anna",
}  # fmt: skip
FAILS: Final[dict[str, Any]] = {
    "member_epoch": 7, "progress": "un*", "group": "h", "member_id": "B", "state": "NotReady", "nth": 2, "client_id": "ben",
}  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[StreamsWire]:
    with replayed(StreamsWire(tmp_path / "run.jsonl", topics={"orders": 2})) as made:
        yield made


def rule(world: StreamsWire, when: dict[str, Any], do: dict[str, Any]) -> None:
    world.rig.command("add_faults", rules=[{"name": "r", "when": {"api": "StreamsGroupHeartbeat", **when}, "do": do}])


def test_conditions_see_what_a_heartbeat_of_a_streams_group_says(world: StreamsWire) -> None:
    world.join("anna")
    world.rounds("anna", times=2)
    for condition in HOLDS:
        for value, met in ((HOLDS[condition], True), (FAILS[condition], False)):
            rule(world, {condition: value}, {"kind": "error", "code": UNAUTHORIZED})
            assert (world.beat("anna").error == UNAUTHORIZED, condition, value) == (met, condition, value)
            world.rig.command("clear_faults")


def test_a_refused_join_gives_no_tasks_and_the_next_one_does(world: StreamsWire) -> None:
    world.join("anna")
    world.rounds("anna", times=2)
    world.leave("anna")
    rule(world, {"member_epoch": 0, "nth": 1}, {"kind": "error", "code": UNAUTHORIZED})
    assert world.join("ben").error == UNAUTHORIZED
    assert world.join("ben").active == ALL


def under(world: StreamsWire, name: str) -> int:
    """Activate the fault plan when the only member owns all tasks, and return its epoch."""
    world.join("anna")
    while world.beat("anna").epoch == FIRST_EPOCH:
        world.rig.sleep(1000)
    assert world.owned["anna"][0] == ALL
    world.rig.command("add_faults", rules=[rule_as_data(rule) for rule in read_plan(name).rule])
    return world.epochs["anna"]


def fired(world: StreamsWire, name: str) -> int:
    return world.rig.driver.rules.registry.report(name).fired


@pytest.mark.parametrize("name", ["streams-member-fenced", "streams-answer-lost"])
def test_a_plan_for_streams_groups_is_none_for_consumers(name: str) -> None:
    plan = read_plan(name)
    assert (for_other_groups(plan), for_consumer_groups(plan)) == (True, False)


def test_the_plan_streams_member_fenced(world: StreamsWire) -> None:
    epoch = under(world, "streams-member-fenced")
    assert [world.beat("anna").error for _ in range(4)] == [0, 0, FENCED_MEMBER_EPOCH, FENCED_MEMBER_EPOCH]
    again = world.join("anna")
    assert (again.error, again.epoch, again.active) == (0, epoch + 1, ALL)
    assert (world.beat("anna").error, fired(world, "streams-member-fenced")) == (0, 1)


def test_the_plan_streams_answer_lost(world: StreamsWire) -> None:
    """The member still has its old epoch, because the answer was lost. Heartbeats bring no tasks, and joining again does (ST-31)."""
    epoch = under(world, "streams-answer-lost")
    assert world.join("ben").active == {}
    with pytest.raises(AssertionError):
        world.beat("anna")
    assert fired(world, "streams-answer-lost") == 1
    quiet = world.beat("anna")
    assert (quiet.error, quiet.epoch, quiet.active) == (0, epoch, None)
    again = world.join("anna")
    assert again.active is not None and sum(map(len, again.active.values())) == 2
    assert world.beat("ben").active is not None
