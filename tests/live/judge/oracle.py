"""Calls Kafka's message classes in batches: one Java process per batch reads all questions and writes all answers."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tools.oracle import ORACLE, SHARED

RELEASES: Final = ("2.8.2", "3.9.1", "4.3.0", "4.4.0")


class NoOracle(RuntimeError):
    """The oracle lacks something, which the text names."""


@functools.cache
def classpath(release: str) -> str:
    """Return the jars of a release. Raises NoOracle if Java, the shared folder or the jars are missing."""
    if shutil.which("java") is None:
        raise NoOracle("MISSING: java, so Kafka's own classes did not judge the codec")
    if not ORACLE.exists():
        raise NoOracle(f"MISSING: {SHARED}, so Kafka's own classes did not judge the codec")
    done = subprocess.run([sys.executable, str(ORACLE), "fetch", "--version", release], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoOracle(f"MISSING: the jars of Kafka {release}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


@functools.cache
def compiled(release: str, program: Path) -> tuple[str, str]:
    """Return the pair (classpath, start command). The program is compiled once per run; without a javac its source is started."""
    if shutil.which("javac") is None:
        return classpath(release), str(program)
    where = tempfile.mkdtemp(prefix="groupmock-judge-")
    atexit.register(shutil.rmtree, where, ignore_errors=True)
    subprocess.run(
        ["javac", "-proc:none", "-nowarn", "-cp", classpath(release), "-d", where, str(program)], check=True, capture_output=True
    )
    return f"{where}{os.pathsep}{classpath(release)}", program.stem


def run(release: str, program: Path, text: str = "") -> str:
    """Run a Java program with the release's classes and return its output."""
    path, start = compiled(release, program)
    command = ["java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, start]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def ask(release: str, questions: list[dict[str, Any]], program: Path = SHARED / "oracle" / "KafkaCodec.java") -> list[dict[str, Any]]:
    """Return the answers to the questions in order. The head comment of the program describes their forms."""
    text = "\n".join(json.dumps(question) for question in questions) + "\n"
    answers = [json.loads(line) for line in run(release, program, text).splitlines()]
    assert len(answers) == len(questions)
    return answers


@functools.cache
def offered(release: str) -> dict[str, Any]:
    """Return `types` -> [lowest, highest], `flexible` and `keys` of a release."""
    return ask(release, [{"list": True}])[0]
