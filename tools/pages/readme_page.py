"""Writes the tables that README takes from the program and from what was measured, between its markers. Tests compare them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from groupmock.cli.apis import coverage, markdown
from groupmock_clients.probe.report.json import from_json
from tools.pages import scenarios_page
from tools.records import RECORDS

TREE = Path(__file__).resolve().parents[2]
README = TREE / "README.md"
PEERS = {
    "apache-kafka-4.3.0": "Apache Kafka 4.3.0",
    "groupmock": "groupmock, `--profile kafka-4.3`",
    "kfake": "kfake",
    "librdkafka": "librdkafka's mock",
}
"""Report in tools/records/peers -> its line."""


def with_table(text: str, table: str, name: str) -> str:
    """The document with this table between the markers of that name. ValueError when they are not there, in this order, once each."""
    begin_mark, end_mark = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
    before, begin, rest = text.partition(begin_mark)
    _old, end, after = rest.partition(end_mark)
    if not begin or not end or begin_mark in after or end_mark in after:
        raise ValueError(f"README must have {begin_mark.strip()} and {end_mark.strip()} once, in this order")
    return f"{before}{begin_mark}{table.strip()}\n{end_mark}{after}"


def peers() -> str:
    """How many rows about groups each server keeps and breaks, as the probe found."""

    def lines() -> Iterator[str]:
        yield "| judged as Kafka 4.3 by `groupmock probe` | rules kept | broken |"
        yield "|---|---|---|"
        for file, title in PEERS.items():
            rows = from_json((RECORDS / "peers" / f"{file}.json").read_bytes()).counts["rows"]
            yield f"| {title} | {rows['kept']} | {rows['broken']} |"

    return "\n".join(lines())


def scenarios() -> str:
    """The Characteristics of "Incremental Cooperative Rebalancing" with figures."""
    return scenarios_page.readme(RECORDS)


TABLES: dict[str, Callable[[], str]] = {"apis": lambda: markdown(coverage()), "peers": peers, "scenarios": scenarios}


def current(text: str) -> str:
    """README with every table as it is now."""
    for name, make in TABLES.items():
        text = with_table(text, make(), name)
    return text


def main() -> int:
    """Rewrite README; says whether anything changed."""
    old = README.read_text()
    new = current(old)
    README.write_text(new)
    print("README's tables: " + ("unchanged" if new == old else "written"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
