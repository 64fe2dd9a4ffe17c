"""Write docs/reference/apis.md: a hand-written page with the program's table of APIs and versions."""

from __future__ import annotations

from groupmock.cli.apis import coverage, markdown

from .all_pages import path
from .marked_tables import with_table


def text() -> str:
    return with_table(path("apis").read_text(encoding="utf-8"), markdown(coverage()), "apis")
