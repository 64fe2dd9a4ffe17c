"""Write docs/kafka/releases.md: a hand-written page with a table of what each release brought, which `python -m tools.releases.history`
measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from groupmock.config import profiles
from tools.releases.history import ReleaseRow, load
from tools.releases.proposal import short

from .all_pages import path
from .markdown import table
from .marked_tables import with_table

SHOWN: Final = 6
"""The greatest number of names in a cell; tools/records/releases.json has all of them."""


def text() -> str:
    return with_table(path("releases").read_text(encoding="utf-8"), "\n".join(releases(load())), "releases")


def releases(rows: Sequence[ReleaseRow]) -> list[str]:
    """Return the table of releases, the newest release first. The oldest one is what the next is compared with."""
    head = ["Kafka", "jars of", "new APIs", "newer versions", "new errors", "broker configs", "profile"]
    return table(head, ([*_cells(row, oldest=row is rows[0])] for row in reversed(rows)))


def _cells(row: ReleaseRow, oldest: bool) -> Iterator[str]:
    yield row.version
    yield row.dated
    if oldest:
        yield from ("the first that was measured", "", "", "")
    else:
        yield _some(row.apis, f"gone: {_some(row.gone)}" if row.gone else "")
        yield _some(row.raised, f"oldest versions of {row.lowest_raised} APIs gone" if row.lowest_raised else "")
        yield _some(row.errors)
        yield f"{row.configs} new, {row.configs_gone} gone"
    yield _served(row)


def _some(names: Sequence[str], also: str = "") -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return "; ".join(filter(None, (", ".join(names[:SHOWN]) + more, also))) or "-"


def _served(row: ReleaseRow) -> str:
    name = f"kafka-{short(row.version)}"
    if name in profiles.names():
        return f"`{name}` since {row.served}" if row.served else f"`{name}`"
    return f"from {row.served} to {row.until}" if row.until else "-"
