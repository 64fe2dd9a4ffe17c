"""Measures the recording proxy against a plain proxy, both in front of the same Apache Kafka: heartbeats, fetched bytes, rebalances of a
group.

A round measures both proxies, one after the other, each in a fresh process; its value is the ratio inside it. The proxies run on the server
core; Kafka and the load share the other one, as they would without a proxy. socat (a process per connection) is shown for comparison.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from .. import servers
from ..bench import Bench
from ..generators import Failed, Load, RunningServer, rate_of
from ..join import Group, join, write_payloads
from ..machine import pinned
from ..targets import TARGETS
from ..worker import report_of

KEYS = tuple(key for key in TARGETS if key.startswith("proxy."))
HEARTBEATS = {"proxy.heartbeats.1": Load(1, 1), "proxy.heartbeats.100": Load(100, 1)}
WORKERS = {"proxy.fetch": "fetch", "proxy.rounds": "rounds"}
PATIENCE_S = 20.0

Start = Callable[[Bench, RunningServer], AbstractContextManager[RunningServer]]


@contextmanager
def plain(bench: Bench, upstream: RunningServer) -> Iterator[RunningServer]:
    """Start the plain proxy: the byte pump on uvloop."""
    command = [sys.executable, "-m", "benchmarks.peers.pump", upstream.host, str(upstream.port)]
    with servers.started(command, bench.cores) as server:
        yield replace(server, others=upstream.others)


@contextmanager
def recording(bench: Bench, upstream: RunningServer) -> Iterator[RunningServer]:
    """Start `groupmock record`, which writes into a file in the default temporary folder."""
    front = servers.groupmock_command()[: -len(["serve", "--port", "0"])]
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-record-") as folder:
        flags = ["--upstream", upstream.bootstrap, "--journal", str(Path(folder) / "journal.jsonl")]
        with servers.started([*front, "record", *flags], bench.cores) as server:
            yield replace(server, others=upstream.others)


@contextmanager
def socat(bench: Bench, upstream: RunningServer) -> Iterator[RunningServer]:
    """Start socat, which forks a process for each connection."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pinned(bench.cores.server):
        listen = f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr,backlog=1024,nodelay"
        process = subprocess.Popen(["socat", "-b", "262144", listen, f"TCP:{upstream.host}:{upstream.port},nodelay"])
    try:
        time.sleep(0.5)
        yield RunningServer("127.0.0.1", port, process.pid, upstream.others)
    finally:
        servers.end(process)


def heartbeats(bench: Bench, server: RunningServer, load: Load) -> tuple[float, float]:
    """Return the heartbeats per second of members that joined through the proxy, and the proxy's CPU per heartbeat."""
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-") as folder:
        payloads = Path(folder) / "heartbeats.hex"
        group = _joined(server, load.connections)
        write_payloads([group], payloads)
        try:
            measured = rate_of(server, load, payloads, bench.cores, bench.scaled(2.0, 0.3))
        finally:
            group.close()
    return measured.per_second, measured.cpu_us


def _joined(server: RunningServer, members: int) -> Group:
    """Join the members through the proxy, and retry until Kafka has a coordinator."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return join(server.endpoint, f"bench-{time.monotonic_ns()}", members)
        except Failed:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)


def worked(bench: Bench, server: RunningServer, what: str) -> float:
    """Run a worker against the server and return the rate that the worker reports."""
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return float(report_of("proxy", what, server.host, server.port, bench.scaled(3.0, 0.5), core=bench.cores.load, more=path)["rate"])


def run(bench: Bench) -> None:
    with servers.kafka(replace(bench.cores, server=bench.cores.load)) as upstream:
        _joined(upstream, 1).close()
        for _ in range(bench.repeat):
            _round(bench, upstream)


def _round(bench: Bench, upstream: RunningServer) -> None:
    sides: dict[str, Start] = {"plain proxy": plain, "groupmock record": recording}
    if shutil.which("socat"):
        sides["socat"] = socat
    else:
        bench.results.note("socat is not installed: not compared")
    for key, load in HEARTBEATS.items():
        readings = {name: bench.quiet.take(partial(_through, bench, start, upstream, load)) for name, start in sides.items()}
        bench.results.add(key, readings["groupmock record"][0] / readings["plain proxy"][0])
        for name, (per_second, cpu) in readings.items():
            bench.results.detail(f"{load} {name}, heartbeats/s", per_second)
            bench.results.detail(f"{load} {name}, proxy CPU us/heartbeat", cpu)
    for key, what in WORKERS.items():
        rates = {name: bench.quiet.take(partial(_worked_through, bench, start, upstream, what)) for name, start in sides.items()}
        bench.results.add(key, rates["groupmock record"] / rates["plain proxy"])
        for name, rate in rates.items():
            bench.results.detail(f"{what} {name}, {'MB/s' if what == 'fetch' else 'rounds/s'}", rate)


def _through(bench: Bench, start: Start, upstream: RunningServer, load: Load) -> tuple[float, float]:
    with start(bench, upstream) as server:
        return heartbeats(bench, server, load)


def _worked_through(bench: Bench, start: Start, upstream: RunningServer, what: str) -> float:
    with start(bench, upstream) as server:
        return worked(bench, server, what)
