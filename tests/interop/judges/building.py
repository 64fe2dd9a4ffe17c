"""Programs in other languages, built once per content of their folder.

They lie under GROUPMOCK_INTEROP_CACHE (default ~/.cache/groupmock-interop).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("GROUPMOCK_INTEROP_CACHE", "~/.cache/groupmock-interop")).expanduser()
BUILD_SECONDS = 900.0
NOT_SOURCES = ("node_modules", "target", "__pycache__")


class BuildFailed(Exception):
    """The tool is there but could not build the program; the text ends with what it printed."""


def tool(where: Path, *command: str) -> None:
    """Run a build tool in `where`; once more when it fails, since most failures are downloads. Raises BuildFailed."""
    said = ""
    for _ in range(2):
        try:
            done = subprocess.run(command, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            said = f"not done after {BUILD_SECONDS:.0f} s"
            continue
        if done.returncode == 0:
            return
        said = (done.stdout + done.stderr)[-1500:]
    raise BuildFailed(f"{' '.join(command)}: tried twice: {said}")


@dataclass(frozen=True)
class Program:
    """A folder of sources (None: nothing but libraries) and how it becomes something that runs. `flavour`: what else the build depends on,
    e.g. a library's version. `tools`: what must be on PATH; `python3.10|python3.11` is either, also of pyenv. `shared`: a folder of
    sources that programs of one language have in common; they are laid beside the others."""

    name: str
    folder: str | None
    tools: tuple[str, ...]
    build: Callable[[Path], None]
    flavour: str = ""
    shared: str | None = None

    def missing(self) -> list[str]:
        """Tools that this machine does not have."""
        return [each for each in self.tools if (first_python(each) if each.startswith("python") else shutil.which(each)) is None]


def built(program: Program) -> Path:
    """The folder of the built program; made under another name first, so that a broken build is never taken for one."""
    sources = [HERE / folder for folder in (program.folder, program.shared) if folder]
    digest = hashlib.sha256(program.flavour.encode())
    for file in (file for source in sources for file in sorted(source.rglob("*"))):
        if file.is_file() and not set(NOT_SOURCES) & set(file.relative_to(HERE).parts):
            digest.update(f"{file.relative_to(HERE)}\0".encode() + file.read_bytes())
    home = CACHE / f"{program.name}-{digest.hexdigest()[:16]}"
    if not home.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f"{home.name}.draft-", dir=CACHE))  # Two threads may build the same program.
        try:
            for source in sources:
                shutil.copytree(source, draft, ignore=shutil.ignore_patterns(*NOT_SOURCES), dirs_exist_ok=True)
            program.build(draft)
            if not home.exists():  # another run may have been faster
                draft.rename(home)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return home


def npm(where: Path) -> None:
    """The packages of package-lock.json, nothing else."""
    tool(where, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")


def npm_with_binding(where: Path) -> None:
    """The same, and the package's C++ part built from its sources: what it would download instead comes from no registry."""
    npm(where)
    tool(where, "npm", "run", "binding")


def node(where: Path, script: str) -> list[str]:
    """Command line of a program for Node.js: its own release of it, where the package names one, else the one on PATH."""
    own = sorted(where.glob("node_modules/node-linux-*/bin/node"))
    return [str(own[0]) if own else "node", str(where / script)]


def go(where: Path) -> None:
    """Build a Go program, which gives one binary called `driver`."""
    tool(where, "go", "build", "-buildvcs=false", "-o", "driver", ".")


def maven(version: str, *goals: str) -> Callable[[Path], None]:
    """Classes in target/classes, the libraries in target/libs; `version` of Apache Kafka's jars."""
    def build(where: Path) -> None:
        tool(where, "mvn", "-q", "-B", f"-Dkafka.version={version}", *(goals or ("compile",)), "dependency:copy-dependencies",
             "-DoutputDirectory=target/libs", "-DexcludeArtifactIds=slf4j-reload4j,slf4j-log4j12,logback-classic,log4j-slf4j-impl")
    return build


def java(where: Path, *arguments: str, level: str = "error") -> list[str]:
    """Command line of a Java program with a small heap and quick start."""
    return ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dorg.slf4j.simpleLogger.defaultLogLevel={level}",
            "-cp", f"{where}/target/classes:{where}/target/libs/*", *arguments]


def first_python(names: str) -> str | None:
    """The first interpreter of `python3.11|python3.12` that this machine has: on PATH, or pyenv's; it must start (a pyenv shim may not)."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for name in names.split("|"):
        for each in (shutil.which(name), *map(str, sorted(pyenv.glob(f"{name.removeprefix('python')}.*/bin/python")))):
            if each and subprocess.run([each, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0:
                return each
    return None


def virtual_environment(interpreters: str, requirement: str) -> Callable[[Path], None]:
    """A virtual environment `venv` with the requirement in it; it stays usable when its folder is renamed. No compilers: wheels only,
    and what is pure Python."""
    def build(where: Path) -> None:
        interpreter = first_python(interpreters)
        if interpreter is None:
            raise BuildFailed(f"none of {interpreters}")
        tool(where, interpreter, "-m", "venv", "--without-pip", "venv")  # our own pip does it: making another takes longer than the rest
        tool(where, sys.executable, "-m", "pip", "--python", "venv/bin/python", "install", "--quiet", "--disable-pip-version-check",
             "--prefer-binary", requirement)
    return build
