"""Tables that a hand-written page takes from the program or from measurements, between markers."""

from __future__ import annotations


def with_table(text: str, table: str, name: str) -> str:
    """Replace the table between the two markers that have the given name. Raises ValueError unless each marker occurs once, in this
    order."""
    begin_mark, end_mark = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
    before, begin, rest = text.partition(begin_mark)
    _old, end, after = rest.partition(end_mark)
    if not begin or not end or begin_mark in after or end_mark in after:
        raise ValueError(f"the page must have {begin_mark.strip()} and {end_mark.strip()} once, in this order")
    return f"{before}{begin_mark}{table.strip()}\n{end_mark}{after}"
