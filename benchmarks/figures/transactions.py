"""Measures how open and aborted transactions in a partition slow its producers and consumers, against the same partition without any."""

from __future__ import annotations

import json
import subprocess
import sys

from .. import servers
from ..bench import Bench
from ..generators import Failed
from ..machine import pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("transactions."))
OPEN = 1000
ABORTED = 5000
QUARTETS = 200


def measured(bench: Bench) -> dict[str, float]:
    """Return the ratios of one fresh process. Raises Failed if it fails."""
    words = (OPEN, int(bench.scaled(ABORTED, 500)), int(bench.scaled(QUARTETS, 5)))
    command = [sys.executable, "-m", "benchmarks.workers.transactional_log", *map(str, words)]
    with pinned(bench.cores.server):
        done = subprocess.run(command, cwd=servers.ROOT, env=servers.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the worker exited {done.returncode}: {done.stderr[-500:]}")
    readings: dict[str, float] = json.loads(done.stdout)
    return readings


def run(bench: Bench) -> None:
    for _ in range(bench.repeat):
        for kind, ratio in bench.quiet.take(lambda: measured(bench)).items():
            bench.results.add(f"transactions.{kind}", ratio)
