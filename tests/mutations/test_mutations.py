"""The list of mutations matches the source files, and each judge notices broken code and accepts correct code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import for_each

from groupmock_clients.probe.language.exchange_suite import load_suite
from tools.mutations import judging, planted

KEPT = ("00-setup.exchange", "50-heartbeat-leave.exchange", "rows.toml")
"""A few exchanges that take a second, so that the tests of the tool do not play all of them."""
PLAYS = "exchanges-4.3-plain.jsonl.gz"
BROKEN = "heartbeat-of-a-later-generation"
ROWS = frozenset(load_suite().rows)


@contextmanager
def small_snapshot() -> Iterator[Path]:
    """Yield a snapshot of the tree with a few exchanges and one file of golden plays."""
    with judging.snapshot() as folder:
        for file in (*(folder / planted.FOLDERS["exchanges"]).iterdir(), *(folder / planted.FOLDERS["golden"]).iterdir()):
            if file.name not in (*KEPT, PLAYS) and file.is_file():
                file.unlink()
        yield folder


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """Yield a small snapshot that all tests share."""
    with small_snapshot() as folder:
        yield folder


def named(name: str) -> Any:
    return next(each for each in planted.load() if each.name == name)


# -- the list


def test_every_mistake_stands_once_in_the_sources() -> None:
    stale = []
    for mutation in planted.load():
        try:
            planted.check(mutation)
        except planted.Stale as problem:
            stale.append(str(problem))
    assert stale == []


def test_rows_that_name_a_mistake_exist() -> None:
    assert {each.name: unknown for each in planted.load() if (unknown := set(each.rows) - ROWS)} == {}


def test_the_list_is_long_enough_and_spread_over_the_parts() -> None:
    listed = planted.load()
    assert len({(each.file, each.old, each.new) for each in listed}) == len(listed) >= 120
    assert len({each.file for each in listed}) >= 45
    assert sum(bool(each.rows) for each in listed) >= 80
    counts = Counter(each.part for each in listed)
    assert {part: counts[part] for part in ("codec", "core", "faults", "journal", "net") if counts[part] < 7} == {}


@for_each(
    ("change", "said"),
    [
        ({"old": "no such text"}, "stands 0 times"),
        ({"old": "return"}, r"stands \d+ times"),
        ({"file": "broker/groupmock/core/groups/gone.py"}, "there is no broker/groupmock/core/groups/gone.py"),
        ({"new": "if message.generation_id != group.generation:"}, "changes nothing"),
    ],
)
def test_a_list_that_does_not_fit_is_an_error_that_says_where(change: dict[str, str], said: str) -> None:
    with pytest.raises(planted.Stale, match=f"{BROKEN}: .*{said}"):
        planted.check(replace(named(BROKEN), **change))


# -- the tool


def test_a_broken_core_is_caught_and_named_and_the_tree_is_left_alone(base: Path) -> None:
    mutation = named(BROKEN)
    told: list[str] = []
    ((_, verdicts),) = judging.run([mutation], ["golden", "exchanges"], base, told.append)
    assert {judge: verdict.caught for judge, verdict in verdicts.items()} == {"golden": True, "exchanges": True}
    assert planted.named_by(mutation, verdicts["exchanges"].rows) == ["SERVER-42", "H6"]
    assert list(judging.complaints(mutation, verdicts)) == []
    assert [line.split()[:3] for line in told] == [[BROKEN, "golden:", "caught"]]
    planted.check(mutation)


def test_a_core_that_is_not_broken_is_not_caught(base: Path) -> None:
    nothing = judging.JudgeVerdict(False, 0, "", {})
    assert judging.judge(base, None, ["golden", "exchanges"]) == {"golden": nothing, "exchanges": nothing}


def test_what_no_client_sees_is_noticed_by_the_unit_tests_of_its_part(base: Path) -> None:
    mutation = named("once-too-often")
    assert (mutation.judges, mutation.part) == (("unit",), "faults")
    verdicts = judging.judge(base, mutation, mutation.judges)
    assert "tests/unit/faults/test_fault_decision.py::test_so_many_times" in verdicts["unit"].rows
    assert list(judging.complaints(mutation, verdicts)) == []


def test_mistake_is_judged_by_the_checks_that_can_see_it() -> None:
    """Golden plays judge only the core, exchanges judge the rules that they cite, and unit tests judge the package that they belong to."""
    assert {each.judges for each in planted.load()} == {("golden", "exchanges", "unit"), ("golden", "unit"), ("unit",)}
    assert {each.part for each in planted.load() if not each.file.startswith("codec/")} == {"core", "faults", "journal", "net"}
    assert {each.part for each in planted.load() if each.file.startswith("codec/")} == {"codec"}


def test_judges_that_find_the_unchanged_core_guilty_prove_nothing() -> None:
    with small_snapshot() as folder:
        planted.plant(named(BROKEN), folder)
        with pytest.raises(RuntimeError, match="the sources without any mutation are found guilty"):
            judging.run([], ["exchanges"], folder)


def test_a_judge_without_anything_to_judge_is_an_error() -> None:
    with judging.snapshot() as folder:
        for file in (folder / planted.FOLDERS["exchanges"]).glob("*.exchange"):
            file.unlink()
        with pytest.raises(RuntimeError, match="nothing to judge"):
            judging.judge(folder, None, ["exchanges"])


@for_each(
    ("survives", "caught", "rows", "complaints"),
    [
        ("", True, ["H6"], []),
        ("", False, ["H6"], ["survives the golden corpus and nothing explains it"]),
        ("for a reason", False, ["H6"], []),
        ("for a reason", True, ["H6"], ["is caught by the golden corpus, yet mutations.toml says why it survives"]),
        ("", True, ["H1"], ["named by H1, not by SERVER-42 H6"]),
        ("", True, [], ["no exchange breaks"]),
    ],
    ids=repr,
)
def test_what_is_not_as_it_should_be_is_said(survives: str, caught: bool, rows: list[str], complaints: list[str]) -> None:
    mutation = replace(named(BROKEN), survives=survives)
    verdicts = {
        "golden": judging.JudgeVerdict(caught, int(caught), "", {}),
        "exchanges": judging.JudgeVerdict(bool(rows), len(rows), "", dict.fromkeys(rows, 1)),
    }
    assert list(judging.complaints(mutation, verdicts)) == complaints


def test_a_mistake_that_no_unit_test_notices_is_one_too_many() -> None:
    survived = {"unit": judging.JudgeVerdict(False, 0, "", {})}
    assert list(judging.complaints(named("once-too-often"), survived)) == ["no unit test fails"]
    assert list(judging.complaints(named(BROKEN), survived)) == []
