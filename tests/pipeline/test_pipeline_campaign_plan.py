"""A valid plan file is read, and a wrong one gets a clear error message."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL
from groupmock_clients.scenarios.play import Sizes
from groupmock_codec.extras import pip_install
from groupmock_pipeline.campaign.campaign_plan import Stretch, read_plan, stretches
from groupmock_pipeline.errors import BadInput


def planned(text: str, folder: Path, name: str = "plan.toml", **flags: object) -> list[Stretch]:
    file = folder / name
    file.write_text(text)
    return stretches(read_plan(str(file), flags), "it")


def told(text: str, folder: Path, name: str = "plan.toml", **flags: object) -> str:
    with pytest.raises(BadInput) as raised:
        planned(text, folder, name, **flags)
    return str(raised.value)


def test_a_sweep_is_every_combination(tmp_path: Path) -> None:
    text = """
        [[sweeps]]
        seeds = "3..7"
        scenarios = ["scale-up", "scale-down"]
        protocols = ["range", "design-3/scripted-twin"]
        sizes = { members = [3, 4], rate = 5 }
    """
    found = planned(text, tmp_path)
    cells = [(each.cell.scenario.name, str(each.cell.protocol), each.cell.sizes) for each in found]
    assert cells == [
        (scenario, protocol, Sizes(members=members, rate=5.0))
        for members in (3, 4)
        for scenario in ("scale-up", "scale-down")
        for protocol in ("range/scripted", "design-3/scripted-twin")
    ]
    assert {(each.first, each.last) for each in found} == {(3, 7)}
    assert len({each.cell.key for each in found}) == 8


def test_none_named_means_all_that_are_played() -> None:
    found = stretches(read_plan("-", {"seeds": "1"}), "-")
    upgrades = sum(bool(each.bounces) for each in VIRTUAL)
    # Applications of Kafka Streams play only the scenarios that have a line in the table of Characteristics.
    streams, in_table = 2, sum(bool(each.row) for each in SCENARIOS)
    # A consumer group has no leader, so the scenario about a leaving leader does not apply to consumer groups.
    assert len(found) == (len(SCENARIOS) - 1) * (len(VIRTUAL) - streams) + in_table * streams + upgrades - 1


def test_what_several_sweeps_want_is_played_once_and_blocks_are_numbered_through(tmp_path: Path) -> None:
    sweep = '[[sweeps]]\nscenarios = ["scale-up"]\nprotocols = ["range"]\n'
    text = "batch = 2\n" + "".join(f'{sweep}seeds = "{seeds}"\n' for seeds in ("1..3", "2..5", "9..9", "6..6"))
    assert [(each.first, each.last, each.offset) for each in planned(text, tmp_path)] == [(1, 6, 0), (9, 9, 3)]


def test_yaml_and_json_say_the_same_as_toml(tmp_path: Path) -> None:
    toml = planned('[[sweeps]]\nseeds = 4\nscenarios = ["scale-up"]\nsizes = { members = 5 }', tmp_path)
    yaml = planned("sweeps:\n- {seeds: 4, scenarios: [scale-up], sizes: {members: 5}}", tmp_path, "plan.yaml")
    json = planned('{"sweeps": [{"seeds": "4", "scenarios": ["scale-up"], "sizes": {"members": [5]}}]}', tmp_path, "plan.json")
    assert toml == yaml == json


def test_a_flag_replaces_what_every_sweep_says(tmp_path: Path) -> None:
    text = '[[sweeps]]\nseeds = "1..9"\nscenarios = ["scale-up"]\nsizes = { members = 5, partitions = 7 }'
    flags = {"seeds": "2..3", "scenarios": ["scale-down"], "protocols": [], "sizes": {"members": [6]}, "batch": None}
    found = planned(text, tmp_path, **flags)
    assert {(each.cell.scenario.name, each.first, each.last) for each in found} == {("scale-down", 2, 3)}
    assert {(each.cell.sizes.members, each.cell.sizes.partitions) for each in found} == {(6, 7)}


def test_a_key_depends_on_every_size_and_is_fit_for_a_path(tmp_path: Path) -> None:
    sizes = ("{}", "{ delay_ms = 8001 }", "{ rate = 10.5 }", "{ members = 5 }")
    text = "".join(f'[[sweeps]]\nseeds = 1\nscenarios = ["scale-up"]\nprotocols = ["range"]\nsizes = {each}\n' for each in sizes)
    keys = {each.cell.key for each in planned(text, tmp_path)}
    assert len(keys) == len(sizes)
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)


SWEEP = '[[sweeps]]\nseeds = "1..2"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["sweeps"]),
        ("sweeps = 3", ["sweeps", "$.sweeps"]),
        ("[[sweeps]]", ["seeds", "$.sweeps[0]"]),
        (f"{SWEEP}scenario = []", ["scenario", "$.sweeps[0]", "scenarios"]),
        (f"batch = 0\n{SWEEP}", ["$.batch", ">= 1"]),
        ("\nsweeps = 3 4", ["no good toml", "line 2"]),
        ('[[sweeps]]\nseeds = "1-5"', ["sweeps[0].seeds", "1..100"]),
        ('[[sweeps]]\nseeds = "9..1"', ["sweeps[0].seeds", "1..9"]),
        (f'{SWEEP}scenarios = ["scale-sideways"]', ["sweeps[0].scenarios", "scale-sideways", "scale-up"]),
        (f'{SWEEP}{SWEEP}protocols = ["sticky"]', ["sweeps[1].protocols", "sticky", "cooperative-sticky/scripted"]),
        (f'{SWEEP}protocols = ["range/aiokafka"]', ["range/aiokafka", "virtual"]),
        (f"{SWEEP}sizes = {{ member = 3 }}", ["sweeps[0].sizes", "member", "members"]),
        (f"{SWEEP}sizes = {{ members = 3.5 }}", ["sweeps[0].sizes.members", "whole"]),
        (f"{SWEEP}sizes = {{ members = [] }}", ["sweeps[0].sizes.members", "empty"]),
        (f"{SWEEP}sizes = {{ members = [4, 1] }}", ["sweeps[0].sizes", "members is 1", "at least 2"]),
        (f"{SWEEP}sizes = 3", ["$.sweeps[0].sizes"]),
        (f'{SWEEP}scenarios = ["leader-exit"]\nsizes = {{ members = 2 }}', ["leader-exit", "3 members"]),
        (f'{SWEEP}scenarios = ["mixed-upgrade"]\nprotocols = ["range", "design-1"]', ["sweeps[0].protocols", "range", "mixed-upgrade"]),
    ],
)
def test_a_wrong_plan_is_answered_with_place_and_remedy(text: str, words: list[str], tmp_path: Path) -> None:
    said = told(text, tmp_path)
    assert [word for word in words if word not in said] == [], said


@pytest.mark.parametrize(
    ("name", "words"), [("plan.ini", [".toml", ".ini"]), ("plan.json", ["no good json"]), ("plan.yaml", ["no good yaml"])]
)
def test_a_file_of_another_kind_is_refused(name: str, words: list[str], tmp_path: Path) -> None:
    said = told("[[sweeps]\n\t- {", tmp_path, name)
    assert [word for word in words if word not in said] == [], said


@pytest.mark.parametrize(("name", "text"), [("plan.json", "[" * 60_000), ("plan.toml", "a = " + "[" * 60_000)])
def test_a_plan_deeper_than_a_parser_goes_is_a_sentence(name: str, text: str, tmp_path: Path) -> None:
    said = told(text, tmp_path, name)
    assert "no good" in said and "recursion" in said, said
    assert "\n" not in said


def test_a_yaml_plan_without_the_extra_names_it_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    said = told("sweeps: []", tmp_path, "plan.yaml")
    assert said.endswith(f"plan.yaml: the pipeline needs PyYAML: {pip_install('pipeline')} (.toml and .json need nothing)")
    assert "\n" not in said


def test_a_missing_file_is_named() -> None:
    with pytest.raises(BadInput, match=r"no-such\.toml: No such file"):
        read_plan("no-such.toml", {})


def test_flags_alone_need_seeds() -> None:
    with pytest.raises(BadInput, match=r"the flags: .*seeds.*sweeps\[0\]"):
        read_plan("-", {"seeds": None})
