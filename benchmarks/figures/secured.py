"""Measures TLS against the TLS of Python's asyncio, and what the listeners cost where nobody names one.

For TLS, members send heartbeats over TLS to groupmock and to the constant answers of `peers/tls_echo.py`, in the same round, and the CPU of
the server counts. Without named listeners, the driver's CPU and the start are compared with the last build before there were any.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from .. import servers
from ..bench import Bench
from ..generators import Failed, Load, RunningServer
from ..join import join, write_payloads
from ..machine import cpu_seconds, pinned
from ..targets import TARGETS
from .faults import earlier, ratio

KEYS = tuple(key for key in TARGETS if key.startswith("secured."))
BEFORE = "b14de6a87ff9537634d0a58de71e7794c3ca70d5"
"""The last commit before listeners could be named."""
LOADS = (Load(100, 1), Load(1, 64))
KINDS = ("lease", "full", "rounds")
WORKER = Path(__file__).parent.parent / "workers" / "tls_load.py"
READY_AND_OUT = "import sys; from groupmock.cli import main; sys.exit(main(['serve', '--port', '0', '--log', 'off']))"


@contextmanager
def product(bench: Bench, folder: Path, port: int) -> Iterator[RunningServer]:
    """Start groupmock with a plain listener, which is yielded, and a TLS listener on this port."""
    listeners = ("PLAIN=PLAINTEXT://127.0.0.1:0", f"OUT=SSL://127.0.0.1:{port}")
    flags = [word for each in listeners for word in ("--listener", each)]
    delay = ["--set", "group.initial.rebalance.delay.ms=300"]
    command = [*servers.groupmock_command()[:-2], "--log", "off", *flags, "--tls-dir", str(folder), *delay]
    with servers.started(command, bench.cores) as server:
        yield server


def cpu_us(bench: Bench, server: RunningServer, port: int, load: Load, folder: Path) -> float:
    """Return the server's CPU microseconds for a heartbeat over TLS, with a share of the handshakes."""
    count = int(bench.scaled(20_000, 1000))
    before = cpu_seconds(server.pid)
    words = [str(port), str(folder / "ca.pem"), str(load.connections), str(load.depth), str(count), str(folder / "heartbeats.hex")]
    with pinned(bench.cores.load):
        done = subprocess.run([sys.executable, str(WORKER), "127.0.0.1", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the TLS load ended: {done.stderr.strip()[-300:]}")
    return (cpu_seconds(server.pid) - before) * 1e6 / int(done.stdout)


def of_tls(bench: Bench, load: Load) -> tuple[float, float]:
    """Return the CPU (us) of a heartbeat over TLS on groupmock and on the echo."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-tls-") as name:
        folder = Path(name)
        with product(bench, folder, port) as server:
            group = join(server.endpoint, "bench", load.connections)
            write_payloads([group], folder / "heartbeats.hex")
            cpu_us(bench, server, port, load, folder)  # This warms the server.
            ours = cpu_us(bench, server, port, load, folder)
            group.close()
        command = [sys.executable, "-m", "benchmarks.peers.tls_echo", str(folder / "server.pem"), str(folder / "server-key.pem")]
        with servers.started(command, bench.cores) as server:
            cpu_us(bench, server, server.port, load, folder)
            return ours, cpu_us(bench, server, server.port, load, folder)


def seconds_to_ready(bench: Bench, sources: Path) -> float:
    """Return the CPU seconds from exec of a build's `serve` to its ready line."""
    code = f"import sys; sys.path[:0] = [{str(sources / 'broker')!r}, {str(sources / 'codec')!r}]; {READY_AND_OUT}"
    with servers.started([sys.executable, "-c", code], bench.cores) as server:
        return cpu_seconds(server.pid)


def start(bench: Bench, before: Path) -> float:
    """Return the CPU of the earlier build's start divided by that of the present one, of both orders."""
    first, second = seconds_to_ready(bench, before), seconds_to_ready(bench, servers.ROOT)
    third, fourth = seconds_to_ready(bench, servers.ROOT), seconds_to_ready(bench, before)
    return (first + fourth) / (second + third)


def run(bench: Bench) -> None:
    """Fill the ratios of TLS, of the start and of the hot path."""
    for load in LOADS:
        for _ in range(bench.repeat):
            ours, echo = bench.quiet.take(partial(of_tls, bench, load))
            bench.results.add(f"secured.echo.{load}", echo / ours)
            bench.results.detail(f"{load} TLS, groupmock, server CPU us/heartbeat", ours)
            bench.results.detail(f"{load} TLS, asyncio echo, server CPU us/heartbeat", echo)
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-before-") as folder:
        before = earlier(Path(folder), BEFORE)
        start(bench, before)  # This writes the byte code of both builds.
        for _ in range(bench.repeat):
            bench.results.add("secured.start", bench.quiet.take(partial(start, bench, before)))
        for kind in KINDS:
            for _ in range(bench.repeat):
                bench.results.add(f"secured.{kind}", bench.quiet.take(partial(ratio, bench, before, kind)))
