"""Compiles the load generators, which are written in C, on first use. A cache folder keeps them under the digest of their source."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .machine import Cores, pinned

SOURCES = Path(__file__).parent / "load"
FLAGS = ("-O2", "-Wall", "-std=gnu11")
HEARTBEAT_OK = "4:0000000000000000"
"""The place and the content that kload expects in a Heartbeat v4 response: no tags in the header, throttle time 0, error 0, no tags."""


class Missing(Exception):
    """This machine lacks a tool or a peer. The text says which one and what to do."""


class Failed(Exception):
    """A measured program did not do its work: wrong answers, lost connections, out of time."""


def cache() -> Path:
    """Return the folder of compiled generators: GROUPMOCK_BENCH_CACHE, else the user's cache folder."""
    default = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "groupmock-bench"
    return Path(os.environ.get("GROUPMOCK_BENCH_CACHE", str(default))).expanduser()


def compiled(name: str) -> Path:
    """Return the generator's binary, compiled now unless this very source was compiled before."""
    source = SOURCES / f"{name}.c"
    target = cache() / f"{name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    if target.exists():
        return target
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise Missing(f"no gcc on the PATH: {name} is written in C (install gcc, or leave this figure out with --only)")
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(f".{os.getpid()}")
    done = subprocess.run([compiler, *FLAGS, "-o", str(fresh), str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{compiler} does not compile {source.name}: {done.stderr[-400:]}")
    fresh.replace(target)
    return target


def generate(
    name: str, arguments: Sequence[str], cores: Cores, seconds: float, reported: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Run a generator on the load core and return its JSON line. Raises Failed if a response was wrong or lost.

    `reported` is called between the report and the end of the process: with `kstorm -k` all connections are still open then.
    """
    command = [str(compiled(name)), *arguments]
    with pinned(cores.load):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline()
        if reported is not None and line:
            reported()
        rest, complaint = process.communicate()
    finally:
        watchdog.cancel()
    if process.returncode:
        why = f"did not end within {seconds:.0f} s" if process.returncode < 0 else f"exited {process.returncode}"
        raise Failed(f"{name} {why}: {(line + rest + complaint)[-400:]}")
    result: dict[str, Any] = json.loads(line)
    return result


@dataclass(frozen=True)
class RunningServer:
    """A running server: its address, and the process whose CPU and memory are measured."""

    host: str
    port: int
    pid: int
    others: tuple[int, ...] = field(default=())
    """Processes of this server that the benchmark did not start itself. The watch on foreign CPU must not count them as foreign."""

    @property
    def endpoint(self) -> tuple[str, int]:
        return self.host, self.port

    @property
    def bootstrap(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Load:
    """A shape of load: the number of connections, and the number of requests in flight on each."""

    connections: int
    depth: int

    def __str__(self) -> str:
        return f"{self.connections}x{self.depth}"


@dataclass(frozen=True)
class Rate:
    """Requests per second, and the server's CPU microseconds per request, which are steadier on a busy machine. Neither counts the warm-up,
    in which the clients connect and send their first request."""

    per_second: float
    cpu_us: float


def rate_of(server: RunningServer, load: Load, payloads: Path, cores: Cores, seconds: float, expect: str | None = HEARTBEAT_OK) -> Rate:
    """Measure the server's rate under this load and check every response.

    Two passes run against the same process: a short one warms the server and shows how many requests fill `seconds`.
    """
    fixed = ["-j", "-t", "60", "-c", str(load.connections), "-d", str(load.depth), "-f", str(payloads)]
    checks = ["-e", expect] if expect else []
    preamble = payloads.read_text().split("\n", 1)[0]

    def one(count: int, warm: int) -> Rate:
        counts = ["-p", preamble, "-n", str(count), "-w", str(warm), "-P", str(server.pid)]
        readings = generate("kload", [*fixed, *checks, *counts, server.host, str(server.port)], cores, 90)
        return Rate(float(readings["rps"]), float(readings["srv_us_per_req"]))

    guess = one(max(4000, 4 * load.connections), 1000).per_second
    return one(max(5000, int(guess * seconds)), max(1000, 2 * load.connections, int(guess * seconds * 0.2)))
