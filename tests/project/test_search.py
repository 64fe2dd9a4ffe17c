"""`make search` reads the result of a pytest run correctly and always writes its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from found import packed
from properties import try_again
from properties.driver_bytes import DRIVER_BYTES

from groupmock.core.core import Core
from groupmock.core.events import Request
from groupmock.core.groups.classic.states import ANSWERS, PREPARING, Answer, Do, Question
from groupmock.rig.wire import request
from tools.runs import Ended
from tools.search import __main__ as command
from tools.search import fuzz, kafka, late, report, simulation, suite, verdicts

Search = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def search(tmp_path: Path) -> Search:
    """Run a search with these words and return exit code, report.json and report.txt."""

    def run(*words: str) -> tuple[int, dict[str, Any], str]:
        folder = tmp_path / "report"
        code = command.main([*words, "--seed", "7", "--folder", str(folder), "--finds", str(tmp_path / "finds")])
        return code, json.loads((folder / "report.json").read_text()), (folder / "report.txt").read_text()

    return run


def test_a_find_is_in_the_report_and_refuses_nothing(search: Search, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def run(words: Sequence[str], wanted: Any, limit: float) -> Any:
        assert words[words.index("--search-seed") + 1] == "7"
        wanted.finds.mkdir()
        (wanted.finds / "group-1.json").write_text("{}")
        return suite.PytestRun(1, "", {"tests/test_a.py::test_b": "AssertionError: no"}, {"tests/test_a.py::test_b": "failed"})

    monkeypatch.setattr(suite, "run", run)
    code, data, text = search("properties", "--seconds", "1000")
    (found,) = data["parts"]
    assert (code, found["finds"], found["verdict"]) == (0, ["group-1.json"], "ran")
    assert "  FIND: group-1.json" in text.splitlines()
    assert "  SEEN: seed 7: tests/test_a.py::test_b: AssertionError: no" in text.splitlines()


def test_a_search_of_which_no_part_could_run_says_so(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "run", lambda *_, **__: suite.PytestRun(4, "ERROR: no such option", {}, {}))
    code, data, text = search("policies", "soaks")
    assert code == 3
    assert {each["verdict"] for each in data["parts"]} == {"could not run"}
    assert "  | ERROR: no such option" in text.splitlines()


def test_kafka_without_its_tools_is_missing_and_not_wrong(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka.shutil, "which", lambda name: None)
    code, data, _ = search("kafka")
    assert (code, data["parts"][0]["verdict"]) == (0, "missing")
    assert {"java", "mvn"} <= set(data["parts"][0]["missing"])


def test_late_tells_a_test_that_was_red_before_from_one_that_the_sleep_made_red(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: Sequence[str], wanted: Any, limit: float, environment: dict[str, str]) -> Any:
        plan = json.loads(Path(environment["GROUPMOCK_LATE"]).read_text())
        if not plan["seconds"]:
            Path(plan["log"]).write_text("m:f\tt::quick\nm:f\tt::broken\nm:f\tt::patient\n")
            return suite.PytestRun(1, "", {"t::broken": "no"}, {"t::quick": "passed", "t::patient": "passed", "t::broken": "failed"})
        assert (sorted(words), plan["places"], plan["seconds"]) == (["t::patient", "t::quick"], ["m:f"], 2.0)
        return suite.PytestRun(1, "", {"t::quick": "took 2 s"}, {})

    monkeypatch.setattr(late, "run", run)
    _, data, _ = search("late")
    assert data["parts"][0]["reds"] == ["m:f late: t::quick: took 2 s"]


def test_every_place_that_is_drawn_is_one_the_hook_knows() -> None:
    places = set(late.everything())
    assert {"groupmock.net.driver:Driver.submit", "groupmock.core.core:Core.handle"} <= places


def test_a_test_that_is_not_the_same_in_every_run_is_named(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def run(words: Sequence[str], wanted: Any, limit: float, environment: dict[str, str]) -> Any:
        runs.append((wanted.workers, bool(words)))
        slow = len(runs) == 2
        failed = {"t::b": "took 2 s"} if slow else {}
        return suite.PytestRun(int(slow), "", failed, {"t::a": "passed", "t::b": "failed" if slow else "passed"})

    monkeypatch.setattr(verdicts, "run", run)
    monkeypatch.setattr(verdicts, "SPIN", "")
    code, data, _ = search("verdicts")
    (found,) = data["parts"]
    assert (code, len(runs), {workers for workers, _ in runs}, len({order for _, order in runs})) == (0, 15, {1, 2, 3, 4}, 2)
    assert sum("a busy loop per core" in line for line in found["did"]) == 5
    assert [line.rpartition("t::b")[2] for line in found["reds"]] == [": took 2 s", ": failed, passed"]


PARTS = [
    *("properties 20", "policies 10", "soaks 10", "simulation 15", "occasions 5", "fuzz-codec 5", "fuzz-driver 5"),
    *("kafka 10", "mutations 10", "late 10"),
]


def test_a_part_without_a_share_runs_only_when_it_is_named(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_how", lambda name, places: lambda wanted: report.SearchPart(f"{name} {wanted.seconds:.0f}"))
    _, data, _ = search("--seconds", "100")
    assert [each["name"] for each in data["parts"]] == PARTS
    assert [each["name"] for each in search("verdicts", "--seconds", "100")[1]["parts"]] == ["verdicts 100"]


def test_a_part_that_does_not_exist_is_bad_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["everything"]) == 2
    assert "no part is called everything: properties policies soaks" in capsys.readouterr().err


LATE = '''
"""A module."""

import threading


def slow():
    """Its docstring stays."""
    return "done"


class Server:
    async def serve(self):
        return slow.__doc__
'''
CALLS = """
import asyncio, os, threading, made
os.environ["PYTEST_CURRENT_TEST"] = "inner.py::test_of_a_pytest_of_its_own (call)"
for name in ("other", "groupmock"):
    thread = threading.Thread(target=lambda: print(made.slow(), asyncio.run(made.Server().serve())), name=name)
    thread.start()
    thread.join()
