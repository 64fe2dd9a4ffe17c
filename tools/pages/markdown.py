"""Helpers to build pages in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def notice(name: str, records: str = "") -> str:
    """Return the first line of a page: the program that writes it, and its file in tools/records."""
    source = f" from tools/records/{records}" if records else ""
    return f"<!-- written by tools/pages/{name}_page.py{source} (`make docs`): do not edit -->"


def cell(text: str) -> str:
    """Escape a text for a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown. The cells must already be escaped."""
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
