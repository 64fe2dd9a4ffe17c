"""The parts of `make live`: every folder of tests/live, and the commands of this table.

A part names the tools that it needs but cannot install. Without them the part is reported as missing, by name.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from groupmock_clients.scenarios.catalogue import JAVA_CLIENTS
from groupmock_clients.scenarios.catalogue import LIVE as LIVE_PROTOCOLS
from tools.oracle import ORACLE
from tools.runs import ROOT, TESTS_RAN, Ended, ended, outcomes_of

from .tries import FAILED, PASSED, SKIPPED, Part, Try

LIVE: Final = ROOT / "tests" / "live"
MISSING_CODE: Final = 77
"""The exit code by which a command reports that it lacks a tool, if `parts` cannot know about the tool."""
LONGEST_TEXT: Final = 20_000
ALL: Final = {"GROUPMOCK_CI_FULL": "1"}
"""The environment variable with which the interop drivers count a missing tool as a failure."""
SMALL: Final = (
    "--jobs", "6", "--members", "3", "--partitions", "6", "--session-ms", "3000", "--heartbeat-ms", "300", "--delay-ms", "7000",
    "--move-interval-ms", "500", "--absence-ms", "300", "--rate", "5",
)  # fmt: skip


def without(*tools: str) -> str:
    """Return a sentence about the tools that are not on the PATH, or ""."""
    gone = [tool for tool in tools if shutil.which(tool) is None]
    return f"not on the PATH: {', '.join(gone)}" if gone else ""


def without_kafka() -> str:
    """Return what is missing to run Apache Kafka, which the shared folder's script starts with java and mvn."""
    return without("java", "mvn") or ("" if ORACLE.is_file() else f"there is no {ORACLE}: set GROUPMOCK_SHARED to the shared folder")


def without_languages() -> str:
    """Return what is missing to build the drivers in Go, JavaScript and Java."""
    return without("go", "node", "npm", "java", "mvn")


def without_docker() -> str:
    """Return what is missing for containers: docker, or an engine that answers."""
    return without("docker") or ("" if ended(["docker", "info"], 30).code == 0 else "no docker engine answers")


def without_browser() -> str:
    """Return what is missing of Debian's chromium and of the Python packages that control it (the group `browser` of pyproject.toml)."""
    lacks = [each for each in ("playwright", "axe_playwright_python") if find_spec(each) is None]
    return without("chromium") or (f"not installed: {', '.join(lacks)} (pip install --group browser)" if lacks else "")


NEEDS: Final[Mapping[str, Callable[[], str]]] = {
    "java": partial(without, "java", "mvn"),
    "judge": without_kafka,
    "kafka": without_kafka,
    "record": without_kafka,
    "page": without_browser,
    "report": without_browser,
    "timeline": without_browser,
    "transactions": without_kafka,
    "benchmarks": lambda: "" if shutil.which("gcc") or shutil.which("cc") else "not on the PATH: gcc, cc",
}
"""Maps a folder of tests/live to the function that says what it lacks."""


@dataclass(frozen=True)
class Folder:
    """A folder of tests as a part of `make live`: `path` below `root`. Its cases are the node ids."""

    name: str
    says: str
    path: str
    root: Path = ROOT
    workers: int = 2
    limit_s: float = 1800

    def lacks(self) -> str:
        return NEEDS.get(self.name, str)()

    def attempt(self, only: Collection[str] | None = None) -> dict[str, Try]:
        """Run pytest on these cases of the folder. If it reports no test, the run itself is the case that failed."""
        done, outcomes = outcomes_of([self.path] if only is None else list(only), self.limit_s, self.workers, self.root)
        found = {test: Try(*outcome) for test, outcome in outcomes.items()}
        if done.code in TESTS_RAN and found:
            return found
        return found | {f"{self.path}: pytest": _failed(done)}


@dataclass(frozen=True)
class ShellCommand:
    """A command that is a part of `make live` and counts as one case. Exit code 0 means passed, MISSING_CODE skipped, anything else
    failed."""

    name: str
    says: str
    words: Sequence[str]
    needs: Callable[[], str] = str
    variables: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = 1800

    def lacks(self) -> str:
        return self.needs()

    def attempt(self, only: Collection[str] | None = None) -> dict[str, Try]:
        done = ended(self.words, self.limit_s, variables=self.variables)
        if done.code == 0:
            return {self.name: Try(PASSED, done.seconds)}
        return {self.name: replace(_failed(done), outcome=SKIPPED) if done.code == MISSING_CODE else _failed(done)}


def _failed(done: Ended) -> Try:
    return Try(FAILED, done.seconds, f"exit code {done.code}\n{done.output[-LONGEST_TEXT:]}")


def without_python(version: str) -> str:
    """Return what is missing for a Python version, which the Makefile looks for on the PATH and in pyenv's folders."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = shutil.which(f"python{version}") or any(pyenv.glob(f"versions/{version}.*/bin/python"))
    return "" if found else f"there is no Python {version}"


def _demo_under(version: str) -> ShellCommand:
    says = f"the demo under Python {version}, set-up included"
    return ShellCommand(f"demo-{version}", says, ["make", "demo", f"PYTHON=python{version}"], partial(without_python, version))


def _scenarios() -> ShellCommand:
    """Return the command that plays every scenario with every stock client at small sizes, and compares the counts with the virtual
    runs. Kafka Connect and Kafka Streams take part if Java is available."""
    java = without("java", "javac", "mvn") and JAVA_CLIENTS
    names = {each.name for each in LIVE_PROTOCOLS if each.client not in java}
    words = [word for name in sorted(names) for word in ("--protocol", name)]
    table = [sys.executable, "-m", "groupmock", "scenario", "table", "--live", "--agree", *words, *SMALL]
    return ShellCommand("scenario-table", "scenarios against their virtual twins", table, limit_s=3600)


def parts() -> list[Part]:
    """Return every folder of tests/live in order of name, then the commands."""
    folders = sorted(each for each in LIVE.iterdir() if any(each.glob("test_*.py")))
    found: list[Part] = [Folder(each.name, f"tests/live/{each.name}", f"tests/live/{each.name}") for each in folders]
    python = sys.executable
    return [
        *found,
        _scenarios(),
        ShellCommand("demo", "the demo", ["make", "demo"]),
        ShellCommand("demo-asyncio", "the demo on plain asyncio", ["make", "demo"], variables={"GROUPMOCK_LOOP": "asyncio"}),
        _demo_under("3.12"),
        _demo_under("3.13"),
        _demo_under("3.14"),
        ShellCommand("interop", "groups in three other languages", [python, "tests/interop/run"], without_languages, ALL),
        ShellCommand("matrix", "stock clients, as Kafka showed them", [python, "tests/interop/matrix", "--live"], without_languages, ALL),
        ShellCommand("audit-table", "the conduct of stock clients", [python, "tests/interop/audit"], without_languages, limit_s=2 * 3600),
        ShellCommand("secured-clients", "clients with TLS and SASL", [python, "tests/interop/secured", "--dry"], without_languages, ALL),
        ShellCommand(
            "suites",
            "tests of clients' own suites: transactions and groups",
            [python, "tests/interop/transact", "--dry"],
            without_languages,
            limit_s=2 * 3600,
        ),
        ShellCommand("stories", "is every line of a story true?", [python, "tests/interop/stories"], without_languages, limit_s=2 * 3600),
        ShellCommand("administrators", "tools of administrators, call by call", [python, "tests/interop/administer"], without_languages),
        ShellCommand("containers-up", "the compose file in an engine", ["bash", "docker/try"], without_docker),
    ]
