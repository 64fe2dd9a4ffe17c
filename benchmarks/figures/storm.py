"""Measures raw members that join one group at once: the server's CPU and memory per member, warm and cold, and the pause of its event loop.

In each round three fresh servers are measured, in an order that alternates: the floor (`peers.storm_floor`, a bare uvloop server that
answers the same storm), groupmock warm (after it has finished what it does behind its ready line) and groupmock cold (the storm begins at
the ready line). The CPU counts from the first JoinGroup to the last SyncGroup answer, when all members are connected; the memory from
before connecting. Microseconds and kB would say more about the hour of the host than about the server, so CPU is a ratio.

The pause is measured from outside, as the longest stretch of CPU in which the server touched no socket (`workers.pause`), while a bystander
asks for ApiVersions every millisecond on a connection of its own. Without the bystander all members wait at the end of a phase, and the
slices in which the server ends it, between which it looks at its sockets in vain, would count as one stretch. The bystander's longest round
trip contains the pause and all requests that were before it in the queue.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from .. import servers
from ..bench import Bench
from ..generators import Failed, Missing, RunningServer, generate
from ..machine import Cores, pinned
from ..targets import TARGETS
from .heartbeats import Start

KEYS = tuple(key for key in TARGETS if key.startswith(("storm.", "memory.")))
WATCHERS: Final = ("pause", "bystander")
MEMBERS = 5_000
MEMBERS_IN_A_PAUSE = 10_000
PEER_MEMBERS = 1000
DELAY_MS = 1500
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


def floor(cores: Cores) -> AbstractContextManager[RunningServer]:
    """Start the server that does the least possible work for a storm."""
    return servers.started([sys.executable, "-m", "benchmarks.peers.storm_floor", str(DELAY_MS)], cores)


def storm(
    bench: Bench,
    members: int,
    start: Start = product,
    flags: Sequence[str] = (),
    *,
    cold: bool = False,
    watching: Sequence[str] = (),
    afterwards: Callable[[RunningServer], None] = lambda server: None,
) -> Storm:
    """Run one storm (members that join at once) against one fresh server, which is warm unless `cold`. `watching` names the watchers;
    the bystander's pings cost the server CPU. They watch until `afterwards` has returned, which is called when all members have
    settled and are still connected."""
    with start(bench.cores) as server:
        if not cold:
            servers.calm(server)
        fixed = ["-j", "-k", "-c", str(members), "-H", "60000", "-t", "90", "-P", str(server.pid)]
        arguments = {"pause": [str(server.pid)], "bystander": [server.host, str(server.port)]}
        with ExitStack() as stack:
            watchers = {name: stack.enter_context(Watcher(bench.cores, name, *arguments[name])) for name in watching}

            def reported() -> None:
                """Fill in the reports of the watching processes."""
                afterwards(server)
                for watcher in watchers.values():
                    watcher.report()

            generator = generate("kstorm", [*fixed, *flags, server.host, str(server.port)], bench.cores, 120, reported)
    return Storm(generator, {name: watcher.readings for name, watcher in watchers.items()})


def run(bench: Bench) -> None:
    """Fill the CPU and the memory per member, round by round, then the longest pause of a larger storm."""
    members = int(bench.scaled(MEMBERS, 1000))
    for number in range(bench.repeat):
        _round(bench, members, number % 2 == 1)
    members = int(bench.scaled(MEMBERS_IN_A_PAUSE, 1000))
    label = f"storm of {members:,}"
    for _ in range(min(bench.repeat, 3)):
        watched = bench.quiet.take(lambda: storm(bench, members, watching=WATCHERS)).watched
        bench.results.add("storm.pause", watched["pause"]["longest_ms"])
        bench.results.detail(f"{label}: longest wait of a bystander, ms", watched["bystander"]["longest_ms"])
        bench.results.detail(f"{label}: median wait of a bystander, ms", watched["bystander"]["median_ms"])
    _tell_peer(bench, "librdkafka's mock", *MOCK)


def _round(bench: Bench, members: int, backwards: bool) -> None:
    """Measure each kind of server once, so that a slow minute of the host slows all of them."""
    sides: dict[str, Callable[[], Storm]] = {
        "floor": lambda: storm(bench, members, floor),
        "warm": lambda: storm(bench, members),
        "cold": lambda: storm(bench, members, cold=True),
        **{name: partial(storm, bench, members, *PEERS[name]) for name in sorted(bench.peers & PEERS.keys())},
    }
    cpu_us: dict[str, float] = {}
    for side in reversed(sides) if backwards else sides:
        try:
            generator = bench.quiet.take(sides[side]).generator
        except (Missing, Failed) as reason:
            if side not in PEERS:
                raise
            bench.results.note(f"storm on {side}: {reason}")
            continue
        cpu_us[side] = generator["srv_cpu_s"] * 1e6 / members
        label = f"storm of {members:,}, {side}"
        grown = (generator["rss_kb"] - generator["rss0_kb"]) * 1.024 / members
        bench.results.detail(f"{label}: server CPU per member, us", cpu_us[side])
        bench.results.detail(f"{label}: server CPU per connection before it, us", generator["srv_conn_cpu_s"] * 1e6 / members)
        bench.results.detail(f"{label}: memory per member, kB", grown)
        bench.results.detail(f"{label}: of it for the connection, kB", (generator["rss_conn_kb"] - generator["rss0_kb"]) * 1.024 / members)
        bench.results.detail(f"{label}: seconds from the first JoinGroup to the last SyncGroup", generator["seconds"])
        bench.results.detail(f"{label}: generations", generator["gen"])
        if side == "warm":
            bench.results.add("memory.member", grown)
    bench.results.add("storm.cpu", cpu_us["warm"] / cpu_us["floor"])
    bench.results.add("storm.cold", cpu_us["cold"] / cpu_us["warm"])


def _tell_peer(bench: Bench, name: str, start: Start, flags: tuple[str, ...]) -> None:
    """Run one storm of a thousand members against a peer that cannot take more, for comparison."""
    try:
        readings = storm(bench, PEER_MEMBERS, start, flags)
    except (Missing, Failed) as reason:
        bench.results.note(f"storm on {name}: {reason}")
        return
    label = f"storm of {PEER_MEMBERS:,} on {name}"
    bench.results.detail(f"{label}: server CPU per member, us", readings.generator["srv_cpu_s"] * 1e6 / PEER_MEMBERS)
    bench.results.detail(f"{label}: generations", readings.generator["gen"])
