"""Starts Chromium without a window. The figure `timeline` and tests/live/timeline look at pages with it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .generators import Missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def needed() -> str:
    """Return the path of Chromium. Raises Missing if it is not installed.

    It must be the system's Chromium, because the installed playwright brings no browser.
    """
    found = shutil.which("chromium")
    if found is None:
        raise Missing("not on the PATH: chromium")
    if find_spec("playwright") is None:
        raise Missing("not installed: playwright (pip install --group browser)")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a fresh Chromium for the block. Raises Missing if it is not installed."""
    found = needed()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()
