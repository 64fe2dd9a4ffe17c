"""Writes docs/clients.md, the client matrix, from tools/records/clients.json, which tests/interop/matrix made. A test compares them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.records import RECORDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTICE = "<!-- written by tools/pages/clients_page.py (`make matrix`) from tools/records/clients.json: do not edit -->"
CHECKS = {
    "joins": "one member gets everything, a second one half of it; DescribeGroups says Stable, the assignor, two members",
    "consumes": "each of 60 records comes once, to the member that holds its partition",
    "commits": "after both committed, the group's offsets are the log ends",
    "back": "Connect: a worker killed and back within `scheduled.rebalance.max.delay.ms` has its tasks again, and no other task moved",
    "crash": "SIGKILL of a member: the survivor has everything once the session expired, in a new generation, and reads on from the"
    " commits; Connect: a worker that stays away loses its tasks to the others, after the delay and not before",
    "resumes": "all leave, records come, a new member reads exactly those",
    "static": "SIGKILL of a static member and a new one with its `group.instance.id`: the same partitions, the same generation, the"
    " other member sees nothing",
}
SIGNS = {True: "ok", False: "**RED**", None: "–"}


def page(data: dict[str, Any]) -> str:
    """The whole page. `data`: {"brokers": {id: title}, "judges": {name: {"note", "brokers": {id: {"client", "checks"}}}}}."""
    lines = [NOTICE, "# Clients as judges", "", *_introduction(data), ""]
    brokers = data["brokers"]
    asked = ", then ".join(brokers.values())
    lines += ["## The matrix", "", f"Each cell: {asked}, where that was judged; `–`: the client has no such thing.", ""]
    lines += _table(["client", *CHECKS, "seconds"], (_row(name, entry, list(brokers)) for name, entry in data["judges"].items()))
    lines += ["", "## The checks", "", *_table(["check", "what must be seen"], ([f"`{name}`", about] for name, about in CHECKS.items()))]
    lines += ["", "## What each said of itself", "", *_table(["row", "library", "remark"], _libraries(data)), ""]
    red = list(_red(data))
    lines += ["## What is red", "", *(red or ["Nothing, on any broker."])]
    return "\n".join(lines) + "\n"


def _introduction(data: dict[str, Any]) -> Iterator[str]:
    rows = sum(len(entry["brokers"]) for entry in data["judges"].values())
    checks = sum(verdict["ok"] is not None for _, _, _, verdict in _verdicts(data))
    yield "Stock clients, in processes of their own, do the same things to Apache Kafka and to groupmock, and the same must be seen. The"
    yield "members print what happens to them and take orders; the harness kills, restarts, produces, asks the broker itself, and compares"
    yield "what was seen on both: states, assignors, who held what, which records came how often, offsets, generations."
    yield f"`make matrix` makes this page again; this one tells of {rows} runs with {checks} checks."


def _verdicts(data: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for name, entry in data["judges"].items():
        for broker, row in entry["brokers"].items():
            for check, verdict in row["checks"].items():
                yield name, broker, check, verdict


def _row(name: str, entry: dict[str, Any], brokers: list[str]) -> list[str]:
    rows = [entry["brokers"][broker] for broker in brokers if broker in entry["brokers"]]
    cells = [
        " · ".join(dict.fromkeys(signs) if set(signs) == {"–"} else signs)
        for check in CHECKS
        if (signs := [SIGNS[row["checks"].get(check, {"ok": None})["ok"]] for row in rows])
    ]
    seconds = " · ".join(f"{sum(verdict['seconds'] for verdict in row['checks'].values()):.0f}" for row in rows)
    return [name, *cells, seconds]


def _libraries(data: dict[str, Any]) -> Iterator[list[str]]:
    for name, entry in data["judges"].items():
        yield [name, ", ".join(dict.fromkeys(row["client"] for row in entry["brokers"].values())), entry["note"]]


def _red(data: dict[str, Any]) -> Iterator[str]:
    for name, broker, check, verdict in _verdicts(data):
        if verdict["ok"] is False:
            yield f"- {name}, `{check}`, {data['brokers'][broker]}: {verdict['why']}"


def _table(head: list[str], rows: Iterator[list[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


def main() -> int:
    """Write the page; says whether it changed."""
    made, file = page(json.loads((RECORDS / "clients.json").read_text())), DOCS / "clients.md"
    old = file.read_text() if file.exists() else ""
    file.write_text(made)
    print(f"docs/clients.md: {'unchanged' if old == made else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
