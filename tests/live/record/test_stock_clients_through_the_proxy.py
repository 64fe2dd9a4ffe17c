"""Stock clients run unchanged through `groupmock record` against Apache Kafka, and the recordings are consistent.

It needs java and the shared folder. The drivers in other languages need their tools too, and are left out without them. The clients are
judged by the tests and drivers that judge them on groupmock and on Kafka itself.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from recording_proxy import proxy
from waiting import until

from groupmock.record.dialogue import STRAY_ANSWER, UNREAD_ANSWER, UNSEEN_ANSWER
from groupmock.rig.wire import Client
from groupmock.rounds import rebalances
from groupmock_codec.error_codes import UNKNOWN_MEMBER_ID
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from tools.oracle import kafka

ROOT = Path(__file__).resolve().parents[3]
CLIENTS = ["test_client_nodes.py", "test_client_rebalances.py", "test_client_offsets.py", "test_client_static.py"]
DRIVERS = {"java-4.3.0": ("java", "mvn"), "kafkajs": ("node", "npm"), "franz-go": ("go",)}
SETTINGS = {"group.initial.rebalance.delay.ms": 200, "group.min.session.timeout.ms": 100}
JsonRow = dict[str, Any]


@contextmanager
def warm_kafka(nodes: int) -> Iterator[str]:
    with kafka(settings=SETTINGS, nodes=nodes) as bootstrap:
        warmed(bootstrap)
        yield bootstrap


def warmed(bootstrap: str) -> None:
    """Wait until every coordinator has loaded its groups, because KafkaJS gives up while one is loading, with or without a proxy."""
    host, _, port = bootstrap.split(",")[0].rpartition(":")
    for group in (f"warm-{number}" for number in range(40)):
        until(f"the coordinator of {group}", lambda group=group: loaded((host, int(port)), group), lambda: "not there")


def loaded(address: tuple[str, int], group: str) -> bool:
    with Client(*address) as client:
        found = client.ask(10, 4, FindCoordinatorRequest(coordinator_keys=[group])).coordinators[0]
    if found.error_code:
        return False
    with Client(found.host, found.port) as client:
        return client.ask(12, 4, HeartbeatRequest(group_id=group)).error_code == UNKNOWN_MEMBER_ID


def run(command: list[str], bootstrap: str) -> None:
    there = {**os.environ, "GROUPMOCK_TEST_BOOTSTRAP": bootstrap, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=there, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def judge(journal: Path) -> Counter[str | None]:
    """Check that the journal is complete and that every rebalance that ended Stable has assignments. Return the number of each kind of
    end."""
    rows: list[JsonRow] = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    notes = Counter(row["what"] for row in rows if row["kind"] == "note")
    assert not notes.keys() & {UNREAD_ANSWER, STRAY_ANSWER, UNSEEN_ANSWER}, notes
    assert [row["note"] for row in rows if row.get("note")] == []
    found = list(rebalances(rows))
    assert [each for each in found if each.ended_in == "Stable" and each.plan is None] == []
    return Counter(each.ended_in for each in found)


@pytest.mark.parametrize("nodes", [1, 3])
def test_python_clients_and_librdkafka(nodes: int, tmp_path: Path) -> None:
    """The tests of tests/live/clients run with the proxy as their cluster."""
    tests = [str(ROOT / "tests" / "live" / "clients" / each) for each in CLIENTS]
    with warm_kafka(nodes) as upstream, proxy(upstream, tmp_path / "journal.jsonl") as bootstrap:
        run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], bootstrap)
    endings = judge(tmp_path / "journal.jsonl")
    assert endings["Stable"] > 40 and endings["Empty"] > 20


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("nodes", [1, 3])
def test_clients_in_other_languages(nodes: int, driver: str, tmp_path: Path) -> None:
    """The client programs of tests/interop/run use the proxy as their cluster."""
    missing = [tool for tool in DRIVERS[driver] if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not on the PATH: {', '.join(missing)}")
    with warm_kafka(nodes) as upstream, proxy(upstream, tmp_path / "journal.jsonl") as bootstrap:
        run([sys.executable, "tests/interop/run", "--bootstrap", bootstrap.split(",")[0], "--only", driver], bootstrap)
    assert judge(tmp_path / "journal.jsonl")["Stable"] > 0
