"""Tables that a page written by hand takes from the program or from what was measured, between its markers."""

from __future__ import annotations


def with_table(text: str, table: str, name: str) -> str:
    """The page with this table between the markers of that name. ValueError when they are not there, in this order, once each."""
    begin_mark, end_mark = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
    before, begin, rest = text.partition(begin_mark)
    _old, end, after = rest.partition(end_mark)
    if not begin or not end or begin_mark in after or end_mark in after:
        raise ValueError(f"the page must have {begin_mark.strip()} and {end_mark.strip()} once, in this order")
    return f"{before}{begin_mark}{table.strip()}\n{end_mark}{after}"
