"""Writes the table of `groupmock apis` between README's markers. A test compares, so that the table cannot be forgotten."""

from __future__ import annotations

import sys
from pathlib import Path

from groupmock.cli.apis import coverage, markdown

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- apis:begin -->\n", "<!-- apis:end -->\n"


def with_table(text: str, table: str) -> str:
    """The document with this table between the markers. ValueError when they are not there, in this order, once each."""
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise ValueError(f"README must have {BEGIN.strip()} and {END.strip()} once, in this order")
    return f"{before}{BEGIN}{table.strip()}\n{END}{after}"


def main() -> int:
    """Rewrite README; says whether anything changed."""
    old = README.read_text()
    new = with_table(old, markdown(coverage()))
    README.write_text(new)
    print("README's table of APIs: " + ("unchanged" if new == old else "written"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
