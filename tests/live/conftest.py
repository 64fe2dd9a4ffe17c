"""Starts Chromium once per run for several folders, and keeps screenshots, which are in `build/screenshots` for readers of the report of
`make live`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from benchmarks.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SHOTS: Final = Path(__file__).resolve().parents[2] / "build" / "screenshots"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def keep() -> Callable[..., None]:
    """Return a function that takes a screenshot of the visible part of a page, or of the whole page."""
    SHOTS.mkdir(parents=True, exist_ok=True)

    def kept(page: Page, name: str, whole: bool = False) -> None:
        page.screenshot(path=SHOTS / f"{name}.png", full_page=whole)

    return kept
