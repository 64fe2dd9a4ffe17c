"""What pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def notice(name: str, records: str = "") -> str:
    """The first line of a page: who writes it, and from which file of tools/records."""
    source = f" from tools/records/{records}" if records else ""
    return f"<!-- written by tools/pages/{name}_page.py{source} (`make docs`): do not edit -->"


def cell(text: str) -> str:
    """A text as a cell of a table."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; cells are as they are given."""
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
