"""Measures consumer groups (KIP-848): heartbeats against an echo server, memory, and ten thousand members that join one group and settle.

All settings are Kafka's defaults: a new target at most once a second, a heartbeat every five. Each member gets one partition. The pause is
the longest stretch of CPU in which the server touched no socket (`workers.pause`) beside a bystander, from the first heartbeat until all
have settled.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from .. import servers
from ..bench import Bench
from ..consumer_group import ConsumerGroup
from ..generators import Failed, Load, RunningServer
from ..join import Joined
from ..machine import Cores, pinned
from ..targets import TARGETS
from .heartbeats import Start, members_of, rate, tell
from .storm import Watcher

KEYS = tuple(key for key in TARGETS if key.startswith("consumers."))
LOAD = Load(1000, 1)
MEMBERS_IN_MEMORY = 5000
MEMBERS = 10_000
ROUND_TRIPS = 3
PING_PONG = Load(100, 1)
TOPIC = "consumers"
SECONDS = 60.0


def product(partitions: int) -> Start:
    """Return a function that starts groupmock with a topic of this many partitions."""

    def start(cores: Cores) -> AbstractContextManager[RunningServer]:
        return servers.groupmock(cores, "--topic", f"{TOPIC}:{partitions}")

    return start


def joined(server: RunningServer, load: Load) -> Joined:
    """Return members that have settled, so that their next heartbeats change nothing."""
    group = ConsumerGroup(server.endpoint, "bench", TOPIC, members_of(load))
    group.settle(members_of(load), SECONDS)
    return group


@dataclass(frozen=True)
class Settled:
    """The figures that the process of the members reports, and the longest pause of the server in ms."""

    readings: dict[str, float]
    pause_ms: float


def settled(
    bench: Bench,
    members: int,
    kind: str = "consumer",
    start: Start | None = None,
    afterwards: Callable[[RunningServer], None] = lambda server: None,
) -> Settled:
    """Measure one fresh server whose group joins at once. `kind` is consumer, mixed or share. The pause is watched until `afterwards` has
    returned, which is called when the group has settled."""
    with (start or product(members))(bench.cores) as server:
        servers.calm(server)
        asked = (server.host, server.port, server.pid, "storm", members, TOPIC, members, kind)
        words = ["-m", "benchmarks.workers.consumer_group", *map(str, asked)]
        bystander = Watcher(bench.cores, "bystander", server.host, str(server.port))
        watcher = Watcher(bench.cores, "pause", str(server.pid))
        with bystander, watcher:
            with pinned(bench.cores.load):
                process = subprocess.Popen(
                    [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    cwd=servers.ROOT, env=servers.environment(),
                )  # fmt: skip
            assert process.stdout is not None
            line = process.stdout.readline()
            afterwards(server)
            watcher.report()
            bystander.report()
            _, complaint = process.communicate()
        if process.returncode or not line:
            raise Failed(f"{members} consumers: {complaint[-300:]}")
    return Settled(json.loads(line), watcher.readings["longest_ms"])


def run(bench: Bench) -> None:
    for _ in range(bench.repeat):
        _heartbeats(bench)
        _memory(bench)
        _storm(bench)


def _heartbeats(bench: Bench) -> None:
    echo = rate(bench, servers.echo, LOAD, joined=False)
    ours = rate(bench, product(members_of(LOAD)), LOAD, members=joined)
    tell(bench, "echo (for consumers)", LOAD, echo)
    tell(bench, "groupmock, a consumer group", LOAD, ours)
    bench.results.add("consumers.heartbeats", echo.cpu_us / ours.cpu_us)


def _memory(bench: Bench) -> None:
    members = int(bench.scaled(MEMBERS_IN_MEMORY, 1000))
    readings = bench.quiet.take(lambda: settled(bench, members)).readings
    bench.results.add("consumers.memory", (readings["settled"] - readings["before"]) / 1000 / members)
    bench.results.detail("of it for the connection of a consumer, kB", (readings["connected"] - readings["before"]) / 1000 / members)


def _storm(bench: Bench) -> None:
    members = int(bench.scaled(MEMBERS, 1000))
    echo = rate(bench, servers.echo, PING_PONG, joined=False)
    found = bench.quiet.take(lambda: settled(bench, members))
    label = f"consumer group of {members:,}"
    bench.results.add("consumers.pause", found.pause_ms)
    bench.results.add("consumers.cpu", found.readings["cpu_s"] * 1e6 / members / (ROUND_TRIPS * echo.cpu_us))
    bench.results.detail(f"{label}: seconds until it has settled", found.readings["seconds"])
    bench.results.detail(f"{label}: server CPU per member, us", found.readings["cpu_s"] * 1e6 / members)
    bench.results.detail(f"{label}: heartbeats", found.readings["heartbeats"])
