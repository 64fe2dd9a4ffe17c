"""Write the page about tools of administrators: each call that `tests/interop/administer` recorded, on groupmock and on Apache Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from tools.records import RECORDS

from .markdown import cell, notice, table

NOTICE = notice("admin_tools", "admin-tools.json")
ORDER = ("kcat", "shell", "kafka-python", "sarama", "web")
Row = dict[str, Any]


def text() -> str:
    return page(json.loads((RECORDS / "admin-tools.json").read_text(encoding="utf-8")))


def page(data: dict[str, list[Row]]) -> str:
    """Return the text of the page. `data` maps an administrator to its calls in order."""
    rows = [row for name in ORDER for row in data.get(name, [])]
    works = sum(row["groupmock"] for row in rows)
    lines = [
        NOTICE,
        "# Tools of administrators",
        "",
        "kcat, Kafka's shell tools, the admin clients of kafka-python and sarama and a web UI (Kafka Viewer) were tried call by call",
        "against groupmock with the profile `kafka-4.3` and against Apache Kafka 4.3.0. A call works if the tool ends and prints as",
        "expected; the expectations are the same for groupmock and Kafka.",
        f"{works} of {len(rows)} calls work on groupmock. The calls that fail need an API that groupmock does not serve",
        "([APIs](../reference/apis.md)).",
        "",
        "```text",
        "tests/interop/administer                 # all of them; `make docs` then writes this page",
        "tests/interop/administer --only kcat",
        "```",
        "",
    ]
    for tool, calls in groupby(rows, key=lambda row: str(row["tool"])):
        lines += [f"## {tool}", "", *table(["call", "groupmock", "Kafka 4.3.0", "what it said"], _cells(calls)), ""]
    return "\n".join(lines)


def _cells(calls: Iterator[Row]) -> Iterator[list[str]]:
    for row in calls:
        yield [_code(row["call"]), _mark(row["groupmock"]), _mark(row["kafka"]), _code(row["said"])]


def _mark(works: bool | None) -> str:
    return "not tried" if works is None else "works" if works else "**does not**"


def _code(text: str) -> str:
    """Format a text as code, whatever is in it."""
    shown = cell(text.replace("`", "'").strip())
    return f"`{shown}`" if shown else ""
