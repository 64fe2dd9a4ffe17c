"""Fetch Kafka Connect's jars by Maven once and keep them in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Final

from ..play import Unsupported

POM: Final = Path(__file__).with_name("connect.pom.xml")
CACHE: Final = "GROUPMOCK_INTEROP_CACHE"
PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
NOT_OURS: Final = "slf4j-reload4j,slf4j-log4j12,logback-classic,log4j-slf4j-impl"
PATIENCE_S: Final = 300.0
_fetching: Final = threading.Lock()


def connect_libraries() -> Path:
    """Return the folder with the jars of Kafka Connect. Raises Unsupported without Java and Maven, or if Maven cannot get them."""
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        raise Unsupported(f"Kafka Connect needs {' and '.join(missing)} on the PATH")
    root = Path(os.environ.get(CACHE, "~/.cache/groupmock-interop")).expanduser()
    home = root / f"scenario-connect-{hashlib.sha256(POM.read_bytes()).hexdigest()[:16]}"
    with _fetching:
        if not home.exists():
            _fetch(root, home)
    return home


def _fetch(root: Path, home: Path) -> None:
    """Download into a temporary folder first, so that an incomplete set is never used."""
    draft = root / f"{home.name}.draft-{os.getpid()}"
    draft.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy(POM, draft / "pom.xml")
        command = ["mvn", "-q", "-B", PLUGIN, f"-DoutputDirectory={draft}", f"-DexcludeArtifactIds={NOT_OURS}"]
        done = subprocess.run(command, cwd=draft, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if done.returncode:
            raise Unsupported(f"Maven could not get Kafka Connect's jars: {(done.stdout + done.stderr)[-1000:]}")
        if not home.exists():  # Another process may have fetched the jars meanwhile.
            draft.rename(home)
    except subprocess.TimeoutExpired:
        raise Unsupported(f"Maven did not get Kafka Connect's jars within {PATIENCE_S:g} s") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