"""


def test_the_hook_strikes_on_a_servers_thread_alone_and_leaves_the_module_as_it_was(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(LATE)
    plan, log = tmp_path / "plan.json", tmp_path / "log"
    plan.write_text(json.dumps({"places": ["made:slow", "made:Server.serve", "made:gone"], "seconds": 0, "log": str(log)}))
    path = os.pathsep.join([str(tree / "tests/support/late"), str(tmp_path)])
    environment = {**os.environ, "PYTHONPATH": path, "GROUPMOCK_LATE": str(plan), "PYTEST_CURRENT_TEST": "a.py::test_b[c d] (call)"}
    done = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "done Its docstring stays.\n" * 2
    assert log.read_text().splitlines() == ["made:slow\ta.py::test_b[c d]", "made:Server.serve\ta.py::test_b[c d]"]


def test_fuzzing_without_atheris_is_missing_and_not_wrong(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz.importlib.util, "find_spec", lambda name: None)
    code, data, _ = search("fuzz-codec", "fuzz-driver")
    assert (code, [each["verdict"] for each in data["parts"]]) == (0, ["missing", "missing"])
    assert "pip install --group search" in data["parts"][0]["missing"][0]


def test_what_fuzzing_says_is_in_the_report(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    told = ["#9 cov: 12 ft: 34 corp: 5/40b", "find: driver-bytes-1.json", "red: driver-bytes: AssertionError: no", "Done 77 runs"]
    said = "\n".join(told)
    monkeypatch.setattr(fuzz.importlib.util, "find_spec", lambda name: fuzz)
    monkeypatch.setattr(fuzz, "ended", lambda *_: Ended(0, 3.0, said))
    _, data, _ = search("fuzz-driver")
    (part,) = data["parts"]
    assert part["did"] == ["77 inputs, 12 places, 34 features, corpus of 5"]
    assert (part["finds"], part["reds"]) == (["driver-bytes-1.json"], ["driver-bytes: AssertionError: no"])


def test_a_worker_of_the_simulation_writes_what_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--first", "10", "--seconds", "60", "--kind", "groups", "--until-found", "--finds", str(tmp_path)]
    with monkeypatch.context() as patched:
        patched.setitem(ANSWERS, (PREPARING, Question.HEARTBEAT), Answer(Do.ANSWER, 0, True))
        assert simulation.main(words) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    (file,) = tmp_path.iterdir()
    assert told["files"] == [file.name] and told["first"]["judge"] == "groups" and len(told["reds"]) == 1
    try_again(file.read_text())


def test_bytes_that_break_the_driver_are_a_find_until_it_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Core.handle

    def stumbles(self: Core, event: Any, now: int) -> Any:
        if isinstance(event, Request):
            raise KeyError("somewhere")
        return handle(self, event, now)

    case = {"pieces": [packed(request(18, 2)[:5]), packed(request(18, 2)[5:])]}
    DRIVER_BYTES.holds(case)
    with monkeypatch.context() as patched:
        patched.setattr(Core, "handle", stumbles)
        with pytest.raises(AssertionError, match="ApiVersions v2: KeyError"):
            DRIVER_BYTES.holds(case)
