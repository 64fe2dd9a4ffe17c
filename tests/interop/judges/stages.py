"""The two brokers that are judged: Apache Kafka itself, by the shared oracle, and groupmock."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
READY_SECONDS = 90.0  # a busy machine
KAFKA = "4.3.0"
NEWEST = "4.4.0"  # of the client matrix; the records of suites and administrators are of KAFKA
# The same on both: a quick first round, and sessions and transactions short enough that a crash does not make a check long.
SETTINGS = {"group.initial.rebalance.delay.ms": "300", "group.min.session.timeout.ms": "1000",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
# The same for groups of the consumer protocol, whose members have no say in it.
CONSUMERS = {"group.consumer.session.timeout.ms": "4000", "group.consumer.heartbeat.interval.ms": "300"}
# The same for groups of the streams protocol.
STREAMS = {"group.streams.session.timeout.ms": "4000", "group.streams.heartbeat.interval.ms": "300",
           "group.streams.initial.rebalance.delay.ms": "300", "group.streams.assignment.interval.ms": "0"}
# Kafka alone has floors below which it does not start with those of groups of the consumer and the streams protocol.
FLOORS = {f"group.{protocol}.min.{name}": value for protocol in ("consumer", "streams")
          for name, value in (("session.timeout.ms", "1000"), ("heartbeat.interval.ms", "100"))}


class NotStarted(Exception):
    """A broker did not come up."""


def interpreter() -> str:
    """The Python that has groupmock: this one, else that of the project's own virtual environment."""
    own = ROOT / ".venv" / "bin" / "python"
    return sys.executable if importlib.util.find_spec("groupmock") is not None or not own.exists() else str(own)


@contextlib.contextmanager
def kafka(nodes: int = 1, wanted: dict[str, str] | None = None, release: str = KAFKA) -> Iterator[str]:
    """Apache Kafka, with `SETTINGS` or those that are wanted; yields its bootstrap address."""
    sys.path.append(str(ROOT))  # a script has its own folder there, not the one from which it is called
    from tools import oracle

    if not oracle.ORACLE.is_file():
        raise NotStarted(f"there is no {oracle.ORACLE} (GROUPMOCK_SHARED says where the shared folder is)")
    settings = wanted or SETTINGS
    with contextlib.ExitStack() as ends:
        try:
            floors = FLOORS if CONSUMERS.keys() & settings.keys() else {}
            bootstrap = ends.enter_context(oracle.kafka(release, settings | floors, nodes))
        except AssertionError as refused:
            raise NotStarted(str(refused)) from None
        yield bootstrap


@contextlib.contextmanager
def groupmock(profile: str, nodes: int = 1, settings: dict[str, str] | None = None) -> Iterator[str]:
    """A groupmock of its own; yields its bootstrap address and says so if it does not end cleanly."""
    words = [word for key, value in (settings or {}).items() for word in ("--set", f"{key}={value}")]
    command = [interpreter(), "-m", "groupmock", "serve", "--port", "0", "--log", "off", "--profile", profile, "--nodes", str(nodes),
               *words]
    if journal := os.environ.get("GROUPMOCK_INTEROP_JOURNAL"):
        command += ["--journal", journal]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        yield bootstrap_of(server)
    finally:
        server.terminate()
        try:
            code = server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            code = server.wait()
        if server.stdout is not None:
            server.stdout.close()
        if code:
            print(f"groupmock ended with status {code} on SIGTERM", file=sys.stderr)


def bootstrap_of(server: subprocess.Popen[str]) -> str:
    """The address in the ready line."""
    assert server.stdout is not None
    if not select.select([server.stdout], [], [], READY_SECONDS)[0]:
        raise NotStarted(f"groupmock printed no ready line within {READY_SECONDS:.0f} s")
    line = server.stdout.readline()
    if not line:
        raise NotStarted(f"groupmock ended with status {server.wait()} before it was ready")
    return str(json.loads(line)["bootstrap"])
