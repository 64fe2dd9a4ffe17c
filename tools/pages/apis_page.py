"""docs/reference/apis.md: written by hand, with the table of APIs and versions that the program has."""

from __future__ import annotations

from groupmock.cli.apis import coverage, markdown

from .all_pages import path
from .marked_tables import with_table


def text() -> str:
    """The page with its table as it should be."""
    return with_table(path("apis").read_text(encoding="utf-8"), markdown(coverage()), "apis")
