"""Run commands for `make live` and `make search` with a time limit, end them with all their children, and read pytest's outcomes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
SUPPORT: Final = ROOT / "tests" / "support"
"""The folder of the pytest plug-in that writes outcomes."""
TESTS_RAN: Final = (0, 1)
"""The exit codes of pytest after running tests."""
GRACE_S: Final = 30
"""The seconds that an interrupted run of pytest gets to sum up its results."""


class Ended(NamedTuple):
    """The result of a command that has ended. `seconds` is wall time, `output` has both streams."""

    code: int
    seconds: float
    output: str


class CaseOutcome(NamedTuple):
    """The outcome of a test of pytest: passed, failed or skipped. `text` is present for failures."""

    verdict: str
    seconds: float
    text: str


def ended(words: Sequence[str], limit_s: float, where: Path = ROOT, variables: Mapping[str, str] | None = None) -> Ended:
    """Run a command to its end or until `limit_s`, and then end its child processes too. `variables` extend the environment."""
    began = time.monotonic()
    with subprocess.Popen(
        words, cwd=where, env={**os.environ, **(variables or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    ) as run:  # fmt: skip
        try:
            output, _ = run.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            output = f"{_stopped(run)}\nstopped after {limit_s:.0f} s"
    return Ended(run.returncode, time.monotonic() - began, output)


def _stopped(run: subprocess.Popen[str]) -> str:
    """End a command by SIGINT first, so that pytest can still sum up its results. Returns the output."""
    os.killpg(run.pid, signal.SIGINT)
    try:
        return run.communicate(timeout=GRACE_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        return run.communicate()[0]


def outcomes_of(
    words: Sequence[str], limit_s: float, workers: int = 2, where: Path = ROOT, variables: Mapping[str, str] | None = None
) -> tuple[Ended, dict[str, CaseOutcome]]:
    """Run pytest with these words, and return each test's outcome."""
    given = variables or {}
    path = os.pathsep.join(filter(None, [str(SUPPORT), given.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))]))
    with tempfile.TemporaryDirectory(prefix="groupmock-run-") as scratch:
        file = Path(scratch, "outcomes.jsonl")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "outcomes", "-p", "no:cacheprovider", "--outcomes", str(file)]
        done = ended([*command, "-n", str(workers), "--dist", "loadgroup", *words], limit_s, where, {**given, "PYTHONPATH": path})
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    return done, {row["test"]: CaseOutcome(row["verdict"], row["seconds"], row["text"]) for row in rows}
