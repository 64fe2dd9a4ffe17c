"""Kafka's message classes, asked in batches: one Java process per batch reads all questions and writes all answers."""

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

RELEASES: Final = ("2.8.2", "3.9.1", "4.3.0")


class NoOracle(RuntimeError):
    """What is missing, in a sentence."""


@functools.cache
def classpath(release: str) -> str:
    """The jars of a release; NoOracle if java, the shared folder or the jars are not to be had."""
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
    """(classpath, what to start): compiled once per run, since many questions are asked; without a javac the source itself."""
    if shutil.which("javac") is None:
        return classpath(release), str(program)
    where = tempfile.mkdtemp(prefix="groupmock-judge-")
    atexit.register(shutil.rmtree, where, ignore_errors=True)
    subprocess.run(
        ["javac", "-proc:none", "-nowarn", "-cp", classpath(release), "-d", where, str(program)], check=True, capture_output=True
    )
    return f"{where}{os.pathsep}{classpath(release)}", program.stem


def run(release: str, program: Path, text: str = "") -> str:
    """What a Java program prints, with the release's classes around it."""
    path, start = compiled(release, program)
    command = ["java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path, start]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def ask(release: str, questions: list[dict[str, Any]], program: Path = SHARED / "oracle" / "KafkaCodec.java") -> list[dict[str, Any]]:
    """The answers to the questions (the head comment of the program tells their forms), in order."""
    text = "\n".join(json.dumps(question) for question in questions) + "\n"
    answers = [json.loads(line) for line in run(release, program, text).splitlines()]
    assert len(answers) == len(questions)
    return answers


@functools.cache
def offered(release: str) -> dict[str, Any]:
    """`types` -> [lowest, highest], `flexible`, `keys` of a release."""
    return ask(release, [{"list": True}])[0]
