"""Measures the CPU of 1,000 idle connections: 200 groups of five members each, with sessions of five minutes."""

from __future__ import annotations

import time

from .. import servers
from ..bench import Bench
from ..join import SESSION_MS, join
from ..machine import cpu_seconds
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("idle."))
GROUPS, MEMBERS = 200, 5


def run(bench: Bench) -> None:
    """Fill the share of a core that idle connections cost. One server is watched for a minute (ten seconds with --quick)."""
    seconds = bench.scaled(60, 10)
    assert seconds * 1000 < SESSION_MS
    for _ in range(1 if bench.quick else min(bench.repeat, 2)):
        bench.results.add("idle.cpu", bench.quiet.take(lambda: idle_share(bench, seconds)) * 100)


def idle_share(bench: Bench, seconds: float) -> float:
    """Return the server's CPU while nobody sends anything, as a share of one core."""
    with servers.groupmock(bench.cores, "--set", "group.initial.rebalance.delay.ms=20") as server:
        groups = [join(server.endpoint, f"idle-{index}", MEMBERS) for index in range(GROUPS)]
        servers.calm(server)
        begin, before = time.perf_counter(), cpu_seconds(server.pid)
        time.sleep(seconds)
        share = (cpu_seconds(server.pid) - before) / (time.perf_counter() - begin)
        for group in groups:
            group.close()
    return share
