"""The report of the pipeline and the heat table of scenarios work in Chromium: accessibility in light, dark, print and forced colours, and
nothing is fetched from elsewhere. Screenshots go to `build/screenshots`, for readers of the report of `make live`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from report_situation import first_screen
from wcag import violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SHOTS: Final = Path(__file__).resolve().parents[3] / "build" / "screenshots"
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 400, "height": 800}},
    "forced": {"forced_colors": "active"},
    "print": {},
}
"""Maps a look to the settings of the browser's context."""


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return first_screen(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def heat_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("heat") / "heat.html"
    words = ["table", "rolling-bounce", "death-in-time", "--report", "html", "--output", str(file)]
    subprocess.run([sys.executable, "-m", "groupmock", "scenario", *words], check=True, timeout=300)
    return file


@pytest.fixture
def see(browser: Browser) -> Iterator[Callable[[Path, str], Page]]:
    """Yield a function that opens a page in a look. At the end the console must be empty, and only files may have been requested."""
    said: list[str] = []
    contexts = []

    def opened(file: Path, look: str) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | LOOKS[look]))
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda asked: None if asked.url.startswith("file:") else said.append(f"asks {asked.url}"))
        page.goto(file.as_uri())
        if look == "print":
            page.emulate_media(media="print")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


def keep(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")


@pytest.mark.parametrize("look", LOOKS)
def test_report_breaks_no_rule_of_accessibility(report: Path, see: Callable[[Path, str], Page], look: str) -> None:
    page = see(report, look)
    keep(page, "pipeline-first-screen" if look == "light" else f"pipeline-{look}")
    assert violations(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_heat_table_breaks_no_rule_of_accessibility(heat_table: Path, see: Callable[[Path, str], Page], look: str) -> None:
    page = see(heat_table, look)
    keep(page, f"heat-table-{look}")
    assert violations(page) == []


def test_first_screen_has_the_five_sentences_and_leads_to_tables_and_timelines(report: Path, see: Callable[[Path, str], Page]) -> None:
    page = see(report, "light")
    sentences = page.locator("#first > ol > li")
    assert sentences.count() == 5
    height = page.evaluate("document.querySelector('#first').getBoundingClientRect().bottom")
    assert height <= 900, "the five sentences are on the first screen"
    moves = sentences.nth(0).text_content() or ""
    assert re.match(r"range moved \d+ partitions in \d+ rebalances, Design II \d+ in \d+", moves), moves
    for link in page.locator("#first a[href^='#']").all():
        assert page.locator(f"[id='{(link.get_attribute('href') or '#')[1:]}']").count() == 1
    page.locator("#first ol ol a").first.click()
    page.wait_for_function("() => document.documentElement.dataset.drawn > 0")
    assert page.url.endswith("/timeline-1.html")
