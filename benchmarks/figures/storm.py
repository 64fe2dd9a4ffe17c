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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .. import servers
from ..bench import Bench
from ..generators import Failed, generate
from ..machine import Cores, cpu_seconds, pinned
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("storm."))
MEMBERS = 10_000
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


def storm(bench: Bench, members: int) -> Storm:
    """One fresh server, one storm."""
    with servers.groupmock(bench.cores, "--set", f"group.initial.rebalance.delay.ms={DELAY_MS}") as server:
        arguments = ["-j", "-F", "-c", str(members), "-H", "60000", "-t", "90", "-P", str(server.pid), server.host, str(server.port)]
        with (
            watcher(bench.cores, "stretch", str(server.pid)) as stretch,
            watcher(bench.cores, "probe", server.host, str(server.port)) as pings,
        ):
            before = cpu_seconds(server.pid)
            generator = generate("kstorm", arguments, bench.cores, 120)
            after = cpu_seconds(server.pid)
    return Storm(generator, after - before, stretch, pings)


def run(bench: Bench) -> None:
    """Fills CPU per member and the longest pause; the CPU includes accepting and ApiVersions of every connection."""
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
