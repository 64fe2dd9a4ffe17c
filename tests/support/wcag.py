"""Runs the accessibility checker axe on a page and returns the violated rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

WCAG: Final = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}


def violations(page: Page) -> list[str]:
    """Return one text per violated accessibility rule, with the elements."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=WCAG)
    return [f"{each['id']}: {[node['html'][:160] for node in each['nodes']][:3]}" for each in found.response["violations"]]
