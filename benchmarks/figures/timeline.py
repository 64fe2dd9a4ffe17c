"""Measures the page of 240 members for ten minutes: its size, the time to write it against the time to read its journal, the time
until it is drawn first, and the frames per second while a user zooms."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .. import browser
from ..bench import Bench
from ..targets import TARGETS
from ..worker import report_of

KEYS = tuple(key for key in TARGETS if key.startswith("timeline."))
MEMBERS, QUICK, SECONDS = 240, 20, 600
ZOOMED_S, ZOOMED_QUICK_S = 10, 1


def drawn(bench: Bench, page: Path) -> dict[str, float]:
    """Measure how long groupmock takes to write the page."""
    readings: dict[str, float] = report_of("timeline_page", int(bench.scaled(MEMBERS, QUICK)), SECONDS, page, core=bench.cores.server)
    return readings


def zoomed(bench: Bench, page: Path) -> dict[str, float]:
    """Measure the frames per second while the page zooms. A browser is many processes, so it has all cores."""
    readings: dict[str, float] = report_of("timeline_frames", page, bench.scaled(ZOOMED_S, ZOOMED_QUICK_S))
    return readings


def run(bench: Bench) -> None:
    """Fill all targets of the figure. Without a browser, measure the others and raise Missing."""
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-page-") as folder:
        page = Path(folder, "page.html")
        for _ in range(bench.repeat):
            seen = bench.quiet.take(lambda: drawn(bench, page))
            bench.results.detail("CPU seconds to write the page of 240 members x 10 min", seen["draw"])
            bench.results.detail("MB of its journal", seen["journal_mb"])
            bench.results.add("timeline.size", seen["page_mb"])
            bench.results.add("timeline.read", seen["draw"] / seen["read"])
        browser.needed()
        for _ in range(bench.repeat):
            seen = bench.quiet.take(lambda: zoomed(bench, page))
            bench.results.add("timeline.first", seen["first"])
            bench.results.detail("ms of its longest frame in a hundred while zooming", seen["slow"])
            bench.results.add("timeline.frames", seen["frames"])
