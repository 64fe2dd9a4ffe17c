"""Fault rules match StreamsGroupHeartbeat by its member and the group, as they match heartbeats of consumer groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from replayed import replayed
from streams_wire import StreamsWire, id_of

UNAUTHORIZED: Final = 30
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
    assert world.join("ben").active == {"0": [0, 1], "1": [0, 1]}
