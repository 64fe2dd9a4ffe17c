"""What `make live` tries: every folder of tests/live, and the commands of this table.

A part says what it needs that is not ours to install; without it the part is reported as missing, by name.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .tries import FAILED, PASSED, Part, Try

ROOT: Final = Path(__file__).resolve().parents[2]
LIVE: Final = ROOT / "tests" / "live"
MISSING_CODE: Final = 77
"""A command ends with it where a tool is missing that only it knows of."""
LONGEST_TEXT: Final = 20_000
SHARED: Final = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared")
ALL: Final = {"GROUPMOCK_CI_FULL": "1"}
"""Told that every tool is there, the interop drivers take one that is not for broken."""
PLUGINS: Final = ("-p", "outcomes", "-p", "no:cacheprovider")
SCENARIOS: Final = ("death-at-once", "death-in-time", "death-too-late", "rolling-bounce", "scale-up", "scale-down")
SMALL: Final = (
    "--jobs", "6", "--members", "3", "--partitions", "6", "--session-ms", "3000", "--heartbeat-ms", "300", "--delay-ms", "7000",
    "--move-interval-ms", "500", "--absence-ms", "300", "--rate", "5",
)  # fmt: skip


def without(*tools: str) -> str:
    """Those that are not on the PATH, in a sentence."""
    gone = [tool for tool in tools if shutil.which(tool) is None]
    return f"not on the PATH: {', '.join(gone)}" if gone else ""


def without_kafka() -> str:
    """Apache Kafka comes from the developers' shared folder, by way of java and mvn."""
    oracle = SHARED / "oracle" / "kafka.py"
    return without("java", "mvn") or ("" if oracle.is_file() else f"there is no {oracle}: set GROUPMOCK_SHARED to the shared folder")


def without_languages() -> str:
    """What the drivers in Go, JavaScript and Java are built with."""
    return without("go", "node", "npm", "java", "mvn")


def without_docker() -> str:
    """An engine must answer, too."""
    return without("docker") or ("" if _ended(["docker", "info"], 30)[0] == 0 else "no docker engine answers")


NEEDS: Final[Mapping[str, Callable[[], str]]] = {
    "judge": without_kafka,
    "kafka": without_kafka,
    "benchmarks": lambda: "" if shutil.which("gcc") or shutil.which("cc") else "not on the PATH: gcc, cc",
}
"""Folder of tests/live -> what it lacks."""


@dataclass(frozen=True)
class Folder:
    """A folder of tests, `path` below `root`; its cases are the node ids."""

    name: str
    says: str
    path: str
    root: Path = ROOT
    workers: int = 2
    limit_s: float = 1800

    def lacks(self) -> str:
        return NEEDS.get(self.name, str)()

    def attempt(self, only: Collection[str] | None = None) -> dict[str, Try]:
        """A run of pytest; if it said nothing of any test, the run itself is the case that failed."""
        with tempfile.TemporaryDirectory(prefix="groupmock-live-") as scratch:
            outcomes = Path(scratch, "outcomes.jsonl")
            run = [sys.executable, "-m", "pytest", "-q", "-n", str(self.workers), "--dist", "loadgroup", *PLUGINS]
            words = [*run, "--outcomes", str(outcomes), *([self.path] if only is None else only)]
            code, seconds, text = _ended(words, self.limit_s, self.root, {"PYTHONPATH": str(ROOT / "tests" / "support")})
            lines = outcomes.read_text(encoding="utf-8").splitlines() if outcomes.exists() else []
        found = {row["test"]: Try(row["verdict"], row["seconds"], row["text"]) for row in map(json.loads, lines)}
        if code in (0, 1) and found:
            return found
        return found | {f"{self.path}: pytest": Try(FAILED, seconds, f"exit code {code}\n{text}")}


@dataclass(frozen=True)
class Command:
    """A command that is one case: exit code 0 is passed, MISSING_CODE skipped, everything else failed."""

    name: str
    says: str
    words: Sequence[str]
    needs: Callable[[], str] = str
    variables: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 1800

    def lacks(self) -> str:
        return self.needs()

    def attempt(self, only: Collection[str] | None = None) -> dict[str, Try]:
        code, seconds, text = _ended(self.words, self.limit_s, ROOT, self.variables)
        outcome = {0: PASSED, MISSING_CODE: "skipped"}.get(code, FAILED)
        return {self.name: Try(outcome, seconds, "" if outcome == PASSED else f"exit code {code}\n{text}")}


def _ended(words: Sequence[str], limit_s: float, where: Path = ROOT, more: Mapping[str, str] | None = None) -> tuple[int, float, str]:
    """Run to the end, or until `limit_s`: exit code, seconds, the last of what it printed. SIGINT first, so that pytest still sums up."""
    began = time.monotonic()
    run = subprocess.Popen(
        words, cwd=where, env={**os.environ, **(more or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = run.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        text = f"{_stopped(run)}\nstopped after {limit_s:g} s"
    return run.returncode, time.monotonic() - began, text[-LONGEST_TEXT:]


def _stopped(run: subprocess.Popen[str]) -> str:
    """End the whole session that it leads; what it printed."""
    for ending in (signal.SIGINT, signal.SIGKILL):
        os.killpg(run.pid, ending)
        try:
            return run.communicate(timeout=30)[0]
        except subprocess.TimeoutExpired:
            continue
    return ""


def interpreters(version: str) -> Iterator[str]:
    """Paths of that Python that start: pyenv's own folders, then the PATH (a shim may exist and not start)."""
    places = sorted(Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv").glob(f"versions/{version}*/bin/python"))
    for path in [*map(str, places), *filter(None, [shutil.which(f"python{version}")])]:
        if _ended([path, "-c", "import venv"], 30)[0] == 0:
            yield path


def _demo_under(version: str) -> Command:
    path = next(interpreters(version), "")
    says = f"the demo under Python {version}, set-up included"
    return Command(f"demo-{version}", says, ["make", "demo", f"PYTHON={path}"], lambda: "" if path else f"there is no Python {version}")


def _scenarios() -> Command:
    """The document's Characteristics with every stock client, small: each run keeps the invariants and counts what its virtual twin
    counts."""
    protocols = ["range", "cooperative-sticky", "design-1", "design-2", "design-3", *(["connect"] if not without("java", "mvn") else [])]
    words = [word for each in protocols for word in ("--protocol", each)]
    table = [sys.executable, "-m", "groupmock", "scenario", "table", "--live", "--agree", *SCENARIOS, *words, *SMALL]
    return Command("scenario-table", "scenarios against their virtual twins", table)


def parts() -> list[Part]:
    """Every folder of tests/live in order of name, then the commands."""
    folders = sorted(each for each in LIVE.iterdir() if any(each.glob("test_*.py")))
    found: list[Part] = [Folder(each.name, f"tests/live/{each.name}", f"tests/live/{each.name}") for each in folders]
    python = sys.executable
    return [
        *found,
        _scenarios(),
        Command("demo", "the demo", ["make", "demo"]),
        Command("demo-asyncio", "the demo on plain asyncio", ["make", "demo"], variables={"GROUPMOCK_LOOP": "asyncio"}),
        _demo_under("3.12"),
        _demo_under("3.13"),
        Command("interop", "groups in three other languages", [python, "tests/interop/run"], without_languages, ALL),
        Command("matrix", "stock clients, as Kafka showed them", [python, "tests/interop/matrix", "--live"], without_languages, ALL),
        Command("containers-up", "the compose file in an engine", ["bash", "docker/try"], without_docker),
    ]
