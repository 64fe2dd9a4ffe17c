"""Run the judges (sets of tests) on a mutation, each in its own process (judge_process.py), and interpret their verdicts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.runs import ROOT

from .planted import FOLDERS, LIST, Mutation, named_by, plant

SOURCES: Final = ("codec", "broker", "clients")
NEEDED: Final = (*SOURCES, "pipeline", "tests", "docs", "tools", "pyproject.toml", "README.md")
"""The parts of a snapshot: the sources, and whatever a unit test reads."""
PROCESSES: Final = 2
PATIENCE_S: Final = 180
LONGEST_FIRST: Final = 160
FEW: Final = 3
"""The greatest number of failed unit tests that are named for a mistake, because none of so few tests is redundant."""


@dataclass(frozen=True)
class JudgeVerdict:
    """The verdict of one judge on one mutation. `rows` maps a row to its broken exchanges, or a test to its failures. `first` is the
    first difference found."""

    caught: bool
    broken: int
    first: str
    rows: dict[str, int]


Verdicts = dict[str, JudgeVerdict]
"""Maps the name of a judge to its verdict."""


@contextmanager
def snapshot(root: Path = ROOT) -> Iterator[Path]:
    """Copy the sources and the judges' data, so that they do not change during a run."""
    with tempfile.TemporaryDirectory(prefix="groupmock-mutations-") as folder:
        for name in NEEDED:  # The folder of exchanges is not listed, because it is part of the clients and is copied with them.
            if (root / name).is_dir():
                shutil.copytree(root / name, Path(folder) / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (root / name).is_file():
                shutil.copy(root / name, Path(folder) / name)
        yield Path(folder)


def judge(base: Path, mutation: Mutation | None, judges: Iterable[str], unit: Sequence[str] = ()) -> Verdicts:
    """Return every judge's verdict on the sources of `base` with that mistake (None: unchanged). `unit` selects folders of unit tests."""
    with tempfile.TemporaryDirectory(prefix="groupmock-mutant-") as folder:
        mutant = Path(folder)
        for name in SOURCES:
            shutil.copytree(base / name, mutant / name, ignore=shutil.ignore_patterns("__pycache__"))
        if mutation is not None:
            plant(mutation, mutant)
            unit = unit or (mutation.part,)
        return {name: _verdict(name, base, mutant, unit) for name in judges}


def _verdict(name: str, base: Path, mutant: Path, unit: Sequence[str]) -> JudgeVerdict:
    # The folder `base` is on the path because it contains tools.fidelity.
    path = os.pathsep.join(map(str, (*(mutant / each for each in SOURCES), base)))
    asked = [str(base / FOLDERS[name] / each) for each in unit] if name == "unit" else [str(base / FOLDERS[name])]
    command = [sys.executable, "-P", "-m", "tools.mutations.judge_process", name, str(mutant), *asked]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=base, env={**os.environ, "PYTHONPATH": path}
        )
    except subprocess.TimeoutExpired:
        return JudgeVerdict(True, 1, f"no end within {PATIENCE_S} s", {})
    if done.returncode:
        raise RuntimeError(f"judge {name} failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    if not found["judged"]:
        raise RuntimeError(f"judge {name} had nothing to judge in {FOLDERS[name]}")
    return JudgeVerdict(found["broken"] > 0, found["broken"], found["first"], found["rows"])


def run(
    mutations: Sequence[Mutation],
    judges: Sequence[str],
    base: Path,
    told: Callable[[str], None] = print,
    unit: Sequence[str] = (),
) -> list[tuple[Mutation, Verdicts]]:
    """Run the judges on all mutations, two at a time, and print a line for each. Raises RuntimeError if a judge finds fault with the
    unchanged sources."""
    folders = unit or sorted({each.part for each in mutations})
    asked = [each for each in judges if each != "unit" or folders]
    innocent = [f"{name}: {verdict.first}" for name, verdict in judge(base, None, asked, folders).items() if verdict.caught]
    if innocent:
        raise RuntimeError("the sources without any mutation are found guilty, so the judges prove nothing:\n" + "\n".join(innocent))
    results = []
    with ThreadPoolExecutor(PROCESSES) as pool:
        judged = pool.map(lambda each: judge(base, each, [name for name in each.judges if name in judges], unit), mutations)
        for mutation, verdicts in zip(mutations, judged, strict=True):
            told(line(mutation, verdicts))
            results.append((mutation, verdicts))
    return results


def complaints(mutation: Mutation, verdicts: Verdicts) -> Iterator[str]:
    """Yield what in the verdicts on a mutation differs from the expected verdicts."""
    golden, exchanges, unit = verdicts.get("golden"), verdicts.get("exchanges"), verdicts.get("unit")
    if golden is not None and not golden.caught and not mutation.survives:
        yield "survives the golden corpus and nothing explains it"
    if golden is not None and golden.caught and mutation.survives:
        yield f"is caught by the golden corpus, yet {LIST.name} says why it survives"
    if exchanges is not None and not exchanges.caught:
        yield "no exchange breaks"
    elif exchanges is not None and not named_by(mutation, exchanges.rows):
        yield f"named by {' '.join(exchanges.rows)}, not by {' '.join(mutation.rows)}"
    if unit is not None and not unit.caught and not mutation.in_core:
        yield "no unit test fails"


def line(mutation: Mutation, verdicts: Verdicts) -> str:
    """Format one mutation for the table that a run prints."""
    cells = [f"{mutation.name:40}"]
    for name, verdict in verdicts.items():
        rows = " ".join(named_by(mutation, verdict.rows))
        cells.append(f"{name}: {f'caught ({verdict.broken}) {rows}'.strip() if verdict.caught else 'SURVIVES'}")
        cells += [f"\n    {verdict.first[:200]}"] if verdict.caught else []
    return " ".join(cells) + "".join(f"\n  ! {problem}" for problem in complaints(mutation, verdicts))


def as_data(results: Sequence[tuple[Mutation, Verdicts]], seconds: float) -> dict[str, Any]:
    rows = {
        mutation.name: {"breaks": mutation.breaks}
        | {
            judge: {
                "caught": verdict.caught,
                "broken": verdict.broken,
                "first": verdict.first[:LONGEST_FIRST],
                "rows": sorted(verdict.rows) if judge != "unit" or len(verdict.rows) <= FEW else [],
            }
            for judge, verdict in verdicts.items()
        }
        for mutation, verdicts in results
    }
    return {"release": "4.3", "seconds": round(seconds), "mutations": rows}
