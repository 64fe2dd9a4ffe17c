"""Find tests that fail if a server is late: a function on a server's thread sleeps 2 s when a test first calls it.

First every function of the broker is watched without slowing it (`scout`), to know which tests call it on a server's thread, and which
tests pass. Then some of the called functions are drawn, and the tests that call one are run with the sleep in it. tests/support/late plants
watch and sleep.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Final

from tools.runs import ROOT, TESTS_RAN

from .report import SearchPart
from .suite import PytestRun, SearchRequest, run

BROKER: Final = ROOT / "broker"
HOOK: Final = ROOT / "tests/support/late"
NOT_OURS: Final = ("groupmock.cli.",)
"""Modules that run before a server is started, or not on its threads."""
WITHOUT_SERVERS: Final = (
    *("pipeline", "properties", "found", "golden", "mutations", "project", "live", "bytes"),
    *("unit/codec", "unit/core", "unit/cooperative", "unit/faults", "fidelity"),
)
"""Folders of tests that start no server, are not part of `make test`, or need Spark."""
PLACES: Final = 20
TESTS: Final = 40
"""The greatest number of tests that are drawn for one function, to run while it sleeps."""
LATE_S: Final = 2.0
SCOUT_S: Final = 1800


def search(wanted: SearchRequest, places: Sequence[str] = ()) -> SearchPart:
    """Make twenty functions (or the named ones) sleep, one after the other, as long as time is left. The scout's time does not count."""
    part = SearchPart("late")
    called, scouted = _scout(wanted, places)
    if scouted.code not in TESTS_RAN:
        return part.failed(scouted.output)
    if not called:
        return part.failed(f"no test called {' '.join(places) or 'anything'} on a server's thread")
    green = {test for test, verdict in scouted.verdicts.items() if verdict == "passed"}
    part.did.append(f"scout: {len(scouted.verdicts)} tests, {len(called)} functions called on a server's thread")
    part.did += [f"scout: red without any sleep: {test}" for test in scouted.failed]
    dice, end = Random(wanted.seed), time.monotonic() + wanted.seconds
    for place in places or dice.sample(sorted(called), min(PLACES, len(called))):
        if time.monotonic() > end:
            part.did.append("the time is over before the places are")
            break
        tests = sorted(called.get(place, set()) & green)
        _one(part, place, dice.sample(tests, min(TESTS, len(tests))), wanted)
    return part


def _one(part: SearchPart, place: str, tests: Sequence[str], wanted: SearchRequest) -> None:
    """Run the tests that call a function on a server's thread, while the function sleeps."""
    if not tests:
        part.did.append(f"{place}: no green test calls it")
        return
    done = _run(tests, _plan(wanted, [place], LATE_S), wanted, limit=len(tests) * 30 + 300)
    red = {test: said for test, said in done.failed.items() if test in tests}
    part.did.append(f"{place}: {len(tests)} tests, {len(red)} red")
    part.reds += [f"{place} late: {test}: {said}" for test, said in red.items()]
    if done.code not in TESTS_RAN:
        part.reds.append(f"{place} late: the run itself ended with {done.code}: {done.output[-300:]}")


def _scout(wanted: SearchRequest, places: Sequence[str]) -> tuple[dict[str, set[str]], PytestRun]:
    """Return for each function the tests that call it on a server's thread, and the outcomes of all tests when nothing sleeps."""
    plan = _plan(wanted, places or list(everything()), 0.0)
    ignored = [f"--ignore={ROOT / 'tests' / folder}" for folder in WITHOUT_SERVERS]
    done = _run([*ignored], plan, wanted, limit=SCOUT_S)
    called: dict[str, set[str]] = defaultdict(set)
    log = wanted.folder / "late.log"
    for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else ():
        place, _, test = line.partition("\t")
        called[place].add(test)
    return dict(called), done


def _run(words: Sequence[str], plan: Path, wanted: SearchRequest, limit: float) -> PytestRun:
    path = os.pathsep.join([str(HOOK), *filter(None, [os.environ.get("PYTHONPATH")])])
    return run(words, wanted, limit, {"PYTHONPATH": path, "GROUPMOCK_LATE": str(plan)})


def _plan(wanted: SearchRequest, places: Sequence[str], seconds: float) -> Path:
    """Write the file that tells tests/support/late which functions sleep, and delete its old log."""
    wanted.folder.mkdir(parents=True, exist_ok=True)
    plan, log = wanted.folder / "late.json", wanted.folder / "late.log"
    log.unlink(missing_ok=True)
    plan.write_text(json.dumps({"places": list(places), "seconds": seconds, "log": str(log)}), encoding="utf-8")
    return plan


def _hook() -> ModuleType:
    """Import tests/support/late's hook, which decides how functions are called."""
    spec = importlib.util.spec_from_file_location("groupmock_late_hook", HOOK / "sitecustomize.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def everything() -> Iterator[str]:
    """Yield every function of the broker by the name that the hook gives it."""
    functions = _hook().functions
    for file in sorted(BROKER.rglob("*.py")):
        module = ".".join(file.relative_to(BROKER).with_suffix("").parts).removesuffix(".__init__")
        if not module.startswith(NOT_OURS):
            yield from (f"{module}:{name}" for name, _ in functions(ast.parse(file.read_text(encoding="utf-8"))))
