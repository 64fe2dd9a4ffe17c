"""The decision is a function of the call, the rules, their tallies and the dice; the registry keeps the tallies."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each

from groupmock.faults.decide import Armed, Tally, decide
from groupmock.faults.facts import Facts
from groupmock.faults.kind import kind_of
from groupmock.faults.plan import make_rule
from groupmock.faults.registry import RuleRegistry, UnknownRule
from groupmock_codec import APIS

SERVED = {APIS[key].name: (APIS[key].versions.lowest, APIS[key].versions.highest) for key in APIS}
SYNC = Facts(
    "reply", 2_500_000_000, 1, 4, "SyncGroup", 3, "cook-1", ("orders",), ("m-1",), ("desk-1",), 5, "Stable", "follower", ("coffee",)
)
HOLDS: dict[str, Any] = {
    "api": "SyncGroup", "version": "2-", "group": "ord*", "member_id": ["x", "m-1"], "instance_id": "desk-?", "client_id": "cook-*",
    "generation": [4, 5], "state": "Stable", "role": "follower", "topic": "coffee", "node": 1, "window": [2.0, 3.0],
}  # fmt: skip
FAILS: dict[str, Any] = {
    "api": "JoinGroup", "version": [0, "4-"], "group": "order", "member_id": "M-1", "instance_id": "desk", "client_id": ["cook"],
    "generation": 4, "state": "Empty", "role": "leader", "topic": "tea", "node": [2, 3], "window": [0.0, 2.5],
}  # fmt: skip


class Thrown:
    """Dice that show what was put in, in thousandths."""

    def __init__(self, *shown: int) -> None:
        self.shown = list(shown)

    def below(self, limit: int, /) -> int:
        return self.shown.pop(0) * limit // 1000


def armed(when: dict[str, Any], kind: str = "drop", **more: Any) -> Armed:
    rule = make_rule({"name": "r", "when": when, "stage": "reply", "do": {"kind": kind}, **more})
    return Armed(rule, kind_of(rule.do))


NEW = Tally()


def fires(when: dict[str, Any], tally: Tally = NEW, dice: Thrown | None = None, facts: Facts = SYNC, **more: Any) -> bool:
    rule = armed(when, **more)
    verdicts = decide(facts, [rule], {"r": tally}, dice or Thrown())
    return bool(verdicts) and verdicts[0].fires


@for_each("condition", HOLDS)
def test_each_condition_holds_and_fails(condition: str) -> None:
    assert fires({condition: HOLDS[condition]})
    assert not fires({condition: FAILS[condition]})


def test_all_conditions_together_and_one_of_them_failing() -> None:
    assert fires(HOLDS)
    for condition in HOLDS:
        (verdict,) = decide(SYNC, [armed(HOLDS | {condition: FAILS[condition]})], {"r": Tally()}, Thrown())
        assert [failure.condition for failure in verdict.failed] == [condition]


def test_a_call_at_another_stage_is_none_of_its_business() -> None:
    assert decide(SYNC._replace(stage="request"), [armed({})], {"r": Tally()}, Thrown()) == []


@for_each(("matched", "expected"), [(0, False), (1, False), (2, True), (3, False)])
def test_the_third_call(matched: int, expected: bool) -> None:
    assert fires({"nth": 3}, Tally(matched=matched)) is expected


def test_every_second_call() -> None:
    assert [fires({"every": 2}, Tally(matched=matched)) for matched in range(4)] == [False, True, False, True]


def test_so_many_times() -> None:
    assert [fires({}, Tally(fired=fired), times=2) for fired in range(4)] == [True, True, False, False]


def test_chance_is_drawn_only_when_all_else_holds() -> None:
    dice = Thrown(299, 301)
    assert not fires({"api": "JoinGroup", "probability": 0.3}, dice=dice)
    assert fires({"probability": 0.3}, dice=dice)
    assert not fires({"probability": 0.3}, dice=dice)
    assert dice.shown == []


def test_a_chance_of_1_is_a_certainty() -> None:
    assert all(fires({"probability": 1.0}, dice=Thrown(shown)) for shown in (0, 500, 999))


def test_a_rule_after_another() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    rules.add_all([make_rule({"name": "first", "when": {"nth": 2}, "do": {"kind": "drop"}}),
                   make_rule({"name": "then", "when": {"after": "first", "nth": 2}, "do": {"kind": "close"}})])  # fmt: skip
    fired = [[each.rule.name for each in rules.decide(SYNC)] for _ in range(5)]
    assert fired == [[], ["first"], [], ["then"], []]


def test_the_first_that_ends_the_matter_ends_it() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    kinds = ("throttle_time", "drop", "close")
    for kind in kinds:
        do = {"kind": kind} | ({"seconds": 1} if kind == "throttle_time" else {})
        rules.add(make_rule({"name": kind, "when": {"api": "SyncGroup", "version": "1-"}, "do": do}))
    assert [each.rule.name for each in rules.decide(SYNC)] == ["throttle_time", "drop"]
    assert [(report.name, report.fired) for report in rules.reports()] == [("throttle_time", 1), ("drop", 1), ("close", 0)]


def test_what_never_fired_says_how_near_it_came() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    rules.add(make_rule({"name": "r", "when": {"api": "SyncGroup", "group": "order", "role": "leader"}, "do": {"kind": "drop"}}))
    rules.decide(SYNC)
    rules.decide(SYNC._replace(role="leader"))
    rules.decide(SYNC._replace(api="JoinGroup"))
    (report,) = rules.never_fired()
    assert report.sentence == ('rule "r" never fired: nearest was SyncGroup v3 of cook-1 at 2.500 s, where group is orders, wanted order')


def test_a_count_that_was_not_reached_is_a_near_miss_too() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    rules.add(make_rule({"name": "r", "when": {"api": "SyncGroup", "nth": 3}, "do": {"kind": "drop"}}))
    rules.decide(SYNC)
    rules.decide(SYNC)
    (report,) = rules.never_fired()
    assert report.sentence.endswith("where nth is 2, wanted 3")


def test_a_rule_that_nothing_came_to() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    rules.add(make_rule({"name": "r", "do": {"kind": "drop"}}))
    assert rules.never_fired()[0].sentence == 'rule "r" never fired: no call came at its stage'


def test_what_is_held_is_let_go_by_release_and_by_removal() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    rules.add(make_rule({"name": "r", "do": {"kind": "hold"}}))
    rules.hold("r", 4)
    rules.hold("r", 7)
    assert rules.report("r").holding == 2
    assert rules.release("r") == [4, 7]
    rules.hold("r", 9)
    assert rules.remove("r") == [9]
    with pytest.raises(UnknownRule, match="no rule 'r': there are none"):
        rules.release("r")


def test_what_a_rule_held_goes_with_it() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    held = make_rule({"name": "r", "do": {"kind": "hold"}})
    rules.add(held)
    rules.hold("r", 4)
    assert rules.remove("r") == [4]
    rules.add(held)
    assert (rules.report("r").holding, rules.release("r")) == (0, [])


def test_live_while_something_could_still_fire() -> None:
    rules = RuleRegistry(SERVED, Thrown())
    assert not rules.live()
    rules.add(make_rule({"name": "s", "when": {"api": "SyncGroup"}, "do": {"kind": "drop"}, "times": 1}))
    assert rules.live() and rules.live("reply") and not rules.live("request")
    assert rules.live(api="SyncGroup") and not rules.live(api="Heartbeat")
    rules.decide(SYNC)
    assert not rules.live()
    rules.add(make_rule({"name": "any", "when": {"group": "g"}, "do": {"kind": "drop"}}))
    assert rules.live(api="Heartbeat")
