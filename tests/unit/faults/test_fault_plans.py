"""Each mistake in a fault plan gets one clear error, and a plan with a mistake changes nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cases import for_each

from groupmock.faults.kind import all_kinds
from groupmock.faults.plan import MAX_RULES, BadPlan, Plan, Rule, When, make_rule, parse_plan, read_plan, ready_plans, rule_as_data
from groupmock.faults.registry import RuleRegistry
from groupmock_codec import APIS

SERVED = {api.name: api.versions for api in APIS.values()}
GOOD = """
seed = 7
[[rule]]
name = "lost-sync"
when = { api = "SyncGroup", group = "orders", role = "follower", nth = 3 }
stage = "reply"
do = { kind = "drop" }
times = 1
"""
BAD: dict[str, str] = {
    "x = 1": "p.toml: no key 'x': there are about, seed, rule",
    "seed = 'a'": "p.toml: seed: expected `int | null`, got `str`",
    "rule = 3": "p.toml: `rule` is a list of rules: write [[rule]]",
    "[[rule]]\nnme = 'a'": "p.toml, rule 1: no key 'nme' (did you mean name?): there are name, when, stage, do, times",
    "[[rule]]\nname = 'a'": 'p.toml, rule 1 "a": there is no `do`: say what is to happen, as do = { kind = "drop" }',
    "[[rule]]\ndo = { kind = 'drp' }": "do: no kind 'drp' (did you mean drop?): there are abort_transaction, close",
    "[[rule]]\ndo = { kind = 'drop', seconds = 1 }": "do: drop has no 'seconds': it takes nothing else",
    "[[rule]]\ndo = { kind = 'delay' }": "do: delay: object missing required field `seconds`",
    "[[rule]]\ndo = { kind = 'delay', seconds = 0 }": "do: delay: seconds: expected `float` > 0.0",
    "[[rule]]\ndo = { kind = 'error', code = 'NOT_CORDINATOR' }": "no error 'NOT_CORDINATOR' (did you mean NOT_COORDINATOR?)",
    "[[rule]]\ndo = { kind = 'error', code = 'NONE' }": "no error 'NONE'",
    "[[rule]]\ndo = { kind = 'error', code = 9999 }": "9999 is no error of Kafka",
    "[[rule]]\ndo = { kind = 'drop' }\nstage = 'replay'": "stage is one of connect, request, reply, not 'replay' (did you mean reply?)",
    "[[rule]]\ndo = { kind = 'drop' }\nstage = 'connect'": "drop cannot strike at stage 'connect': its stages are reply, request",
    "[[rule]]\ndo = { kind = 'drop' }\ntimes = 0": "times is 1 or more, not 0",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { grup = 'x' }": "no key 'grup' (did you mean group?)",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { nth = '3' }": "when.nth: expected `int | null`, got `str`",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { nth = 0 }": "when: nth is 1 or more, not 0",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { nth = 1, every = 2 }": "nth and every exclude each other",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { nth = 2 }\ntimes = 2": "call number 2 comes once, so it cannot fire 2 times",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { probability = 2.0 }": "probability is above 0 and at most 1, not 2",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { window = [3.0, 1.0] }": "window is [from, until] in seconds",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { role = 'boss' }": "role is leader or follower, not 'boss'",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { version = 'a' }": "version: 'a' is no version: write 5",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { api = 'Hartbeat' }": "no API 'Hartbeat' is served (did you mean Heartbeat?)",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { api = 'Heartbeat', version = 9 }": "version 9 is never asked for: served are Heartbeat 0-4",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { api = 'Metadata', group = 'x' }": "group can never hold: a request of Metadata v0 to v13",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { api = 'OffsetCommit', version = 0, instance_id = 'x' }": "instance_id can never hold",
    "[[rule]]\ndo = { kind = 'close' }\nstage = 'connect'\nwhen = { group = 'x' }": "group is not known at stage connect",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { after = 'x' }": "after names no rule 'x' that is registered before this one",
    "[[rule]]\ndo = { kind = 'throttle_time', seconds = 1 }\nwhen = { api = 'Heartbeat' }": "Heartbeat v0: its answer has no",
    "[[rule]]\ndo = { kind = 'error', code = 3 }\nwhen = { api = 'Metadata', version = 1 }": "its error stands beside each topic",
    "[[rule]]\ndo = { kind = 'expire_member' }\nwhen = { api = 'ListGroups' }": "it names no member id: say which api",
    "[[rule]]\nname = 'a'\ndo = { kind = 'drop' }\n[[rule]]\nname = 'a'\ndo = { kind = 'drop' }": 'two rules are called "a"',
    "what": "p.toml is not TOML",
    f"a = {'[' * 60_000}": "p.toml is nested more than 16 deep (line 1)",
    f"[{'a.' * 30_000}a]": "p.toml is nested more than 10 deep by one key (line 1)",
    f"seed = {'9' * 5000}": "p.toml is not to be read: a word of more than 200 characters (line 1)",
    f"about = '{'x' * 70_000}'": "p.toml is more than 65536 bytes",
    f"seed = 0x{'f' * 100}": "p.toml: seed: expected `int` <= 9223372036854775807",
    "[[rule]]\ndo = { kind = 'drop' }\n" * 257: "p.toml: 258 rules are too many, 256 can be registered at a time",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { group = '%s' }" % ("*" * 301): "when.group: expected `str` of length <= 300",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { group = [%s'a'] }" % ("'a'," * 100): "when.group: expected `array` of length <= 100",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { version = [%s1] }" % ("1," * 100): "when.version: expected `array` of length <= 100",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { node = [%s1] }" % ("1," * 100): "when.node: expected `array` of length <= 100",
    "[[rule]]\ndo = { kind = 'drop' }\nwhen = { window = [0.0, inf] }": "window is [from, until] in seconds",
    "[[rule]]\ndo = { kind = 'delay', seconds = inf }": "do: delay: seconds: expected `float` <= 86400.0",
    "[[rule]]\ndo = { kind = 'delay', seconds = nan }": "do: delay: seconds: expected `float` > 0.0",
    "[[rule]]\ndo = { kind = 'garble', bytes = 1_048_577 }": "do: garble: bytes: expected `int` <= 1048576",
    "[[rule]]\ndo = { kind = 'split', pieces = 10_001, seconds = 1 }": "do: split: pieces: expected `int` <= 10000",
}


class NoDice:
    def below(self, limit: int, /) -> int:
        raise AssertionError("nothing is left to chance here")


def registry() -> RuleRegistry:
    return RuleRegistry(SERVED, NoDice())


def test_the_plan_of_the_readme() -> None:
    plan = parse_plan(GOOD)
    when = When(api="SyncGroup", group="orders", role="follower", nth=3)
    assert plan == Plan(seed=7, rule=[Rule(name="lost-sync", when=when, stage="reply", do={"kind": "drop"}, times=1)])


def test_json_is_the_same() -> None:
    table = {"seed": 7, "rule": [rule_as_data(parse_plan(GOOD).rule[0])]}
    assert parse_plan(json.dumps(table), json=True) == parse_plan(GOOD)


@for_each("text", BAD)
def test_a_bad_plan_is_one_clear_error_and_nothing_is_registered(text: str) -> None:
    rules = registry()
    good = make_rule({"name": "good", "do": {"kind": "drop"}})
    with pytest.raises(BadPlan) as refusal:
        rules.add_all([good, *parse_plan(text, "p.toml").rule], "p.toml")
    assert str(refusal.value).startswith("p.toml")
    assert BAD[text] in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert rules.reports() == []


def test_number_of_fault_rules_is_limited() -> None:
    """The number of rules is limited, because every request is compared with each of them."""
    rules = registry()
    rules.add_all([make_rule({"do": {"kind": "drop"}})] * MAX_RULES)
    with pytest.raises(BadPlan, match="1 rules are too many, 256 can be registered at a time: 256 are there, remove some of them first"):
        rules.add(make_rule({"do": {"kind": "drop"}}))
    rules.remove("rule-1")
    rules.add(make_rule({"do": {"kind": "drop"}}))


def test_a_name_that_is_taken() -> None:
    rules = registry()
    rules.add(make_rule({"name": "a", "do": {"kind": "drop"}}))
    with pytest.raises(BadPlan, match=r'the rule, rule "a": there is a rule of that name already: remove it first'):
        rules.add(make_rule({"name": "a", "do": {"kind": "hold"}}))
    assert [report.rule["do"] for report in rules.reports()] == [{"kind": "drop"}]


def test_names_are_given_to_those_without() -> None:
    rules = registry()
    assert [rule.name for rule in rules.add_all([make_rule({"do": {"kind": "drop"}}), make_rule({"do": {"kind": "hold"}})])] == [
        "rule-1",
        "rule-2",
    ]


def test_the_stage_is_the_usual_one_of_the_kind() -> None:
    rules = registry()
    for kind, stage in (("drop", "reply"), ("freeze_member", "request"), ("refuse", "connect")):
        when = {"api": "Heartbeat"} if stage != "connect" else {}
        assert rules.add(make_rule({"when": when, "do": {"kind": kind}})).stage == stage


def test_a_file_that_is_not_there_names_the_ready_plans() -> None:
    with pytest.raises(BadPlan, match=r"cannot read the plan lost-snc: No such file or directory \(ready plans: .*lost-sync"):
        read_plan("lost-snc")


@for_each("name", ready_plans())
def test_a_ready_plan_can_be_registered_and_says_what_a_client_must_do(name: str) -> None:
    plan = read_plan(name)
    assert re.search(r"[Aa] correct (client|follower|leader)", plan.about)
    assert len(registry().add_all(plan.rule, name)) >= 1


def test_a_plan_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD)
    (tmp_path / "a.json").write_text(json.dumps({"seed": 7, "rule": [rule_as_data(parse_plan(GOOD).rule[0])]}))
    assert read_plan(str(tmp_path / "a.toml")) == read_plan(str(tmp_path / "a.json")) == parse_plan(GOOD)


@for_each("kind", all_kinds())
def test_every_kind_says_what_it_does_and_each_of_its_fields(kind: str) -> None:
    import msgspec

    fault = all_kinds()[kind]
    assert fault.__doc__ and len(fault.__doc__) > 30
    schema = msgspec.json.schema(fault)["$defs"][fault.__name__]["properties"]
    assert all(field.get("description") for name, field in schema.items() if name != "kind"), schema
