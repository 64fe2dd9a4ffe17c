"""Write the output of failed tests into the page that explains it: one block per mistake, between the page's markers."""

from __future__ import annotations

from tools.mistakes.scripts import MISTAKES, failed_text

from .all_pages import path
from .marked_tables import with_table


def text() -> str:
    """Return the page with the current output of every script."""
    page = path("read_the_story").read_text(encoding="utf-8")
    for name in MISTAKES:
        page = with_table(page, "\n".join(["```text", *failed_text(name), "```"]), name)
    return page
