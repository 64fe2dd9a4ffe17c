"""The servers that the probe judges, and how each is started."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from groupmock_clients.probe.language.exchange import BASE_SETTINGS, RELEASES
from tools.runs import ROOT

PROFILE = f"kafka-{RELEASES[0]}"


@dataclass(frozen=True)
class Peer:
    """Another server that the probe judges.

    `command` starts it and prints one JSON line with its bootstrap address. `settings` are those that it has and does not tell. `at_most`
    limits versions if a server advertises more than it can read. `release` is the one that it is judged as.
    """

    title: str
    command: Callable[[], list[str]]
    settings: Mapping[str, str]
    at_most: Mapping[str, int] = field(default_factory=dict)
    release: str = RELEASES[0]


def _kfake() -> list[str]:
    binary = Path(tempfile.gettempdir()) / "groupmock-kfake"
    subprocess.run(["go", "build", "-o", str(binary), "."], cwd=ROOT / "benchmarks" / "kfake", check=True)
    return [str(binary)]


def _groupmock(profile: str) -> list[str]:
    sets = [word for name, value in BASE_SETTINGS.items() for word in ("--set", f"{name}={value}")]
    return [sys.executable, "-m", "groupmock", "serve", "--port", "0", "--log", "off", "--profile", profile, *sets]


PEERS = {
    "librdkafka": Peer("librdkafka's mock cluster", lambda: [sys.executable, "-m", "benchmarks.peers.cmock", "400"], BASE_SETTINGS),
    "librdkafka-below-flexible": Peer(
        "librdkafka's mock cluster, versions before the flexible ones alone",
        lambda: [sys.executable, "-m", "benchmarks.peers.cmock", "400"],
        BASE_SETTINGS,
        {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "OffsetCommit": 7, "OffsetFetch": 5, "FindCoordinator": 2},
    ),
    "kfake": Peer("kfake (franz-go)", _kfake, {}),
    "groupmock": Peer(f"groupmock, profile {PROFILE}", partial(_groupmock, PROFILE), BASE_SETTINGS),
    "groupmock-4.3": Peer("groupmock, profile kafka-4.3", partial(_groupmock, "kafka-4.3"), BASE_SETTINGS, release="4.3"),
}
KAFKA = "apache-kafka-"
"""The prefix of reports about Apache Kafka itself, which are taken with `groupmock probe --report json` and stored by `keep`."""


@contextmanager
def running(command: Sequence[str]) -> Iterator[tuple[str, int, subprocess.Popen[bytes]]]:
    """Start a server, and yield its host, port and process."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            host, _, port = json.loads(process.stdout.readline())["bootstrap"].split(",")[0].rpartition(":")
            yield host, int(port), process
        finally:
            process.kill()
