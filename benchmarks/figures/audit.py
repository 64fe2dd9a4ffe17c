"""Measures the audit of a million rows in one pass: how its memory grows, and its rate as a share of the rate of reading alone."""

from __future__ import annotations

from ..bench import Bench
from ..targets import TARGETS
from ..worker import report_of

KEYS = tuple(key for key in TARGETS if key.startswith("audit."))
ROWS = 1_000_000
QUICK = 50_000


def measured(bench: Bench) -> dict[str, float]:
    readings: dict[str, float] = report_of("audit_rows", int(bench.scaled(ROWS, QUICK)), 1, core=bench.cores.server)
    return readings


def run(bench: Bench) -> None:
    for _ in range(bench.repeat):
        readings = bench.quiet.take(lambda: measured(bench))
        bench.results.detail("rows audited per second of CPU, out of a file", readings["audit"])
        bench.results.detail("rows read per second of CPU", readings["read"])
        bench.results.detail("MB resident at the end of the audit", readings["rss_kb_end"] / 1e3)
        bench.results.add("audit.read", readings["audit"] / readings["read"])
        bench.results.add("audit.memory", readings["rss_kb_end"] / readings["rss_kb_tenth"])
