"""The journal: its header and every kind of row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_type_hints

from groupmock.journal.rows import KINDS, ROWS, Header, documentation

from .markdown import cell, notice, table


def text() -> str:
    """The header and every kind of row."""
    lines = [notice("journal"), "# The journal, version 1", ""]
    lines += ["JSON Lines: a header, then rows. Fields at their default are left out; bytes are base64; unknown kinds are to be kept.", ""]
    lines += ["## Header", "", *table(["field", "meaning"], _fields(Header))]
    for kind in KINDS:
        about = (ROWS[kind].__doc__ or "").strip()
        lines += [
            "",
            f"## `{kind}`",
            "",
            about,
            "",
            *table(["field", "meaning"], ([f"`{n}`", cell(t)] for n, t in documentation(kind).items())),
        ]
    return "\n".join(lines) + "\n"


def _fields(declared: type) -> Iterator[list[str]]:
    hints = get_type_hints(declared, include_extras=True)
    for name in declared.__struct_fields__:  # type: ignore[attr-defined]  # a msgspec.Struct
        yield [f"`{name}`", cell(hints[name].__metadata__[0].description)]
