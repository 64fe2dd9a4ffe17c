"""Check the Java clients of a release: whether our programs of tests/interop still compile against them, and whether they pass."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from tools.runs import ROOT, ended

INTEROP: Final = ROOT / "tests" / "interop"
SHARED: Final = INTEROP / "members" / "shared" / "java"
"""Java sources that all programs have in common. They are laid beside those of each."""
BUILD_S: Final = 600
RUN_S: Final = 600
_PROBLEM: Final = re.compile(r"(\S+\.java):\[(\d+),\d+\] (.+)")
_OUTCOME: Final = re.compile(r"(?:pass|FAIL) .*")


class CompileProblem(msgspec.Struct, frozen=True):
    """An error that the Java compiler reports. `file` is relative to tests/interop, `source` is the text of its line."""

    file: str
    line: int
    says: str
    source: str


class ClientFindings(msgspec.Struct, frozen=True):
    """The programs that were compiled, their problems, and the lines of the interop run if it was asked for."""

    programs: tuple[str, ...]
    problems: tuple[CompileProblem, ...]
    runs: tuple[str, ...]


def compiled(version: str) -> tuple[tuple[str, ...], tuple[CompileProblem, ...]]:
    """Compile every Java program of tests/interop against a version. Returns the programs, and the errors."""
    homes = [file.parent for file in sorted(INTEROP.rglob("pom.xml")) if (file.parent / "src").is_dir()]
    problems = [problem for home in homes for problem in _problems(home, version)]
    return tuple(str(home.relative_to(INTEROP)) for home in homes), tuple(problems)


def _problems(home: Path, version: str) -> Iterator[CompileProblem]:
    with tempfile.TemporaryDirectory(prefix="groupmock-releases-") as folder:
        for source in (SHARED, home):
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns("target"), dirs_exist_ok=True)
        done = ended(["mvn", "-q", "-B", f"-Dkafka.version={version}", "compile"], BUILD_S, Path(folder))
        found = dict.fromkeys(problems_in(done.output, folder, home))
        if done.code and not found:
            yield CompileProblem(str(home.relative_to(INTEROP) / "pom.xml"), 0, done.output.strip()[-400:], "")
        yield from found


def problems_in(output: str, folder: str, home: Path) -> Iterator[CompileProblem]:
    """Yield the errors in the compiler's output, with paths of our tree. Maven prints each error twice."""
    for path, line, says in _PROBLEM.findall(output):
        inside = Path(path.removeprefix("file:")).relative_to(folder)
        file = (home if (home / inside).is_file() else SHARED) / inside
        source = file.read_text(encoding="utf-8").splitlines()[int(line) - 1].strip()
        yield CompileProblem(str(file.relative_to(INTEROP)), int(line), says.strip(), source)


def interop(version: str, profile: str) -> tuple[str, ...]:
    """Let the Java consumer of that version judge a groupmock with that profile (tests/interop/run). Returns the lines of its verdicts."""
    command = [sys.executable, str(INTEROP / "run"), "--java", version, "--only", f"java-{version}", "--profile", profile]
    done = ended(command, RUN_S)
    return tuple(_OUTCOME.findall(done.output)) or (done.output.strip()[-400:],)
