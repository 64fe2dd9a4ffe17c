"""Measures how long a large consumer group takes to compute a target assignment, during which every other member waits for the heartbeat
that computes it."""

from __future__ import annotations

import json
import subprocess
import sys

from .. import servers
from ..bench import Bench
from ..generators import Failed
from ..machine import pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("assignors."))
MEMBERS = 1_000
TOPICS = 100


def measured(bench: Bench) -> dict[str, float]:
    """Return milliseconds by assignor and kind of subscription, from one fresh process."""
    command = [sys.executable, "-m", "benchmarks.workers.assignors", str(int(bench.scaled(MEMBERS, 50))), str(int(bench.scaled(TOPICS, 5)))]
    with pinned(bench.cores.server):
        done = subprocess.run(command, cwd=servers.ROOT, env=servers.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the assignors' worker exited {done.returncode}: {done.stderr[-500:]}")
    readings: dict[str, float] = json.loads(done.stdout)
    return readings


def run(bench: Bench) -> None:
    for _ in range(bench.repeat):
        for key, milliseconds in bench.quiet.take(lambda: measured(bench)).items():
            bench.results.add(f"assignors.{key}", milliseconds)
