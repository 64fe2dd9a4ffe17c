"""Collects the outcome of each test of a pytest run, the seconds per folder, and the tests over their time budget."""

from __future__ import annotations

from pathlib import Path

import outcomes
from cases import for_each

from tools.runs import outcomes_of

TESTS = """
import pytest


@pytest.fixture
def broken_at_the_end():
    yield
    assert False, "at the end"

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("address", ["me@home"])
def test_good(address): ...

def test_bad():
    assert 1 == 2

def test_ends_badly(broken_at_the_end): ...

@pytest.mark.skip(reason="planted")
def test_skipped(): ...
"""


def test_every_test_has_one_outcome_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "test_planted.py").write_text(TESTS)
    done, found = outcomes_of(["test_planted.py"], 120, workers=2, where=tmp_path)
    assert done.code == 1 and found, done.output
    assert {test.rpartition("::")[2]: outcome.verdict for test, outcome in found.items()} == {
        "test_good[me@home]": "passed",
        "test_bad": "failed",
        "test_ends_badly": "failed",
        "test_skipped": "skipped",
    }
    assert "at the end" in found["test_planted.py::test_ends_badly"].text


def test_a_file_that_cannot_be_collected_is_an_outcome_too(tmp_path: Path) -> None:
    (tmp_path / "test_planted.py").write_text("import nothing_of_that_name\n")
    (tmp_path / "test_good.py").write_text("def test_good(): ...\n")
    done, found = outcomes_of(["."], 120, workers=1, where=tmp_path)
    assert found["test_planted.py"].verdict == "failed", done.output
    assert "nothing_of_that_name" in found["test_planted.py"].text


@for_each(
    ("test", "folder"),
    [
        ("tests/unit/core/groups/test_a.py::test_b", "unit/core"),
        ("tests/live/clients/test_a.py::test_b", "live/clients"),
        ("tests/bytes/test_a.py::test_b[x/y]", "bytes"),
    ],
)
def test_a_test_counts_for_its_folder(test: str, folder: str) -> None:
    assert outcomes.folder_of(test) == folder


def test_who_is_over_its_budget_or_has_none_is_named() -> None:
    seconds = {"tests/a/test_a.py::t": 2.0, "tests/b/test_a.py::t": 3.0, "tests/b/test_a.py::u": 4.0, "tests/c/test_a.py::t": 1.0}
    spent = outcomes.spent(seconds)
    lines = [" ".join(line.split()) for line in outcomes.table(spent, {"a": 5, "b": 5})]
    assert lines[1:] == ["b 2 7.0 5 OVER BUDGET", "a 1 2.0 5", "c 1 1.0 no budget"]


def test_every_folder_of_make_test_has_a_budget_and_no_other(tree: Path) -> None:
    apart = {"live", "interop"}
    files = [file.relative_to(tree).as_posix() for file in (tree / "tests").rglob("test_*.py")]
    folders = {outcomes.folder_of(f"{file}::t") for file in files if file.split("/")[1] not in apart}
    assert set(outcomes.budgets()) == folders
