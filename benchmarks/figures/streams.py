"""Measures the pauses of a server with a streams group (KIP-1071) of 500 members and 2,000 tasks, each with a standby task, while the
members join, come and go, are described, expire and close.

All settings but the session timeout and the number of standby tasks are Kafka's defaults. Every member has an endpoint, so that each answer
to a change has the partitions of all of them.
"""

from __future__ import annotations

from .. import servers
from ..bench import Bench
from ..streams_group import SUBTOPOLOGIES
from ..targets import TARGETS
from ..worker import report_of

KEYS = tuple(key for key in TARGETS if key.startswith("streams."))
MEMBERS = 500
TASKS = 2_000
SESSION_MS = 20_000
TOPIC = "streams"
SETTINGS = {"group.streams.session.timeout.ms": SESSION_MS, "group.streams.num.standby.replicas": 1}


def run(bench: Bench) -> None:
    members, tasks = int(bench.scaled(MEMBERS, 50)), int(bench.scaled(TASKS, 200))
    for _ in range(bench.repeat):
        pauses = bench.quiet.take(lambda: _crowded(bench, members, tasks))
        bench.results.add("streams.pause.described", pauses["described"])
        bench.results.add("streams.pause", max(pause for phase, pause in pauses.items() if phase != "described"))
        for phase, pause in pauses.items():
            bench.results.detail(f"{members:,} members of a streams group, {tasks:,} tasks, {phase}: longest pause, ms", pause)


def _crowded(bench: Bench, members: int, tasks: int) -> dict[str, float]:
    """Return the longest pause (ms) of one fresh server in each phase of `workers.streams_crowd`. Raises Failed."""
    flags = (word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}"))
    with servers.groupmock(bench.cores, "--topic", f"{TOPIC}:{tasks // SUBTOPOLOGIES}", *flags) as server:
        servers.calm(server)
        where = (server.host, server.port, server.pid, TOPIC, tasks, members, SESSION_MS)
        pauses: dict[str, float] = report_of("streams_crowd", *where, core=bench.cores.load)
    return pauses
