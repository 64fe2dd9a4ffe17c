"""Opens pages of `groupmock timeline` in every situation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from situations import SITUATIONS

from groupmock.timeline.drawing import save

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that creates the page of a situation on first use."""
    folder = tmp_path_factory.mktemp("pages")

    def page_of(name: str) -> Path:
        file = folder / f"{name}.html"
        if not file.exists():
            save(SITUATIONS[name](folder), str(file), "html")
        return file

    return page_of


@pytest.fixture
def see(browser: Browser, pages: Callable[[str], Path]) -> Iterator[Open]:
    """Yield a function that opens the page of a situation. At the end the console must be empty and nothing may have been requested."""
    said: list[str] = []
    contexts: list[Any] = []

    def opened(name: str, width: int = 1400, height: int = 800, part: str = "", **how: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **how)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda asked: None if asked.url.startswith("file:") else said.append(f"asks {asked.url}"))
        page.goto(pages(name).as_uri() + (f"#{part}" if part else ""))
        page.wait_for_function("() => document.documentElement.dataset.drawn > 0")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []
