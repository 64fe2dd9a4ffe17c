"""The examples in other languages pass against groupmock in less than ten seconds after their installation.

The installation is not timed, because a package manager's download and the first build of a client library happen once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[3]
INSTALL_S = 600
PROMISED_S = 10.0


@dataclass(frozen=True)
class Example:
    """An example's folder with the tools that it needs, its install and test commands, and the expected output of its test runner."""

    language: str
    tools: Sequence[str]
    install: Sequence[Sequence[str]]
    test: Sequence[str]
    passed: str
    tests: int = 4
    promised_s: float = PROMISED_S
    beside: Sequence[str] = ()
    """Files of other examples that the README tells users to copy."""


MAVEN_INSTALL = [["mvn", "-B", "-q", "test"]]
"""The first run fetches everything, also what Surefire looks for only once it has found a test."""
SUREFIRE = r"Tests run: (\d+), Failures: 0, Errors: 0, Skipped: 0\n"
EXAMPLES = [
    # The tests run Maven offline, because MAVEN_INSTALL has fetched everything.
    Example("java", ["java", "mvn"], MAVEN_INSTALL, ["mvn", "-B", "-o", "test"], SUREFIRE, tests=8, promised_s=2 * PROMISED_S),
    Example(
        "spring", ["java", "mvn"], MAVEN_INSTALL, ["mvn", "-B", "-o", "test"], SUREFIRE, tests=1, promised_s=30.0,
        beside=["java/src/test/java/example/Groupmock.java"],
    ),
    Example(
        "streams", ["java", "mvn"], MAVEN_INSTALL, ["mvn", "-B", "-o", "test"], SUREFIRE, tests=3, promised_s=30.0,
        beside=["java/src/test/java/example/Groupmock.java"],
    ),
    Example("node", ["node", "npm"], [["npm", "install", "--no-audit", "--no-fund"]], ["npm", "test"], r"Tests +(\d+) passed \(\d+\)"),
    Example(
        "go", ["go"], [["go", "mod", "download"], ["go", "test", "-run", "^$", "./..."]],
        ["go", "test", "-count=1", "-v", "./..."], r"^--- PASS",
    ),
]  # fmt: skip


SWAPPED = {
    "java": ("src/main/java/example/Cook.java", r"( +recipe\.accept\(.*?;\n)", r"( +commit\(new .*?;\n)"),
    "node": ("src/cook.js", r"( +await recipe\(.*?\n)", r"( +await consumer\.commitOffsets.*?\n)"),
    "go": ("cook.go", r"(\t+recipe\(.*?\n)", r"(\t+if err := client\.CommitRecords.*?\n.*?\n\t+\}\n)"),
}
"""The file and the lines to swap in each language, so that the consumer commits before it cooks. A Spring listener commits after the
call, so it has nothing to swap."""


@pytest.fixture(params=EXAMPLES, ids=lambda each: each.language)
def example(request: pytest.FixtureRequest) -> Example:
    chosen: Example = request.param
    if gone := [tool for tool in chosen.tools if shutil.which(tool) is None]:
        pytest.skip(f"not on the PATH: {', '.join(gone)}")
    return chosen


@pytest.fixture
def folder(example: Example, tmp_path: Path) -> Path:
    """Return a copy of the example in which it is installed, so that the source tree stays clean."""
    copy = tmp_path / example.language
    shutil.copytree(TREE / "examples" / example.language, copy, ignore=shutil.ignore_patterns("node_modules", "target"))
    for name in example.beside:
        shutil.copy(TREE / "examples" / name, copy / Path(name).relative_to(Path(name).parts[0]))
    for words in example.install:
        told(words, copy, INSTALL_S)
    return copy


def told(words: Sequence[str], folder: Path, limit_s: float) -> str:
    """Run a command that must succeed and return its output without colours. It starts the groupmock under test."""
    roots = os.pathsep.join(str(TREE / root) for root in ("codec", "broker", "clients", "pipeline"))
    variables = os.environ | {"GROUPMOCK": f"{sys.executable} -m groupmock", "PYTHONPATH": roots, "NO_COLOR": "1", "FORCE_COLOR": "0"}
    done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, timeout=limit_s, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return re.sub(r"\x1b\[[\d;]*m", "", done.stdout)


def test_an_example_passes_in_under_ten_seconds_after_its_install(example: Example, folder: Path) -> None:
    began = time.monotonic()
    said = told(example.test, folder, INSTALL_S)
    took = time.monotonic() - began
    found = re.findall(example.passed, said, re.MULTILINE)
    assert (len(found) if found and not found[-1].isdigit() else int(found[-1])) == example.tests, said
    print(f"{example.language}: {example.tests} tests in {took:.1f} s")
    assert took < example.promised_s, said


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.language in SWAPPED], ids=lambda each: each.language, indirect=True)
def test_an_example_finds_the_cook_that_commits_before_it_cooks(example: Example, folder: Path) -> None:
    """A record that is committed before it is processed is lost if the process crashes. If the tests of the example missed that, they
    would prove little."""
    file, cooks, commits = SWAPPED[example.language]
    swapped, count = re.subn(cooks + commits, r"\2\1", (folder / file).read_text())
    assert count == 1
    (folder / file).write_text(swapped)
    with pytest.raises(AssertionError, match=r"(?i)crash") as failed:
        told(example.test, folder, INSTALL_S)
    assert "coffee" in str(failed.value)
