"""Start Apache Kafka on loopback, and run programs with its classes, by the script in the developers' shared folder. Needs java and mvn."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tools.runs import ROOT

SHARED: Final = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared")
ORACLE: Final = SHARED / "oracle" / "kafka.py"


@contextmanager
def kafka(
    version: str = "4.3.0", settings: Mapping[str, Any] | None = None, nodes: int = 1, script: Sequence[str] = (str(ORACLE),)
) -> Iterator[str]:
    """Start a cluster of that version and yield its bootstrap address. Raises AssertionError with the script's output if it does not
    start. `script` is a Python script that is run instead of the oracle and calls it."""
    with kafka_with_listeners(version, settings, {}, nodes, script) as addresses:
        yield addresses["PLAINTEXT"]


@contextmanager
def kafka_with_listeners(
    version: str,
    settings: Mapping[str, Any] | None,
    listeners: Mapping[str, str],
    nodes: int = 1,
    script: Sequence[str] = (str(ORACLE),),
) -> Iterator[dict[str, str]]:
    """Start a cluster with further listeners, names with their security protocols, and yield the address of each listener of the first
    node, and of PLAINTEXT the bootstrap address. Raises AssertionError as `kafka`."""
    flags = [word for name, value in (settings or {}).items() for word in ("--set", f"{name}={value}")]
    flags += [word for name, protocol in listeners.items() for word in ("--listener", f"{name}:{protocol}")]
    with tempfile.TemporaryDirectory(prefix="groupmock-kafka-") as folder:
        start = [sys.executable, *script, "start", "--version", version, "--nodes", str(nodes), *flags, "--dir", folder]
        started = subprocess.run(start, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        assert started.returncode == 0, f"Apache Kafka {version} does not start: {started.stderr[-2000:]}"
        try:
            state = json.loads(started.stdout.splitlines()[-1])
            yield {"PLAINTEXT": str(state["bootstrap"]), **state["listeners"].get("1", {})}
        finally:
            subprocess.run([sys.executable, str(ORACLE), "stop", folder], stdin=subprocess.DEVNULL, capture_output=True, check=True)


class NoOracle(RuntimeError):
    """Kafka's programs cannot be run here, because of what the text names."""


@functools.cache
def classpath(version: str) -> str:
    """Return the jars of a version of Kafka, which are fetched if they are missing. Raises NoOracle if Java, the shared folder or the
    jars are missing."""
    if shutil.which("java") is None:
        raise NoOracle("MISSING: java, which runs Kafka's own classes")
    if not ORACLE.exists():
        raise NoOracle(f"MISSING: {SHARED}, the developers' shared folder (GROUPMOCK_SHARED)")
    done = subprocess.run([sys.executable, str(ORACLE), "fetch", "--version", version], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoOracle(f"MISSING: the jars of Kafka {version}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


@functools.cache
def compiled(version: str, program: Path) -> tuple[str, str]:
    """Return the class path and the command that starts a Java program. The program is compiled once per run; without a javac its source
    is started."""
    if shutil.which("javac") is None:
        return classpath(version), str(program)
    where = tempfile.mkdtemp(prefix="groupmock-judge-")
    atexit.register(shutil.rmtree, where, ignore_errors=True)
    subprocess.run(
        ["javac", "-proc:none", "-nowarn", "-cp", classpath(version), "-d", where, str(program)], check=True, capture_output=True
    )
    return f"{where}{os.pathsep}{classpath(version)}", program.stem


def run(version: str, program: Path, text: str = "", words: Sequence[str] = ()) -> str:
    """Run a Java program with the classes of a version of Kafka and return its output. `text` is its input, `words` are its arguments."""
    path, start = compiled(version, program)
    command = ["java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, start, *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
