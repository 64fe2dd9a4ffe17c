"""Format the state of a cluster as plain text, for `--once`, for pipes, and for a terminal without textual."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import combining, east_asian_width

from ...story.words import text
from ..log_lines import LogLine
from .poll import Group, Snapshot
from .shown_tables import Table, faults_table, findings_table, groups_table, headline, line_text, members_table, transactions_table


def told(snapshot: Snapshot, lines: Sequence[LogLine], group: str | None = None) -> Iterator[str]:
    """Yield the text of a snapshot line by line. `lines` is the end of the tail; `group` restricts the output to one group."""
    shown = [group_shown for group_shown in snapshot.groups if group in (None, group_shown.row["group_id"])]
    yield headline(snapshot)
    yield ""
    yield from aligned(groups_table(Snapshot(snapshot.health, shown))) if shown else ["no groups"]
    for group_shown in shown:
        yield from _members(group_shown)
    if snapshot.transactions:
        yield ""
        yield from aligned(transactions_table(snapshot))
    yield ""
    yield from aligned(faults_table(snapshot)) if snapshot.faults else ["no fault rules"]
    yield ""
    if snapshot.findings is None:
        yield "clients are not audited (serve --audit)"
    else:
        yield from aligned(findings_table(snapshot)) if snapshot.findings else ["no findings"]
    yield ""
    yield from (line_text(line) for line in lines)


def _members(group: Group) -> Iterator[str]:
    if group.under_way:
        yield f"group {text(group.row['group_id'])}: {group.under_way}"
    if group.details is not None and group.details["group"]["members"]:
        yield ""
        yield f"members of {text(group.row['group_id'])} (* leads):"
        yield from aligned(members_table(group))


def aligned(table: Table) -> list[str]:
    """Yield a table as lines of text with aligned columns. The width is that in a terminal."""
    rows = [table.columns, *table.rows]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows]


def width(shown: str) -> int:
    """Return the width of a text in terminal cells: East Asian letters take two, combining accents none."""
    return len(shown) if shown.isascii() else sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in shown)
