"""Generators, observers and servers of the benchmarks work for a short time, which shows that the figures measure what they promise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import generators, join, machine, servers

TREE = Path(__file__).resolve().parents[3]

CORES = machine.Cores.available()


@pytest.fixture
def payloads(tmp_path: Path) -> Path:
    target = tmp_path / "heartbeats.hex"
    target.write_text(join.heartbeat("smoke", 1, "smoke-member").hex() + "\n")
    return target


def test_foreign_cpu_is_what_we_did_not_use() -> None:
    watch = machine.Foreign()
    sum(range(3_000_000))
    busy = subprocess.Popen([sys.executable, "-c", "sum(range(20_000_000))"])
    busy.wait()
    own = machine._own_seconds() - watch._start[2]
    assert own > 0.1, "work of ours and of our children is counted as ours"


BURSTS = """
import os, sys, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
sys.stdin.readline()
for seconds in (0.005, 0.080, 0.005):
    burn(seconds)
    os.write(1, b".")
sys.stdin.readline()
"""


def test_a_loop_that_stands_still_is_seen_from_outside() -> None:
    """The loop uses 5, 80 and 5 ms of CPU between writes, so the longest stretch is 80 ms, and the three are not added up."""
    server = subprocess.Popen([sys.executable, "-c", BURSTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    command = [sys.executable, "-m", "benchmarks.workers.pause", str(server.pid)]
    watcher = subprocess.Popen(command, cwd=TREE, stdout=subprocess.PIPE)
    assert server.stdin and server.stdout and watcher.stdout
    watcher.stdout.readline()
    server.stdin.write(b"go\n")
    server.stdin.flush()
    assert server.stdout.read(3) == b"..."
    watcher.terminate()
    longest = json.loads(watcher.communicate(timeout=30)[0])["longest_ms"]
    server.communicate(b"end\n", timeout=30)
    assert 70 < longest < 88


def test_the_generator_and_the_echo_agree(payloads: Path) -> None:
    with servers.echo(CORES) as server:
        rate = generators.rate_of(server, generators.Load(2, 3), payloads, CORES, 0.05)
    assert rate.per_second > 0 and rate.cpu_us > 0


def test_a_wrong_answer_stops_the_measurement(payloads: Path) -> None:
    with servers.echo(CORES) as server, pytest.raises(generators.Failed, match=r'"bad_bytes":[1-9]'):
        generators.rate_of(server, generators.Load(1, 1), payloads, CORES, 0.05, expect="4:ff")


def test_joined_members_are_known_to_the_server(tmp_path: Path) -> None:
    """kload checks that heartbeats of joined members get no error, and this test checks that a heartbeat of an unknown member gets one."""
    with servers.groupmock(CORES, "--set", "group.initial.rebalance.delay.ms=500") as server:
        group = join.join(server.endpoint, "smoke", 3)
        good = join.write_payloads([group], tmp_path / "good.hex")
        assert generators.rate_of(server, generators.Load(3, 2), good, CORES, 0.05).per_second > 0
        stranger = tmp_path / "stranger.hex"
        stranger.write_text(join.heartbeat("smoke", group.members[0].generation, "nobody").hex() + "\n")
        with pytest.raises(generators.Failed, match=r'"bad_bytes":[1-9]'):
            generators.rate_of(server, generators.Load(1, 1), stranger, CORES, 0.05)
        group.close()


def test_the_command_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    target = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "codec", "--json", str(target)]
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert "| codec, JoinGroup response v9" in done.stdout
    rows = json.loads(target.read_text())["rows"]
    assert {key: len(row["values"]) for key, row in rows.items()} == dict.fromkeys(rows, 1) and len(rows) == 4
