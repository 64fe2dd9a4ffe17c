"""The list of mutations fits the sources, and a judge catches what is broken and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from groupmock_clients.probe.suite import load_suite

KEPT = ("00-setup.exchange", "50-heartbeat-leave.exchange", "rows.toml")
"""The exchanges that the tests of the tool judge by: a second, not all of them."""
PLAYS = "exchanges-4.3-plain.jsonl.gz"
BROKEN = "heartbeat-of-a-later-generation"
ROWS = frozenset(load_suite().rows)


@contextmanager
def small_snapshot(tool: ModuleType) -> Iterator[Path]:
    """A snapshot with a few exchanges and one file of golden plays."""
    with tool.snapshot() as folder:
        for file in (*(folder / tool.FOLDERS["exchanges"]).iterdir(), *(folder / tool.FOLDERS["golden"]).iterdir()):
            if file.name not in (*KEPT, PLAYS) and file.is_file():
                file.unlink()
        yield folder


@pytest.fixture(scope="module")
def base(tool: ModuleType) -> Iterator[Path]:
    """A small snapshot that all tests may share."""
    with small_snapshot(tool) as folder:
        yield folder


def named(tool: ModuleType, name: str) -> Any:
    return next(each for each in tool.load() if each.name == name)


# -- the list


def test_stands_once_in_the_sources(tool: ModuleType, mutation: Any) -> None:
    tool.check(mutation)


def test_is_named_by_rows_that_exist(mutation: Any) -> None:
    assert mutation.rows
    assert set(mutation.rows) - ROWS == set()


def test_the_list_is_long_enough_and_spread_over_the_core(tool: ModuleType) -> None:
    listed = tool.load()
    assert len(listed) >= 40
    assert len({each.file for each in listed}) >= 20
    assert len({(each.file, each.old, each.new) for each in listed}) == len(listed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"old": "no such text"}, "stands 0 times"),
        ({"old": "return"}, r"stands \d+ times"),
        ({"file": "group/gone.py"}, "there is no broker/groupmock/core/group/gone.py"),
        ({"new": "if message.generation_id != group.generation:"}, "changes nothing"),
    ],
)
def test_a_list_that_does_not_fit_is_an_error_that_says_where(tool: ModuleType, change: dict[str, str], said: str) -> None:
    with pytest.raises(tool.Stale, match=f"{BROKEN}: .*{said}"):
        tool.check(replace(named(tool, BROKEN), **change))


# -- the tool


def test_a_broken_core_is_caught_and_named_and_the_tree_is_left_alone(tool: ModuleType, base: Path) -> None:
    mutation = named(tool, BROKEN)
    told: list[str] = []
    ((_, verdicts),) = tool.run([mutation], ["golden", "exchanges"], base, told.append)
    assert {judge: verdict.caught for judge, verdict in verdicts.items()} == {"golden": True, "exchanges": True}
    assert tool.named_by(mutation, verdicts["exchanges"].rows) == ["SERVER-42", "H6"]
    assert list(tool.complaints(mutation, verdicts)) == []
    assert [line.split()[:3] for line in told] == [[BROKEN, "golden:", "caught"]]
    tool.check(mutation)


def test_a_core_that_is_not_broken_is_not_caught(tool: ModuleType, base: Path) -> None:
    nothing = tool.Verdict(False, 0, "", {})
    assert tool.judge(base, None, ["golden", "exchanges"]) == {"golden": nothing, "exchanges": nothing}


def test_judges_that_find_the_unchanged_core_guilty_prove_nothing(tool: ModuleType) -> None:
    with small_snapshot(tool) as folder:
        tool.plant(named(tool, BROKEN), folder)
        with pytest.raises(RuntimeError, match="the core without any mutation is found guilty"):
            tool.run([], ["exchanges"], folder)


def test_a_judge_without_anything_to_judge_is_an_error(tool: ModuleType) -> None:
    with tool.snapshot() as folder:
        for file in (folder / tool.FOLDERS["exchanges"]).glob("*.exchange"):
            file.unlink()
        with pytest.raises(RuntimeError, match="nothing to judge"):
            tool.judge(folder, None, ["exchanges"])


@pytest.mark.parametrize(
    ("survives", "caught", "rows", "complaints"),
    [
        ("", True, ["H6"], []),
        ("", False, ["H6"], ["survives the golden corpus and nothing explains it"]),
        ("for a reason", False, ["H6"], []),
        ("for a reason", True, ["H6"], ["is caught by the golden corpus, yet mutations.toml says why it survives"]),
        ("", True, ["H1"], ["named by H1, not by SERVER-42 H6"]),
        ("", True, [], ["no exchange breaks"]),
    ],
)
def test_what_is_not_as_it_should_be_is_said(tool: ModuleType, survives: str, caught: bool, rows: list[str], complaints: list[str]) -> None:
    mutation = replace(named(tool, BROKEN), survives=survives)
    verdicts = {
        "golden": tool.Verdict(caught, int(caught), "", {}),
        "exchanges": tool.Verdict(bool(rows), len(rows), "", dict.fromkeys(rows, 1)),
    }
    assert list(tool.complaints(mutation, verdicts)) == complaints
