"""Measures the codec on the largest message of the protocol, against the library construct with the same declaration and against
kafka-python 3."""

from __future__ import annotations

import importlib.util

from ..bench import Bench
from ..generators import Missing
from ..targets import TARGETS
from ..worker import report_of

KEYS = tuple(key for key in TARGETS if key.startswith("codec."))
MEMBERS = 1000


def measured(bench: Bench) -> dict[str, dict[str, float]]:
    """Return microseconds by codec and direction, from one fresh process."""
    readings: dict[str, dict[str, float]] = report_of("codec", MEMBERS, bench.scaled(1.5, 0.2), core=bench.cores.server)
    return readings


def run(bench: Bench) -> None:
    for module in ("groupmock_codec", "kafka"):
        if importlib.util.find_spec(module) is None:
            raise Missing(f"{module} is not importable")
    for _ in range(bench.repeat):
        readings = bench.quiet.take(lambda: measured(bench))
        for direction in ("parse", "build"):
            ours = readings["groupmock"][direction]
            bench.results.detail(f"JoinGroup response v9, {MEMBERS:,} members, {direction}, us", ours)
            for other in ("construct", "kafka-python"):
                bench.results.add(f"codec.{other}.{direction}", readings[other][direction] / ours)
