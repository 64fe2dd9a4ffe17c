"""Ten thousand raw members join one group at once: what a member costs the server, and how long its loop stands still.

The pause is measured from outside, as the longest stretch of CPU in which the server touched no socket (`workers.stretch`).
Beside it is told how long a bystander waits: a probe that asks for ApiVersions every millisecond on a connection of its own.
Its longest round trip holds the pause and all requests that were before it in the queue.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from .. import servers
from ..bench import Bench
from ..generators import Failed, Missing, Server, generate
from ..machine import Cores, cpu_seconds, pinned
from ..targets import TARGETS
from .heartbeats import Start

KEYS = tuple(key for key in TARGETS if key.startswith("storm."))
MEMBERS = 10_000
PEER_MEMBERS = 1000
DELAY_MS = 3000
"""Long enough that everybody joins the first generation: finishing one generation of all is what is measured."""


@dataclass(frozen=True)
class Storm:
    """What one storm showed."""

    generator: dict[str, Any]
    cpu_seconds: float
    stretch: dict[str, float]
    probe: dict[str, float]


@contextmanager
def watcher(cores: Cores, module: str, *arguments: str) -> Iterator[dict[str, float]]:
    """A worker on the load core that reports when the block ends: the dict is filled then."""
    told: dict[str, float] = {}
    command = [sys.executable, "-m", f"benchmarks.workers.{module}", *arguments]
    with pinned(cores.load):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=servers.ROOT, env=servers.environment())
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise Failed(f"the {module} worker ended before it began")
        yield told
        process.send_signal(signal.SIGTERM)
        told.update(json.loads(process.stdout.read()))
    finally:
        servers.end(process)


def product(cores: Cores) -> AbstractContextManager[Server]:
    """groupmock with a delay into which all members fit."""
    return servers.groupmock(cores, "--set", f"group.initial.rebalance.delay.ms={DELAY_MS}")


def kafka(cores: Cores) -> AbstractContextManager[Server]:
    """Apache Kafka with the same delay."""
    return servers.kafka(cores, f"group.initial.rebalance.delay.ms={DELAY_MS}")


def mock(cores: Cores) -> AbstractContextManager[Server]:
    """librdkafka's mock with the same delay."""
    return servers.cmock(cores, DELAY_MS)


PEERS: dict[str, tuple[Start, tuple[str, ...]]] = {"kfake": (servers.kfake, ("-F",)), "kafka": (kafka, ("-F",))}
MOCK: tuple[Start, tuple[str, ...]] = (mock, ("-l", "50"))
"""It does not read JoinGroup v6, and the leader must sync last; see kstorm.c."""


def storm(bench: Bench, members: int, start: Start = product, flags: Sequence[str] = ("-F",)) -> Storm:
    """One fresh server, one storm."""
    with start(bench.cores) as server:
        servers.calm(server)
        fixed = ["-j", "-c", str(members), "-H", "60000", "-t", "90", "-P", str(server.pid)]
        with (
            watcher(bench.cores, "stretch", str(server.pid)) as stretch,
            watcher(bench.cores, "probe", server.host, str(server.port)) as pings,
        ):
            before = cpu_seconds(server.pid)
            generator = generate("kstorm", [*fixed, *flags, server.host, str(server.port)], bench.cores, 120)
            after = cpu_seconds(server.pid)
    return Storm(generator, after - before, stretch, pings)


def run(bench: Bench) -> None:
    """Fills CPU per member and the longest pause; the CPU starts with the first JoinGroup, when all are connected."""
    members = int(bench.scaled(MEMBERS, 1000))
    for _ in range(bench.repeat):
        told = bench.quiet.take(lambda: storm(bench, members))
        joining = told.generator["srv_cpu_s"]
        bench.results.add("storm.cpu", joining * 1e6 / members)
        bench.results.add("storm.pause", told.stretch["longest_ms"])
        bench.results.detail(f"storm of {members:,}: seconds from the first JoinGroup to the last SyncGroup", told.generator["seconds"])
        bench.results.detail(f"storm of {members:,}: generations", told.generator["gen"])
        bench.results.detail(f"storm of {members:,}: CPU per member with accepting, us", told.cpu_seconds * 1e6 / members)
        bench.results.detail(f"storm of {members:,}: longest wait of a bystander, ms", told.probe["longest_ms"])
        bench.results.detail(f"storm of {members:,}: median wait of a bystander, ms", told.probe["median_ms"])
    for name in sorted(bench.peers & PEERS.keys()):
        _tell_peer(bench, name, *PEERS[name])
    _tell_peer(bench, "librdkafka's mock", *MOCK)


def _tell_peer(bench: Bench, name: str, start: Start, flags: tuple[str, ...]) -> None:
    """One storm of a thousand on a peer, for comparison."""
    try:
        told = storm(bench, PEER_MEMBERS, start, flags)
    except (Missing, Failed) as reason:
        bench.results.note(f"storm on {name}: {reason}")
        return
    label = f"storm of {PEER_MEMBERS:,} on {name}"
    bench.results.detail(f"{label}: server CPU per member, us", told.generator["srv_cpu_s"] * 1e6 / PEER_MEMBERS)
    bench.results.detail(f"{label}: generations", told.generator["gen"])
