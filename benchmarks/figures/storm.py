"""Measures ten thousand raw members that join one group at once: the server's cost per member and the pause of its event loop.

The pause is measured from outside, as the longest stretch of CPU in which the server touched no socket (`workers.pause`). A member's CPU is
compared with the bare echo's, in the same round, for the three round trips that a member needs at least (two JoinGroups, one SyncGroup).
The project set its floor of 150 us and its goal of 45 us where these three round trips cost 21 us: 7.1 and 2.1 times as much. In
microseconds the figure would say more about the hour of the host than about the server.

The run also measures how long a bystander waits, a client that asks for ApiVersions every millisecond on a connection of its own. Its
longest round trip contains the pause and all requests that were before it in the queue.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any

from .. import servers
from ..bench import Bench
from ..generators import Failed, Load, Missing, RunningServer, generate
from ..machine import Cores, pinned
from ..targets import TARGETS
from .heartbeats import Start, rate

KEYS = tuple(key for key in TARGETS if key.startswith("storm."))
MEMBERS = 10_000
PEER_MEMBERS = 1000
ROUND_TRIPS = 3
PING_PONG = Load(100, 1)
DELAY_MS = 3000
"""The initial rebalance delay is so long that all members join the first generation, because the figure measures the end of one
generation of all members."""


@dataclass(frozen=True)
class Storm:
    """The measurements while many members join at once."""

    generator: dict[str, Any]
    watched: dict[str, dict[str, float]]
    """The report of each watching process, by the module that it runs."""


class Watcher:
    """A process on the load core that measures from its ready line until it is asked for its report."""

    def __init__(self, cores: Cores, module: str, *arguments: str) -> None:
        self.module = module
        self.readings: dict[str, float] = {}
        command = [sys.executable, "-m", f"benchmarks.workers.{module}", *arguments]
        with pinned(cores.load):
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=servers.ROOT, env=servers.environment())

    def __enter__(self) -> Watcher:
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise Failed(f"the {self.module} worker ended before it began")
        return self

    def __exit__(self, *_: object) -> None:
        servers.end(self.process)

    def report(self) -> None:
        """Stop the measurement of the watching process and put its report into `readings`."""
        assert self.process.stdout is not None
        self.process.terminate()
        self.readings = json.loads(self.process.stdout.read())


def product(cores: Cores) -> AbstractContextManager[RunningServer]:
    """Start groupmock with an initial rebalance delay in which all members can join."""
    return servers.groupmock(cores, "--set", f"group.initial.rebalance.delay.ms={DELAY_MS}")


def kafka(cores: Cores) -> AbstractContextManager[RunningServer]:
    """Start Apache Kafka with an initial rebalance delay in which all members can join."""
    return servers.kafka(cores, f"group.initial.rebalance.delay.ms={DELAY_MS}")


def mock(cores: Cores) -> AbstractContextManager[RunningServer]:
    """Start librdkafka's mock with an initial rebalance delay in which all members can join."""
    return servers.cmock(cores, DELAY_MS)


PEERS: dict[str, tuple[Start, tuple[str, ...]]] = {"kfake": (servers.kfake, ("-F",)), "kafka": (kafka, ("-F",))}
MOCK: tuple[Start, tuple[str, ...]] = (mock, ("-l", "50"))
"""The function that starts librdkafka's mock, and kstorm's flags for it, because the mock does not read JoinGroup v6 and needs its
leader to sync last."""


def storm(bench: Bench, members: int, start: Start = product, flags: Sequence[str] = ("-F",), bystander: bool = False) -> Storm:
    """Run one storm (members that join at once) against one fresh server. The bystander comes only on request, because its pings cost
    the server CPU."""
    with start(bench.cores) as server:
        servers.calm(server)
        fixed = ["-j", "-k", "-c", str(members), "-H", "60000", "-t", "90", "-P", str(server.pid)]
        with ExitStack() as watching:
            watchers = {"pause": watching.enter_context(Watcher(bench.cores, "pause", str(server.pid)))}
            if bystander:
                watchers["bystander"] = watching.enter_context(Watcher(bench.cores, "bystander", server.host, str(server.port)))

            def reported() -> None:
                """Fill in the reports of the watching processes when all members have settled and are still connected."""
                for watcher in watchers.values():
                    watcher.report()

            generator = generate("kstorm", [*fixed, *flags, server.host, str(server.port)], bench.cores, 120, reported)
    return Storm(generator, {name: watcher.readings for name, watcher in watchers.items()})


def run(bench: Bench) -> None:
    """Fill the CPU per member against the echo, counted from the first JoinGroup when all are connected, and the longest pause."""
    members = int(bench.scaled(MEMBERS, 1000))
    label = f"storm of {members:,}"
    for _ in range(bench.repeat):
        echo = rate(bench, servers.echo, PING_PONG, joined=False)
        readings = bench.quiet.take(lambda: storm(bench, members))
        cpu_us = readings.generator["srv_cpu_s"] * 1e6 / members
        bench.results.add("storm.cpu", cpu_us / (ROUND_TRIPS * echo.cpu_us))
        bench.results.detail(f"{label}: server CPU per member, us", cpu_us)
        bench.results.detail(f"{label}: the echo's CPU per round trip, us", echo.cpu_us)
        bench.results.add("storm.pause", readings.watched["pause"]["longest_ms"])
        bench.results.detail(f"{label}: seconds from the first JoinGroup to the last SyncGroup", readings.generator["seconds"])
        bench.results.detail(f"{label}: generations", readings.generator["gen"])
        bench.results.detail(f"{label}: server CPU per connection before it, us", readings.generator["srv_conn_cpu_s"] * 1e6 / members)
    readings = bench.quiet.take(lambda: storm(bench, members, bystander=True))
    bench.results.detail(f"{label}: longest wait of a bystander, ms", readings.watched["bystander"]["longest_ms"])
    bench.results.detail(f"{label}: median wait of a bystander, ms", readings.watched["bystander"]["median_ms"])
    for name in sorted(bench.peers & PEERS.keys()):
        _tell_peer(bench, name, *PEERS[name])
    _tell_peer(bench, "librdkafka's mock", *MOCK)


def _tell_peer(bench: Bench, name: str, start: Start, flags: tuple[str, ...]) -> None:
    """Run one storm of a thousand members against a peer, for comparison."""
    try:
        readings = storm(bench, PEER_MEMBERS, start, flags)
    except (Missing, Failed) as reason:
        bench.results.note(f"storm on {name}: {reason}")
        return
    label = f"storm of {PEER_MEMBERS:,} on {name}"
    bench.results.detail(f"{label}: server CPU per member, us", readings.generator["srv_cpu_s"] * 1e6 / PEER_MEMBERS)
    bench.results.detail(f"{label}: generations", readings.generator["gen"])
