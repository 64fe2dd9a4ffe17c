"""The timeline page may stay open for eight hours, and the drawing code needs no more memory for eight hours than for two."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from benchmarks.workers.timeline_page import crowd_journal
from playwright.sync_api import Browser, CDPSession, Page

from groupmock.journal.read import JournalReader
from groupmock.journal.ring import Ring
from groupmock.journal.rows import Row
from groupmock.timeline.builder import TimelineBuilder
from groupmock.timeline.drawing import of_journal, save
from groupmock.timeline.interned import Tables

HOURS, MEMBERS = 8, 10
ROUNDS: Final = (4, 20)
"""Numbers of rounds through all features of the page, before the first and before the last measurement of the heap."""
ALLOWED: Final = 1.1
"""Allowed size of the final heap, as a multiple of the first measurement."""


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crowd_journal(tmp_path_factory.mktemp("hours"), MEMBERS, HOURS * 3600)


def look_at_everything(page: Page) -> None:
    """Use all features of the page as a user would who keeps it open all day."""
    for button in ("in", "in", "right", "left", "out", "out", "home", "compact", "theme", "as-table", "later", "earlier"):
        page.click(f"#{button}")
    for words in ("m0003", "heartbeat", ""):
        page.fill("#filter", words)
        page.wait_for_function("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
    page.click("#as-table")
    page.locator(".row.lane .label").nth(2).focus()
    for key in ("Tab", "Tab", "ArrowDown", "+", "-", "Home"):
        page.keyboard.press(key)
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    for place in range(10):
        page.mouse.move(box["x"] + box["width"] * place / 10, box["y"] + 150)
    for notch in (-200, -200, 200, 200):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
        page.mouse.wheel(0, notch)


def heap(browser: CDPSession) -> dict[str, float]:
    """Return the remaining bytes of JavaScript, nodes of the document and listeners after a garbage collection."""
    browser.send("HeapProfiler.collectGarbage")
    found = {each["name"]: each["value"] for each in browser.send("Performance.getMetrics")["metrics"]}
    return {name: found[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}


def test_a_page_of_eight_hours_may_stay_open(browser: Browser, journal: Path, tmp_path: Path) -> None:
    file = tmp_path / "hours.html"
    save(of_journal(str(journal)), str(file), "html")
    page = browser.new_page(viewport={"width": 1400, "height": 800})
    try:
        page.goto(file.as_uri())
        page.wait_for_function("() => document.documentElement.dataset.drawn > 0")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        kept = []
        for rounds in ROUNDS:
            for _ in range(rounds):
                look_at_everything(page)
            kept.append(heap(session))
    finally:
        page.close()
    first, last = kept
    print(f"{HOURS} h: {file.stat().st_size / 1e6:.1f} MB; after {ROUNDS[0]} rounds {told(first)}, after {sum(ROUNDS)} {told(last)}")
    assert {name for name, value in last.items() if value > ALLOWED * first[name]} == set(), (first, last)


def told(kept: dict[str, float]) -> str:
    return f"{kept['JSHeapUsedSize'] / 1e6:.1f} MB of heap, {kept['Nodes']:.0f} nodes, {kept['JSEventListeners']:.0f} listeners"


def test_what_draws_eight_hours_keeps_no_more_than_of_two(journal: Path) -> None:
    """The test covers the builder behind `groupmock run --timeline` and the rows that `Broker.draw` reads from memory."""
    builder, ring = TimelineBuilder("hours", None, Tables()), Ring()
    builder_mb = kept_by(journal, builder.feed)
    ring_mb = kept_by(journal, lambda row: ring.take(row) if isinstance(row, Row) else None)
    print(f"MB kept after 2, 4, 6 and 8 h: by the builder {builder_mb}, by the rows in memory {ring_mb}")
    assert builder_mb[-1] <= ALLOWED * max(builder_mb[:-1])
    assert ring_mb[-1] <= ALLOWED * max(ring_mb[:-1])


def kept_by(journal: Path, feed: Callable[[Any], None]) -> list[float]:
    """Return the memory in MB after each quarter of the run."""
    found: list[float] = []
    quarter = HOURS * 3600 * 1_000_000_000 // 4
    tracemalloc.start()
    try:
        with journal.open("rb") as file:
            for row in JournalReader(file):
                if row.t >= quarter * (len(found) + 1):
                    found.append(now_mb())
                feed(row)
        found.append(now_mb())
    finally:
        tracemalloc.stop()
    return found[-4:]


def now_mb() -> float:
    gc.collect()
    return round(tracemalloc.get_traced_memory()[0] / 1e6, 1)
