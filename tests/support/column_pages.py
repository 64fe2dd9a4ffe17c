"""Compares the pages of docs/pipeline with the columns of the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "docs" / "reference" / "pipeline"


def documented(page: str, columns: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the columns that a page omits, and the names on it that are no columns. `low_*` stands for all columns with that prefix."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    table = text.partition("| column | meaning |")[2].partition("\n\n")[0]
    names = {name for line in table.splitlines() for name in re.findall(r"`([a-z_]+\*?)`", line.split("|")[1] if "|" in line else "")}
    known = set(columns)
    told = {column for name in names for column in known if column == name or (name.endswith("*") and column.startswith(name[:-1]))}
    return known - told, {name for name in names if not name.endswith("*")} - known
