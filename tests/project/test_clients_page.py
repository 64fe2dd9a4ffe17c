"""The page with the client matrix agrees with the recorded data, the data contains every judge, and a wrong cell has a recorded reason."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tools.pages import clients_page
from tools.records import RECORDS


@pytest.fixture(name="judges")
def interop_judges(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return a function that imports a module of tests/interop/judges by name, in the way that tests/interop/matrix does."""
    monkeypatch.syspath_prepend(str(tree / "tests" / "interop"))
    return lambda name: importlib.import_module(f"judges.{name}")


@pytest.fixture(name="data")
def stored_matrix(tree: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDS / "clients.json").read_text())
    return found


def matrix_of(kafka: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return a matrix of one judge and one check for two brokers."""
    plain = {"ok": True, "saw": {"members": 2}, "seconds": 0.1, "why": ""}
    run = {"at": "2026-11-29 05:00", "patience": 30.0, "red": {}}
    brokers = {
        "kafka-4.4": {"client": "c", "checks": {"joins": plain | kafka}, "runs": [run]},
        "groupmock": {"client": "c", "checks": {"joins": plain | ours}, "runs": [run]},
    }
    return {"brokers": {"kafka-4.4": "K", "groupmock": "G"}, "judges": {"c 1": {"note": "", "brokers": brokers}}}


def test_the_page_explains_every_check(judges: Callable[[str], ModuleType]) -> None:
    assert tuple(clients_page.CHECKS) == judges("cell").CHECKS


def test_no_stored_cell_is_red_where_kafka_is_green(judges: Callable[[str], ModuleType], data: dict[str, Any]) -> None:
    assert judges("data").differences(data) == []


def test_every_judge_was_heard_on_every_broker(judges: Callable[[str], ModuleType], data: dict[str, Any]) -> None:
    wanted = {each.name: set(each.brokers) for each in judges("catalogue").JUDGES}
    assert {name: set(entry["brokers"]) for name, entry in data["judges"].items()} == wanted


def test_every_family_is_judged_under_the_default_profile(judges: Callable[[str], ModuleType]) -> None:
    def family(name: str) -> str:
        return name.rsplit(",", 1)[0].rsplit(" ", 1)[0]

    everyone = judges("catalogue").JUDGES
    assert {family(each.name) for each in everyone if each.default} == {family(each.name) for each in everyone}


@pytest.mark.parametrize(
    ("kafka", "ours", "expected"),
    [
        ({}, {}, []),
        ({}, {"ok": False, "saw": {}, "why": "late"}, ["c 1: joins: red on groupmock: late"]),
        ({"ok": False, "saw": {}}, {"ok": False, "saw": {}, "why": "late"}, []),
        ({"ok": False, "saw": {}}, {}, []),
        ({}, {"saw": {"members": 3}}, ["c 1: joins: groupmock {'members': 3}, kafka-4.4 {'members': 2}"]),
    ],
    ids=["the same", "red here, green there", "red on both", "red there only", "both green, another outcome"],
)
def test_what_counts_as_a_difference(
    judges: Callable[[str], ModuleType], kafka: dict[str, Any], ours: dict[str, Any], expected: list[str]
) -> None:
    assert judges("data").differences(matrix_of(kafka, ours)) == expected


def test_a_check_that_kafka_never_ran_is_no_agreement(judges: Callable[[str], ModuleType]) -> None:
    data = matrix_of({}, {})
    checks = data["judges"]["c 1"]["brokers"]["kafka-4.4"]["checks"]
    checks["consumes"] = checks.pop("joins")
    assert judges("data").differences(data) == ["c 1: joins: seen on groupmock, and never on kafka-4.4"]


def test_a_check_that_saw_nothing_is_red(judges: Callable[[str], ModuleType], tmp_path: Path) -> None:
    cell = judges("cell")
    row = cell.Row("c 1", None, tmp_path)
    row.without("joins")
    assert not row.good, "a row without a check is no agreement"
    row.check("consumes", lambda: {"records": 60})
    assert row.good
    row.check("commits", dict)
    assert (row.good, row.verdicts["commits"].why) == (False, cell.NOTHING)


def test_a_broker_that_kafka_was_not_compared_with_is_still_red(judges: Callable[[str], ModuleType]) -> None:
    data = matrix_of({}, {"ok": False, "saw": {}, "why": "late"})
    del data["judges"]["c 1"]["brokers"]["kafka-4.4"]
    assert judges("data").differences(data) == ["c 1: joins: red on groupmock: late"]


def test_only_the_brokers_asked_for_are_compared(judges: Callable[[str], ModuleType]) -> None:
    data = matrix_of({}, {"ok": False, "saw": {}, "why": "late"})
    assert judges("data").differences(data, brokers={"groupmock-4.3"}) == []
    assert judges("data").differences(data, judges={"another"}) == []


def test_the_page_names_what_is_red() -> None:
    page = clients_page.page(matrix_of({}, {"ok": False, "saw": {}, "why": "late"}))
    assert "| c 1 | ok · **RED** |" in page
    assert "- c 1, `joins`, G: late\n" in page


def test_a_red_run_stays_recorded_and_shown_after_a_green_one(judges: Callable[[str], ModuleType], tmp_path: Path) -> None:
    cell = judges("cell")
    data: dict[str, Any] = {"brokers": {"groupmock": "G"}, "judges": {}}
    for ok, why in ((False, "late: last seen: 3\nand a log"), (True, "")):
        row = cell.Row("c 1", None, tmp_path)
        row.client, row.verdicts["joins"] = "c", cell.Verdict(ok, why=why)
        judges("data").put(data, "c 1", "groupmock", row, "")
    stored = data["judges"]["c 1"]["brokers"]["groupmock"]
    assert [run["red"] for run in stored["runs"]] == [{"joins": "late: last seen: 3"}, {}]
    assert stored["checks"]["joins"]["ok"]
    page = clients_page.page(data)
    red, before = page.split("## Runs that were red before the last one")
    assert "No check failed in the last run" in red
    assert f"- {stored['runs'][0]['at']}, c 1, `joins`, G: late: last seen: 3\n" in before
    assert "| 2, 1 |" in page
