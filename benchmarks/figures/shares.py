"""Measures share groups (KIP-932): heartbeats against an echo server, empty fetches in a share session against those in a fetch session,
the pauses while a thousand members join, and while all of them have records in flight, and the memory of those records.

All settings but the size of the group, and the record lock of the pauses, are Kafka's defaults. CPU is that of the server.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from .. import servers
from ..bench import Bench
from ..consumer_group import ShareGroup
from ..generators import Load, RunningServer
from ..join import Joined
from ..machine import Cores
from ..targets import TARGETS
from ..worker import report_of
from .consumers import SECONDS, TOPIC, settled
from .heartbeats import Start, members_of, rate, tell

KEYS = tuple(key for key in TARGETS if key.startswith("shares."))
LOAD = Load(1000, 1)
MEMBERS = 1000
PARTITIONS = 50
RECORDS = 2000
"""The records in flight of one partition are at most so many (group.share.partition.max.record.locks)."""
FETCHES = 20_000
LOCK_MS = 8_000
CROWD = ("--set", f"group.share.max.size={MEMBERS}", "--set", f"group.share.record.lock.duration.ms={LOCK_MS}")


def product(partitions: int) -> Start:
    """Return a function that starts groupmock with a topic of this many partitions and share groups of 1,000 members."""

    def start(cores: Cores) -> AbstractContextManager[RunningServer]:
        return servers.groupmock(cores, "--topic", f"{TOPIC}:{partitions}", "--set", f"group.share.max.size={MEMBERS}")

    return start


def joined(server: RunningServer, load: Load) -> Joined:
    """Return members that have settled, so that their next heartbeats change nothing."""
    group = ShareGroup(server.endpoint, "bench", TOPIC, members_of(load))
    group.settle(members_of(load), SECONDS)
    return group


def fetched(bench: Bench) -> dict[str, float]:
    """Return what the worker that fetches records of a share group reports about one fresh server. Raises Failed."""
    with product(PARTITIONS)(bench.cores) as server:
        servers.calm(server)
        where = (server.host, server.port, server.pid, TOPIC)
        counts = (PARTITIONS, int(bench.scaled(RECORDS, 200)), int(bench.scaled(FETCHES, 1000)))
        readings: dict[str, float] = report_of("share_fetch", *where, *counts, core=bench.cores.load)
    return readings


def crowded(bench: Bench, members: int) -> dict[str, float]:
    """Return the longest pause (ms) of one fresh server in each phase of `workers.share_crowd`. Raises Failed."""
    with servers.groupmock(bench.cores, "--topic", f"{TOPIC}:{PARTITIONS}", *CROWD) as server:
        servers.calm(server)
        where = (server.host, server.port, server.pid, TOPIC, PARTITIONS, members, LOCK_MS)
        pauses: dict[str, float] = report_of("share_crowd", *where, core=bench.cores.load)
    return pauses


def run(bench: Bench) -> None:
    for _ in range(bench.repeat):
        _round(bench)


def _round(bench: Bench) -> None:
    echo = rate(bench, servers.echo, LOAD, joined=False)
    ours = rate(bench, product(members_of(LOAD)), LOAD, members=joined)
    tell(bench, "echo (for share groups)", LOAD, echo)
    tell(bench, "groupmock, a share group", LOAD, ours)
    bench.results.add("shares.heartbeats", echo.cpu_us / ours.cpu_us)
    members = int(bench.scaled(MEMBERS, 200))
    bench.results.add("shares.pause", bench.quiet.take(lambda: settled(bench, members, "share", product(members))).pause_ms)
    pauses = bench.quiet.take(lambda: crowded(bench, members))
    closed = pauses.pop("closed")
    bench.results.add("shares.pause.records", max(pauses.values()))
    bench.results.add("shares.pause.closed", closed)
    for phase, pause in pauses.items():
        bench.results.detail(f"{members:,} members of a share group, 100 records each, {phase.replace('_', ' ')}: longest pause, ms", pause)
    readings = bench.quiet.take(lambda: fetched(bench))
    bench.results.add("shares.fetch", readings["fetch_us"] / readings["share_us"])
    bench.results.detail("an empty Fetch of a session, server CPU us", readings["fetch_us"])
    bench.results.detail("an empty ShareFetch of a session, server CPU us", readings["share_us"])
    bench.results.add("shares.memory", readings["batches_bytes"])
    bench.results.add("shares.memory.apart", readings["apart_bytes"])
