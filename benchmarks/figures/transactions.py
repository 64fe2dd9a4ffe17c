"""Measures how open and aborted transactions in a partition slow its producers and consumers, against the same partition without any."""

from __future__ import annotations

from ..bench import Bench
from ..targets import TARGETS
from ..worker import report_of

KEYS = tuple(key for key in TARGETS if key.startswith("transactions."))
OPEN = 1000
ABORTED = 5000
QUARTETS = 200


def measured(bench: Bench) -> dict[str, float]:
    """Return the ratios of one fresh process. Raises Failed if it fails."""
    words = (OPEN, int(bench.scaled(ABORTED, 500)), int(bench.scaled(QUARTETS, 5)))
    readings: dict[str, float] = report_of("transactional_log", *words, core=bench.cores.server)
    return readings


def run(bench: Bench) -> None:
    for _ in range(bench.repeat):
        for kind, ratio in bench.quiet.take(lambda: measured(bench)).items():
            bench.results.add(f"transactions.{kind}", ratio)
