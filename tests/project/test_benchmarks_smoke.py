"""The benchmarks measure what they say: targets and figures match, verdicts follow from the numbers, wrong answers are noticed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
if str(TREE) not in sys.path:
    sys.path.append(str(TREE))

from benchmarks import bench, generators, join, machine, results, servers, targets  # noqa: E402  # found through the line above

needs_compiler = pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="no C compiler: the load generators are in C")
CORES = machine.Cores.available()


@pytest.fixture
def payloads(tmp_path: Path) -> Path:
    target = tmp_path / "heartbeats.hex"
    target.write_text(join.heartbeat("smoke", 1, "smoke-member").hex() + "\n")
    return target


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GROUPMOCK_BENCH_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


def test_every_target_is_filled_by_exactly_one_figure() -> None:
    filled = Counter(key for figure in bench.available().values() for key in figure.KEYS)
    assert filled == Counter(targets.TARGETS.keys())


@pytest.mark.parametrize(
    ("key", "measured", "verdict"),
    [
        ("heartbeats.echo.100x1", 0.95, targets.Verdict.MOONSHOT),
        ("heartbeats.echo.100x1", 0.65, targets.Verdict.FLOOR),
        ("heartbeats.echo.100x1", 0.64, targets.Verdict.MISSED),
        ("memory.member", 3.5, targets.Verdict.MOONSHOT),
        ("memory.member", 3.6, targets.Verdict.FLOOR),
        ("memory.member", 6.1, targets.Verdict.MISSED),
    ],
)
def test_a_verdict_knows_which_way_is_better(key: str, measured: float, verdict: targets.Verdict) -> None:
    assert targets.TARGETS[key].verdict(measured) is verdict


def test_the_median_counts_and_a_missing_figure_says_why() -> None:
    told = results.Results()
    for value in (0.1, 0.7, 0.8):
        told.add("heartbeats.echo.100x1", value)
    told.missing(["storm.cpu"], "no gcc")
    drawn = results.table(told)
    assert "| 0.7 " in drawn and "0.1 .. 0.8" in drawn and "not measured: no gcc" in drawn
    assert told.worst() is targets.Verdict.UNKNOWN


def test_one_missed_floor_decides() -> None:
    told = results.Results()
    told.add("heartbeats.echo.100x1", 0.1)
    told.add("memory.member", 1.0)
    assert told.worst() is targets.Verdict.MISSED


def test_foreign_cpu_is_what_we_did_not_use() -> None:
    watch = machine.Foreign()
    sum(range(3_000_000))
    busy = subprocess.Popen([sys.executable, "-c", "sum(range(20_000_000))"])
    busy.wait()
    own = machine._own_seconds() - watch._start[2]
    assert own > 0.1, "work of ours and of our children is counted as ours"


def test_cpu_seconds_are_finer_than_a_tick() -> None:
    before = machine.cpu_seconds(os.getpid())
    sum(range(200_000))
    used = machine.cpu_seconds(os.getpid()) - before
    assert 0 < used < 1


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
    """5, 80 and 5 ms of CPU between writes: the 80 are the longest stretch, and the three are not added up."""
    server = subprocess.Popen([sys.executable, "-c", BURSTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    command = [sys.executable, "-m", "benchmarks.workers.stretch", str(server.pid)]
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


def test_without_a_compiler_the_message_names_it(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(own_cache))
    with pytest.raises(generators.Missing, match="no gcc"):
        generators.compiled("kload")


@needs_compiler
def test_a_generator_is_compiled_once(own_cache: Path) -> None:
    first = generators.compiled("kload")
    written = first.stat().st_mtime_ns
    assert generators.compiled("kload") == first and first.stat().st_mtime_ns == written


@needs_compiler
def test_the_generator_and_the_echo_agree(payloads: Path) -> None:
    with servers.echo(CORES) as server:
        rate = generators.rate_of(server, generators.Cell(2, 3), payloads, CORES, 0.05)
    assert rate.per_second > 0 and rate.cpu_us > 0


@needs_compiler
def test_a_wrong_answer_stops_the_measurement(payloads: Path) -> None:
    with servers.echo(CORES) as server, pytest.raises(generators.Failed, match=r'"bad_bytes":[1-9]'):
        generators.rate_of(server, generators.Cell(1, 1), payloads, CORES, 0.05, expect="4:ff")


@needs_compiler
def test_joined_members_are_known_to_the_server(tmp_path: Path) -> None:
    """Heartbeats of members that joined are answered with error 0, which kload checks; a stranger's are not."""
    with servers.groupmock(CORES, "--set", "group.initial.rebalance.delay.ms=500") as server:
        group = join.join(server.endpoint, "smoke", 3)
        good = join.write_payloads([group], tmp_path / "good.hex")
        assert generators.rate_of(server, generators.Cell(3, 2), good, CORES, 0.05).per_second > 0
        stranger = tmp_path / "stranger.hex"
        stranger.write_text(join.heartbeat("smoke", group.members[0].generation, "nobody").hex() + "\n")
        with pytest.raises(generators.Failed, match=r'"bad_bytes":[1-9]'):
            generators.rate_of(server, generators.Cell(1, 1), stranger, CORES, 0.05)
        group.close()


def test_the_command_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    target = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "codec", "--json", str(target)]
    done = subprocess.run(command, cwd=TREE, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert "| codec, JoinGroup response v9" in done.stdout
    rows = json.loads(target.read_text())["rows"]
    assert {key: len(row["values"]) for key, row in rows.items()} == dict.fromkeys(rows, 1) and len(rows) == 4
