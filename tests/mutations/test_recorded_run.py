"""The last complete run used the current list of mutations, and it shows that the checks can fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.mutations import planted
from tools.records import RECORDS

MOST_SURVIVORS = 0.05
"""Share of the mutations that may survive the golden corpus; each survivor has an explanation."""


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDS / "mutations.json").read_text(encoding="utf-8"))
    return found


def test_the_run_is_of_this_list(data: dict[str, Any]) -> None:
    assert [(name, row["breaks"]) for name, row in data["mutations"].items()] == [(each.name, each.breaks) for each in planted.load()]


def test_hardly_any_survives_the_golden_corpus_and_each_is_explained(data: dict[str, Any]) -> None:
    core = [each for each in planted.load() if each.in_core]
    survivors = [each for each in core if not data["mutations"][each.name]["golden"]["caught"]]
    assert [each.name for each in survivors if not each.survives] == []
    assert len(survivors) <= MOST_SURVIVORS * len(core)


def test_every_broken_server_is_named_by_a_rule_that_it_breaks(data: dict[str, Any]) -> None:
    ruled = [each for each in planted.load() if each.rows]
    assert [each.name for each in ruled if not planted.named_by(each, data["mutations"][each.name]["exchanges"]["rows"])] == []


def test_every_mistake_dies_in_make_test(data: dict[str, Any]) -> None:
    found = data["mutations"]
    assert [each.name for each in planted.load() if not any(found[each.name][judge]["caught"] for judge in each.judges)] == []
