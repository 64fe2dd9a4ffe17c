"""The benchmarks measure the intended figures, their verdicts follow from the numbers, and a wrong answer is noticed."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import bench, generators, machine, measurements, targets

TREE = Path(__file__).resolve().parents[2]

needs_compiler = pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="no C compiler: the load generators are in C")
CORES = machine.Cores.available()


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
    collected = measurements.Measurements()
    for value in (0.1, 0.7, 0.8):
        collected.add("heartbeats.echo.100x1", value)
    collected.missing(["storm.cpu"], "no gcc")
    drawn = measurements.table(collected)
    assert "| 0.7 " in drawn and "0.1 .. 0.8" in drawn and "not measured: no gcc" in drawn
    assert collected.worst() is targets.Verdict.UNKNOWN


def test_one_missed_floor_decides() -> None:
    collected = measurements.Measurements()
    collected.add("heartbeats.echo.100x1", 0.1)
    collected.add("memory.member", 1.0)
    assert collected.worst() is targets.Verdict.MISSED


def test_cpu_seconds_are_finer_than_a_tick() -> None:
    before = machine.cpu_seconds(os.getpid())
    sum(range(200_000))
    used = machine.cpu_seconds(os.getpid()) - before
    assert 0 < used < 1


def test_without_a_compiler_the_message_names_it(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(own_cache))
    with pytest.raises(generators.Missing, match="no gcc"):
        generators.compiled("kload")


@needs_compiler
def test_a_generator_is_compiled_once(own_cache: Path) -> None:
    first = generators.compiled("kload")
    written = first.stat().st_mtime_ns
    assert generators.compiled("kload") == first and first.stat().st_mtime_ns == written
