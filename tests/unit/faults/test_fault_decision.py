"""Whether a fault rule applies depends only on the request, the rules, their counters and the random numbers; the registry keeps the
counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from cases import for_each

from groupmock.faults.decide import WAS
from groupmock.faults.facts import NONE_IF_UNTOLD, Facts, Lookup, tells
from groupmock.faults.plan import make_rule
from groupmock.faults.registry import RuleRegistry, UnknownRule
from groupmock_codec import APIS
from groupmock_codec.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse

SERVED = {api.name: api.versions for api in APIS.values()}
COMMIT = OffsetCommitRequest(
    group_id="orders",
    generation_id_or_member_epoch=5,
    member_id="m-1",
    group_instance_id="desk-1",
    topics=[OffsetCommitRequestTopic(name="coffee", partitions=[OffsetCommitRequestPartition(partition_index=0)])],
)
HOLDS: dict[str, Any] = {
    "api": "OffsetCommit", "version": "2-", "group": "ord*", "member_id": ["x", "m-1"], "instance_id": "desk-?", "client_id": "cook-*",
    "generation": [4, 5], "member_epoch": 5, "state": "Stable", "role": "follower", "topic": "coffee", "partition": 0, "node": 1,
    "window": [2.0, 3.0],
}  # fmt: skip
FAILS: dict[str, Any] = {
    "api": "JoinGroup", "version": [0, "9-"], "group": "order", "member_id": "M-1", "instance_id": "desk", "client_id": ["cook"],
    "generation": 4, "member_epoch": [4, 6], "state": "Empty", "role": "leader", "topic": "tea", "partition": [], "node": [2, 3],
    "window": [0.0, 2.5],
}  # fmt: skip


class Known(NamedTuple):
    """A group as the cluster knows it, for the conditions of rules."""

    state: str = "Stable"
    leader_id: str = "m-2"
    static_members: Mapping[str, str] = {"desk-1": "m-1"}
    progress_of: Callable[[str], str | None] = lambda member_id: None


def facts(known: Known | None = None, **more: Any) -> Facts:
    """Return the facts of a commit by a follower."""
    lookup = Lookup(lambda group_id: known or Known() if group_id == "orders" else None, lambda topic_id: None)
    call: dict[str, Any] = {
        "stage": "reply", "now": 2_500_000_000, "node": 1, "connection": 4, "api": "OffsetCommit", "version": 8, "client_id": "cook-1",
        "request": COMMIT, "response": OffsetCommitResponse(), "lookup": lookup,
    }  # fmt: skip
    return Facts(**call | more)


class Thrown:
    """A random source that returns the given values, in thousandths."""

    def __init__(self, *shown: int) -> None:
        self.shown = list(shown)

    def below(self, limit: int, /) -> int:
        return self.shown.pop(0) * limit // 1000


def registry(*rules: dict[str, Any], dice: Thrown | None = None) -> RuleRegistry:
    made = RuleRegistry(SERVED, dice or Thrown())
    made.add_all([make_rule({"stage": "reply", "do": {"kind": "drop"}, **rule}) for rule in rules])
    return made


def fired(rules: RuleRegistry, calls: int = 1, **more: Any) -> list[list[str]]:
    return [[each.rule.name for each in rules.decide(facts(**more))] for _ in range(calls)]


@for_each("condition", HOLDS)
def test_each_condition_holds_and_fails(condition: str) -> None:
    assert registry({"when": {condition: HOLDS[condition]}}).decide(facts())
    assert not registry({"when": {condition: FAILS[condition]}}).decide(facts())


def test_all_conditions_together_and_one_of_them_failing() -> None:
    assert registry({"when": HOLDS}).decide(facts())
    for condition in HOLDS:
        if condition in ("api", "version"):
            continue  # A request of another API or version lacks the fields that the other conditions need.
        rules = registry({"when": HOLDS | {condition: FAILS[condition]}})
        assert not rules.decide(facts())
        (report,) = rules.reports()
        assert report.near_miss is not None
        assert [each.split(" is ")[0] for each in report.near_miss.failed] == [condition]


def test_a_rule_for_no_text_at_all_never_holds() -> None:
    assert not registry({"when": {"group": []}}).decide(facts())


def test_a_call_at_another_stage_is_none_of_its_business() -> None:
    rules = registry({})
    assert not rules.decide(facts(stage="request", response=None))
    assert rules.reports()[0].near_miss is None


def test_the_third_call() -> None:
    assert fired(registry({"name": "r", "when": {"nth": 3}}), 4) == [[], [], ["r"], []]


def test_every_second_call() -> None:
    assert fired(registry({"name": "r", "when": {"every": 2}}), 4) == [[], ["r"], [], ["r"]]


def test_so_many_times() -> None:
    assert fired(registry({"name": "r", "times": 2}), 4) == [["r"], ["r"], [], []]


def test_chance_is_drawn_only_when_all_else_holds() -> None:
    dice = Thrown(299, 301)
    assert not registry({"when": {"group": "other", "probability": 0.3}}, dice=dice).decide(facts())
    assert fired(registry({"name": "r", "when": {"probability": 0.3}}, dice=dice), 2) == [["r"], []]
    assert dice.shown == []


def test_a_chance_of_1_is_a_certainty() -> None:
    assert fired(registry({"name": "r", "when": {"probability": 1.0}}, dice=Thrown(0, 500, 999)), 3) == [["r"]] * 3


def read(call: Facts) -> set[str]:
    """Return the names of the facts that the decision has read."""
    return vars(call).keys() - vars(facts()).keys()


def test_only_the_facts_that_a_rule_asks_for_are_read() -> None:
    rules = registry({"when": {"group": "orders", "state": "Empty"}})
    rules.decide(call := facts())
    assert read(call) == {"groups", "group", "state"}


def test_a_call_that_cannot_be_the_nearest_any_more_is_not_read() -> None:
    rules = registry({"when": {"api": "OffsetCommit", "version": "8-", "group": "other"}})
    rules.decide(facts())  # Only the condition on the group fails for this commit, which makes it the nearest miss.
    rules.decide(call := facts(api="Heartbeat", version=4, request=HeartbeatRequest(group_id="other"), response=HeartbeatResponse()))
    assert read(call) == set()


@pytest.mark.parametrize("key", list(APIS))
def test_what_a_version_cannot_say_is_nothing_in_its_messages_either(key: int) -> None:
    """A condition on a field that the version lacks is decided without reading the request, and the near miss shows "none"."""
    api = APIS[key]
    for stage in ("request", "reply"):
        for version in api.versions.every:
            for condition in NONE_IF_UNTOLD:
                if not tells(api.name, version, condition, stage):
                    response = api.response.message() if stage == "reply" else None
                    call = facts(stage=stage, api=api.name, version=version, request=api.request.message(), response=response)
                    assert WAS[condition](call) in (None, (), []), (api.name, version, condition)


def test_a_rule_after_another() -> None:
    rules = registry({"name": "first", "when": {"nth": 2}}, {"name": "then", "when": {"after": "first", "nth": 2}})
    assert fired(rules, 5) == [[], ["first"], [], ["then"], []]


def test_a_rule_after_another_does_not_see_it_fire_at_the_same_call() -> None:
    throttle = {"name": "first", "do": {"kind": "throttle_time", "seconds": 1}, "when": {"api": "OffsetCommit", "version": "3-"}}
    rules = registry(throttle, {"name": "then", "when": {"after": "first"}})
    assert fired(rules, 2) == [["first"], ["first", "then"]]


def test_the_first_that_ends_the_matter_ends_it() -> None:
    when = {"api": "OffsetCommit", "version": "3-"}
    kinds: list[dict[str, Any]] = [{"kind": "throttle_time", "seconds": 1}, {"kind": "drop"}, {"kind": "close"}]
    rules = registry(*[{"name": do["kind"], "when": when, "do": do} for do in kinds])
    assert fired(rules) == [["throttle_time", "drop"]]
    assert [(report.name, report.fired) for report in rules.reports()] == [("throttle_time", 1), ("drop", 1), ("close", 0)]


def test_what_never_fired_says_how_near_it_came() -> None:
    rules = registry({"name": "r", "when": {"api": "OffsetCommit", "group": "order", "role": "leader"}})
    rules.decide(facts())
    rules.decide(facts(known=Known(leader_id="m-1")))
    rules.decide(facts(api="Heartbeat", version=4, request=HeartbeatRequest(group_id="order"), response=HeartbeatResponse()))
    (report,) = rules.never_fired()
    assert report.sentence == (
        'rule "r" never fired: nearest was OffsetCommit v8 of cook-1 at 2.500 s, where group is orders, wanted order'
    )


def test_a_call_of_another_api_may_be_the_nearest() -> None:
    rules = registry({"name": "r", "when": {"api": "OffsetCommit", "group": "orders", "topic": "coffee"}})
    rules.decide(facts(api="Heartbeat", version=4, request=HeartbeatRequest(group_id="orders"), response=HeartbeatResponse()))
    (report,) = rules.never_fired()
    assert report.sentence.endswith(
        "Heartbeat v4 of cook-1 at 2.500 s, where api is Heartbeat, wanted OffsetCommit; topic is none, wanted coffee"
    )


def test_a_count_that_was_not_reached_is_a_near_miss_too() -> None:
    rules = registry({"name": "r", "when": {"nth": 3}})
    assert fired(rules, 2) == [[], []]
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
    rules.decide(facts(api="SyncGroup", version=3, request=SyncGroupRequest(), response=SyncGroupResponse()))
    assert not rules.live()
    rules.add(make_rule({"name": "any", "when": {"group": "g"}, "do": {"kind": "drop"}}))
    assert rules.live(api="Heartbeat")
