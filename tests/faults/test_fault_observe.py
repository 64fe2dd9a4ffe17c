"""A rule that only observes counts matching requests and changes nothing else."""

from __future__ import annotations

import pytest

from groupmock.rig import KeptRows, WireRig
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest


def play(rules: list[dict[str, object]]) -> tuple[WireRig, KeptRows, list[int]]:
    rows = KeptRows()
    rig = WireRig.make(sinks=[rows])
    if rules:
        rig.command("add_faults", rules=rules)
    wire = rig.connect()
    answers = [wire.ask(12, 3, HeartbeatRequest(group_id=group)).error_code for group in ("g", "h", "g")]
    return rig, rows, answers


@pytest.mark.parametrize("stage", ["request", "reply"])
def test_it_counts_and_leaves_the_call_to_the_rules_behind_it(stage: str) -> None:
    seen = {"name": "seen", "when": {"api": "Heartbeat", "group": "g"}, "stage": stage, "do": {"kind": "observe"}}
    error = {"name": "lie", "when": {"api": "Heartbeat", "nth": 3}, "stage": stage, "do": {"kind": "error", "code": 27}}
    rig, rows, answers = play([seen, error])
    assert answers == [25, 25, 27]
    report = rig.driver.rules.registry.report("seen")
    assert (report.fired, report.matched, report.spent, report.sentence) == (2, 2, False, 'rule "seen" fired 2 times')
    struck = [(row.rule, row.action) for row in rows.of("fault")]
    assert struck == [("seen", "observe"), ("seen", "observe"), ("lie", "error")]


def test_without_it_the_answers_are_the_same() -> None:
    assert play([{"do": {"kind": "observe"}}])[2] == play([])[2]


def test_it_sees_connections() -> None:
    rig, _, _ = play([{"name": "came", "stage": "connect", "do": {"kind": "observe"}}])
    assert rig.driver.rules.registry.report("came").fired == 1


def test_it_says_what_came_nearest() -> None:
    rig, _, _ = play([{"name": "none", "when": {"api": "Heartbeat", "group": "x"}, "do": {"kind": "observe"}}])
    assert rig.driver.rules.registry.report("none").sentence.endswith("where group is g, wanted x")
