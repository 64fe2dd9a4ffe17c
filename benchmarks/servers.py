"""Starts groupmock and its peers, each as a fresh process on the server core."""

from __future__ import annotations

import importlib.util
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .generators import Failed, Missing, RunningServer, cache
from .machine import Cores, cpu_seconds, pinned

ROOT = Path(__file__).parent.parent
KFAKE = Path(__file__).parent / "kfake"
READY_SECONDS = 20.0
CALM_SECONDS = 0.0003
CALM_WINDOW = 0.3
"""A server that imports modules in idle moments does so every 50 ms, but a busy machine may delay it."""


def groupmock_command(*flags: str) -> list[str]:
    """Return the command as a user types it: the console script beside this interpreter if it is installed, else the module."""
    script = Path(sys.executable).parent / "groupmock"
    front = [str(script)] if script.exists() else [sys.executable, "-m", "groupmock"]
    return [*front, "serve", "--port", "0", *flags]


def environment() -> dict[str, str]:
    """Return the environment of measured processes. They keep byte code as an installation does, but in the cache instead of the tree."""
    mine = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return mine | {"PYTHONPYCACHEPREFIX": str(cache() / "pycache")}


def product_missing() -> str | None:
    """Return the reason why groupmock cannot be measured here, or None."""
    found = importlib.util.find_spec("groupmock")
    if found is None:
        return "groupmock is not importable (pip install -e .)"
    return None


def _first_line(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    """Return the line with which a server announces itself. Raises Failed if it ends or stays silent instead."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    line, end = b"", time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, end - time.monotonic())):
                raise Failed(f"{process.args!r} said nothing for {seconds:.0f} s")
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                raise Failed(f"{process.args!r} ended with {process.wait()} before it was ready")
            line += chunk
    return line


def end(process: subprocess.Popen[bytes], patience: float = 10.0) -> None:
    """End a process that we started: SIGTERM first, SIGKILL if that does not suffice."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def started(command: Sequence[str], cores: Cores) -> Iterator[RunningServer]:
    """Start a server, read its ready line, and end it after the block. Shows its stderr if it fails to start."""
    with tempfile.TemporaryFile() as errors:
        with pinned(cores.server):
            process = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=ROOT, env=environment()
            )
        try:
            ready = json.loads(_first_line(process, READY_SECONDS))
            host, port = ready["bootstrap"].split(",")[0].rsplit(":", 1)
            yield RunningServer(host, int(port), process.pid)
        except Failed as failure:
            errors.seek(0)
            said = errors.read().decode(errors="replace")[-600:]
            raise Failed(f"{failure}; the server said: {said}" if said else str(failure)) from failure
        finally:
            end(process)


def calm(server: RunningServer, patience: float = 15.0) -> None:
    """Wait until a new server has finished what it does after its ready line, such as compiling codecs ahead of need."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        before = cpu_seconds(server.pid)
        time.sleep(CALM_WINDOW)
        if cpu_seconds(server.pid) - before < CALM_SECONDS:
            return


@contextmanager
def groupmock(cores: Cores, *flags: str) -> Iterator[RunningServer]:
    """Start groupmock without a log (`--log off`), with further flags of `serve`."""
    missing = product_missing()
    if missing:
        raise Missing(missing)
    with started(groupmock_command("--log", "off", *flags), cores) as server:
        yield server


@contextmanager
def echo(cores: Cores) -> Iterator[RunningServer]:
    """Start the uvloop echo, the upper limit for any server in Python."""
    with started([sys.executable, "-m", "benchmarks.peers.echo"], cores) as server:
        yield server


@contextmanager
def cmock(cores: Cores, delay_ms: int = 200) -> Iterator[RunningServer]:
    """Start librdkafka's mock cluster with that initial rebalance delay."""
    if importlib.util.find_spec("confluent_kafka") is None:
        raise Missing("confluent-kafka is not installed (pip install --group test)")
    with started([sys.executable, "-m", "benchmarks.peers.cmock", str(delay_ms)], cores) as server:
        yield server


def _kfake_binary() -> Path:
    """Build kfake once from benchmarks/kfake with the Go tool chain."""
    go = shutil.which("go")
    if go is None:
        raise Missing("no go on the PATH: kfake is written in Go")
    target = cache() / "kfake-peer"
    target.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([go, "build", "-o", str(target), "."], cwd=KFAKE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"go cannot build kfake here: {done.stderr[-300:]}")
    return target


@contextmanager
def kfake(cores: Cores) -> Iterator[RunningServer]:
    """Start franz-go's in-memory Kafka on one core."""
    with started([str(_kfake_binary())], cores) as server:
        yield server


def _oracle() -> Path:
    """Return the script that starts released Kafka brokers. It lies in the folder that this project's developers share."""
    shared = Path(os.environ.get("GROUPMOCK_SHARED", str(ROOT.parent / "shared")))
    script = shared / "oracle" / "kafka.py"
    if not script.exists():
        raise Missing("no oracle/kafka.py in ../shared (GROUPMOCK_SHARED says where else): Apache Kafka was not measured")
    if shutil.which("java") is None:
        raise Missing("no java on the PATH: Apache Kafka was not measured")
    return script


@contextmanager
def kafka(cores: Cores, *settings: str) -> Iterator[RunningServer]:
    """Start Apache Kafka with one node. Settings have the form KEY=VALUE."""
    script = _oracle()
    flags = [part for setting in ("group.initial.rebalance.delay.ms=200", *settings) for part in ("--set", setting)]
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-kafka-") as folder:
        command = [sys.executable, str(script), "start", *flags, "--dir", folder]
        with pinned(cores.server):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"Apache Kafka does not start here: {done.stderr[-300:]}")
        state = json.loads(done.stdout)
        host, port = state["bootstrap"].rsplit(":", 1)
        try:
            yield RunningServer(host, int(port), state["pids"][0], tuple(state["pids"]))
        finally:
            subprocess.run([sys.executable, str(script), "stop", folder], capture_output=True, check=False)
