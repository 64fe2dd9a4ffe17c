"""Measures how long a large consumer group takes to compute a target assignment, during which every other member waits for the heartbeat
that computes it."""

from __future__ import annotations

from ..bench import Bench
from ..targets import TARGETS
from ..worker import report_of

KEYS = tuple(key for key in TARGETS if key.startswith("assignors."))
MEMBERS = 1_000
TOPICS = 100


def measured(bench: Bench) -> dict[str, float]:
    """Return milliseconds by assignor and kind of subscription, from one fresh process."""
    sizes = (int(bench.scaled(MEMBERS, 50)), int(bench.scaled(TOPICS, 5)))
    readings: dict[str, float] = report_of("assignors", *sizes, core=bench.cores.server)
    return readings


def run(bench: Bench) -> None:
    for _ in range(bench.repeat):
        for key, milliseconds in bench.quiet.take(lambda: measured(bench)).items():
            bench.results.add(f"assignors.{key}", milliseconds)
