"""Calls Kafka's message classes in batches: one Java process per batch reads all questions and writes all answers."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Final

from tools.oracle import SHARED, NoOracle, classpath, run

__all__ = ["RELEASES", "WITH_STREAMS_GROUPS", "NoOracle", "ask", "classpath", "offered", "run"]

RELEASES: Final = ("2.8.2", "3.9.1", "4.3.0", "4.4.0")
WITH_STREAMS_GROUPS: Final = RELEASES[2:]


def ask(release: str, questions: list[dict[str, Any]], program: Path = SHARED / "oracle" / "KafkaCodec.java") -> list[dict[str, Any]]:
    """Return the answers to the questions in order. The head comment of the program describes their forms."""
    text = "\n".join(json.dumps(question) for question in questions) + "\n"
    answers = [json.loads(line) for line in run(release, program, text).splitlines()]
    assert len(answers) == len(questions)
    return answers


@functools.cache
def offered(release: str) -> dict[str, Any]:
    """Return message types with [lowest, highest], the flexible versions and the API keys of a release.

    Without the share groups of 3.9: they were an early access, whose version 0 no other release reads (KIP-932)."""
    found = ask(release, [{"list": True}])[0]
    return found | {"types": {name: span for name, span in found["types"].items() if release != "3.9.1" or "Share" not in name}}
