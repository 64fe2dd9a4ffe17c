"""List the APIs that are served, with their versions under each profile.

The table that README shows is `groupmock apis`; --json gives the same as data.
"""

from __future__ import annotations

import argparse
import json

from groupmock_codec import APIS

from ..config import profiles
from ..config.advertise import advertised
from . import OK


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of a Markdown table")


def run(arguments: argparse.Namespace) -> int:
    rows = coverage()
    print(json.dumps(rows, indent=1) if arguments.json else markdown(rows))
    return OK


def coverage() -> list[dict[str, object]]:
    """Return a row for each API that some profile advertises: key, name, first flexible version, and its range in each profile."""
    ranges = {name: {row.key: f"{row.lowest}-{row.highest}" for row in advertised(profiles.load(name))} for name in profiles.names()}
    keys = sorted({key for rows in ranges.values() for key in rows})
    return [
        {
            "key": key,
            "name": APIS[key].name,
            "flexible_from": APIS[key].flexible_from,
            "versions": {name: ranges[name].get(key) for name in ranges},
        }
        for key in keys
    ]


def markdown(rows: list[dict[str, object]]) -> str:
    """Format the table of APIs as Markdown."""
    names = profiles.names()
    lines = [f"| key | API | {' | '.join(names)} | flexible from |", "|---" * (len(names) + 3) + "|"]
    for row in rows:
        versions = row["versions"]
        assert isinstance(versions, dict)
        cells = [str(row["key"]), str(row["name"]), *(versions[name] or "" for name in names)]
        flexible = row["flexible_from"]
        lines.append(f"| {' | '.join(cells)} | {'never' if flexible is None else flexible} |")
    return "\n".join(lines)
