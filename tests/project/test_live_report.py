"""`make live` distinguishes unstable tests from broken ones, repeats only failed tests, and always completes its report."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as XML

import pytest

from tools.live.parts import Folder, ShellCommand, parts
from tools.live.report import as_html, as_junit, as_text
from tools.live.tries import TRIES, Case, tried

TESTS = """
import pathlib, pytest

def times(name):
    file = pathlib.Path(__file__).with_name(name)
    file.open("a").write("x")
    return len(file.read_text())

def test_steady():
    times("steady")

def test_unstable():
    assert times("unstable") == 2, "<b>only the second time</b>\\x1b[31m"

def test_broken():
    assert times("broken") < 0, "never"

@pytest.mark.skip(reason="not here")
def test_skipped(): ...
"""


@pytest.fixture
def cases(tmp_path: Path) -> dict[str, Case]:
    """Run a folder of planted tests and return each case by name. A file with the name of the test counts its runs."""
    (tmp_path / "test_planted.py").write_text(TESTS)
    found = tried(Folder("planted", "planted tests", "test_planted.py", root=tmp_path, workers=1), TRIES, print)
    return {each.name.rpartition("test_")[2]: each for each in found}


def test_a_planted_unstable_test_is_unstable_and_only_failures_are_tried_again(cases: dict[str, Case], tmp_path: Path) -> None:
    verdicts = {name: each.verdict for name, each in cases.items()}
    assert verdicts == {"steady": "ok", "unstable": "unstable", "broken": "broken", "skipped": "skipped"}
    ran = {name: len((tmp_path / name).read_text()) for name in ("steady", "unstable", "broken")}
    assert ran == {"steady": 1, "unstable": 2, "broken": 3}


def test_every_form_of_the_report_tells_them_apart(cases: dict[str, Case]) -> None:
    results = {"planted": list(cases.values())}
    text = as_text(results)
    assert "UNSTABLE planted: test_planted.py::test_unstable" in text and "BROKEN planted: test_planted.py::test_broken" in text
    assert text.endswith("all together: 1 broken, 1 unstable, 1 skipped, 1 ok\n")
    suite = XML.fromstring(as_junit(results)).find("testsuite")
    assert suite is not None and (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    found = {str(each.get("name")).rpartition("test_")[2]: [child.tag for child in each] for each in suite}
    assert found == {
        "steady": [], "unstable": ["flakyFailure"], "broken": ["failure", "rerunFailure", "rerunFailure"], "skipped": ["skipped"],
    }  # fmt: skip
    page = as_html(results)
    assert "&lt;b&gt;only the second time&lt;/b&gt;" in page and "<b>only" not in page


def test_a_run_that_says_nothing_of_any_test_is_broken(tmp_path: Path) -> None:
    (case,) = tried(Folder("gone", "a folder that is not there", "gone", root=tmp_path, workers=1), 2, print)
    assert (case.name, case.verdict, len(case.tries)) == ("gone: pytest", "broken", 2)
    assert "no tests ran" in case.text


@pytest.mark.parametrize(("command", "verdict"), [("exit 0", "ok"), ("echo why; exit 3", "broken"), ("exit 77", "skipped")])
def test_a_command_is_a_case(command: str, verdict: str) -> None:
    told = list[str]()
    (case,) = tried(ShellCommand("planted", "a command", ["sh", "-c", command]), 2, told.append)
    assert case.verdict == verdict
    assert told == ([f"planted: try {number} failed\nexit code 3\nwhy" for number in (1, 2)] if verdict == "broken" else [])
    assert case.text == {"broken": "try 1: failed\nexit code 3\nwhy\n\ntry 2: failed\nexit code 3\nwhy"}.get(verdict, case.text)


def test_what_the_machine_lacks_is_missing_and_not_tried() -> None:
    (case,) = tried(ShellCommand("planted", "a command", ["sh", "-c", "exit 1"], needs=lambda: "not on the PATH: abacus"), TRIES, print)
    assert (case.verdict, case.text, case.tries) == ("missing", "not on the PATH: abacus", [])


def test_every_folder_is_a_part_and_every_part_has_a_name_of_its_own(tree: Path) -> None:
    names = [each.name for each in parts()]
    assert len(names) == len(set(names))
    assert {each.name for each in (tree / "tests/live").iterdir() if any(each.glob("test_*.py"))} <= set(names)
