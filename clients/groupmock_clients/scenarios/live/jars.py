"""Fetch the jars of Kafka Connect and Kafka Streams by Maven once, and keep them in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..play import Unsupported

HERE: Final = Path(__file__).parent
CACHE: Final = "GROUPMOCK_INTEROP_CACHE"
PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
NOT_OURS: Final = "slf4j-reload4j,slf4j-log4j12,logback-classic,log4j-slf4j-impl"
PATIENCE_S: Final = 300.0
_fetching: Final = threading.Lock()


def connect_libraries() -> Path:
    """Return the folder with the jars of Kafka Connect. Raises Unsupported without Java and Maven, or if Maven cannot get them."""
    return _folder("connect", "Kafka Connect", ("java", "mvn"))


def streams_classes() -> Path:
    """Return the folder with the jars of Kafka Streams and the compiled CountingInstance. Raises Unsupported as `connect_libraries`."""
    return _folder("streams", "Kafka Streams", ("java", "javac", "mvn"), HERE / "CountingInstance.java")


def _folder(name: str, title: str, tools: Sequence[str], program: Path | None = None) -> Path:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise Unsupported(f"{title} needs {' and '.join(missing)} on the PATH")
    root = Path(os.environ.get(CACHE, "~/.cache/groupmock-interop")).expanduser()
    pom = HERE / f"{name}.pom.xml"
    sources = pom.read_bytes() + (program.read_bytes() if program is not None else b"")
    home = root / f"scenario-{name}-{hashlib.sha256(sources).hexdigest()[:16]}"
    with _fetching:
        if not home.exists():
            _fetch(title, root, home, pom, program)
    return home


def _fetch(title: str, root: Path, home: Path, pom: Path, program: Path | None) -> None:
    """Download and compile in a temporary folder first, so that an incomplete set is never used."""
    draft = root / f"{home.name}.draft-{os.getpid()}"
    draft.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy(pom, draft / "pom.xml")
        maven = ["mvn", "-q", "-B", PLUGIN, f"-DoutputDirectory={draft}", f"-DexcludeArtifactIds={NOT_OURS}"]
        _done(f"Maven could not get {title}'s jars", maven, draft)
        if program is not None:
            _done(f"javac could not compile {program.name}", ["javac", "-cp", f"{draft}/*", "-d", str(draft), str(program)], draft)
        if not home.exists():  # Another process may have fetched the jars meanwhile.
            draft.rename(home)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _done(failure: str, command: list[str], folder: Path) -> None:
    """Run a command in a folder until it ends. Raises Unsupported with what it printed if it fails, or does not end in time."""
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unsupported(f"{failure} within {PATIENCE_S:g} s") from None
    if done.returncode:
        raise Unsupported(f"{failure}: {(done.stdout + done.stderr)[-1000:]}")
