"""The page of 300 members for ten minutes: how large it is, and how long it takes to write against reading its journal alone."""

from __future__ import annotations

import json
import subprocess
import sys

from .. import servers
from ..bench import Bench
from ..generators import Failed
from ..machine import pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("timeline."))
MEMBERS, QUICK, SECONDS = 300, 20, 600


def measured(bench: Bench) -> dict[str, float]:
    """What one fresh process tells."""
    command = [sys.executable, "-m", "benchmarks.workers.timeline_page", str(int(bench.scaled(MEMBERS, QUICK))), str(SECONDS)]
    with pinned(bench.cores.server):
        done = subprocess.run(command, cwd=servers.ROOT, env=servers.environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the timeline's worker exited {done.returncode}: {done.stderr[-500:]}")
    told: dict[str, float] = json.loads(done.stdout)
    return told


def run(bench: Bench) -> None:
    """Fills both."""
    for _ in range(bench.repeat):
        told = bench.quiet.take(lambda: measured(bench))
        bench.results.detail("CPU seconds to write the page of 300 members x 10 min", told["draw"])
        bench.results.detail("MB of its journal", told["journal_mb"])
        bench.results.add("timeline.size", told["page_mb"])
        bench.results.add("timeline.read", told["draw"] / told["read"])
