"""Kafka's message classes, asked in batches: one Java process per batch reads all questions and writes all answers."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

RELEASES: Final = ("2.8.2", "3.9.1", "4.3.0")
ROOT: Final = Path(__file__).resolve().parents[2]
SHARED: Final = Path(os.environ.get("GROUPMOCK_SHARED") or ROOT.parent / "shared")


class NoOracle(RuntimeError):
    """What is missing, in a sentence."""


@functools.cache
def classpath(release: str) -> str:
    """The jars of a release; NoOracle if java, the shared folder or the jars are not to be had."""
    if shutil.which("java") is None:
        raise NoOracle("MISSING: java, so Kafka's own classes did not judge the codec")
    fetch = SHARED / "oracle" / "kafka.py"
    if not fetch.exists():
        raise NoOracle(f"MISSING: {fetch.parent}, so Kafka's own classes did not judge the codec")
    done = subprocess.run([sys.executable, str(fetch), "fetch", "--version", release], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoOracle(f"MISSING: the jars of Kafka {release}: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()


def run(release: str, program: Path, text: str = "") -> str:
    """What a Java source file prints, with the release's classes around it."""
    command = ["java", "-Xmx768m", "-XX:+UseSerialGC", "-cp", classpath(release), str(program)]
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
