"""Measures Spark over journals: the waits of users, the growth of cost with rows, many small runs, and DuckDB on the same query.

Sizes are 10^5 and 10^6 rows, with --large also 10^7 (2,000 journals of 5,000 rows: 4.5 GB of JSON). Every job is the command that a user
types, on all cores, in a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from .. import journals, machine, servers, spark_events
from ..bench import Bench
from ..generators import Failed, Missing
from ..targets import TARGETS

KEYS = tuple(key for key in TARGETS if key.startswith("pipeline."))
ROWS_PER_FILE = 5_000
FILES = {100_000: 20, 1_000_000: 200, 10_000_000: 2_000}
QUICK = {20_000: 4}
JOBS = ("ingest", "rebalances")
COMPARED = 1_000_000
LOOK_S = 0.5
HELD_S = 2.0
"""Seconds between two checks of the memory that the processes hold. A check costs them 30 ms or more; rare checks suffice, because Java
keeps what it has taken."""
LARGE = 10_000_000
AWAITED = (20, 30)
"""The number of journals when the job `all` starts for the first time, and the number when it runs again."""
AWAITED_QUICK = (2, 3)
FOLLOWED = "all, ten journals more while it follows: s"
STAYING = "all, ten journals more on a Spark that stays: s"
CONNECT = "grpc"
"""The module that a job needs to use a Spark server, which groupmock[pipeline-connect] installs."""
SMALL_RUNS = {"quick": 40, "": 2_000, "large": 20_000}
"""Maps the size of the benchmark to the number of runs with one rebalance each."""
WORKERS = Path(__file__).parent.parent / "workers"


@dataclass
class JobRun:
    """The measurements of one job at one size."""

    rows: int
    seconds: float
    memory_mb: float
    """The most memory that the job's processes held together (PSS): Java, Python, Python workers."""
    readings: spark_events.TaskSums = field(default_factory=spark_events.TaskSums)

    @property
    def rate(self) -> float:
        """Rows per second and core, with the time of the start included."""
        return self.rows / self.seconds / (os.cpu_count() or 1)


def waited(words: list[str], about: str) -> tuple[float, float]:
    """Run a command and return its seconds and the most MB that its processes held together. Raises Failed if it fails."""
    begun, peak = time.monotonic(), 0.0
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=said, env=servers.environment())
        while process.poll() is None:
            peak = max(peak, machine.held_mb(process.pid))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(HELD_S)
        seconds = time.monotonic() - begun
        if process.returncode:
            said.seek(0)
            raise Failed(f"{about} exited {process.returncode}: {said.read().strip()[-800:]}")
    return seconds, peak


def job(name: str, rows: int, source: Path, lake: Path) -> JobRun:
    """Run the command of a job, and read the event log that Spark has written about the job. Raises Failed if it fails."""
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-events-") as folder:
        settings = spark_events.settings(Path(folder)) | {"spark.ui.showConsoleProgress": "false"}
        command = ["-m", "groupmock_pipeline", name, str(source), str(lake), *spark_events.flags(settings)]
        seconds, peak = waited(command, f"pipeline {name} at {rows:,} rows")
        return JobRun(rows, seconds, peak, spark_events.read(Path(folder)))


def sizes(bench: Bench) -> dict[int, int]:
    """Return the number of journal files for each number of rows."""
    if bench.quick:
        return QUICK
    return FILES if bench.large else {rows: files for rows, files in FILES.items() if rows <= COMPARED}


def fit(runs: list[JobRun]) -> tuple[float, float]:
    """Return the seconds before the first row and the microseconds per row, fitted by least squares, weighted so that each size counts
    alike."""
    weights = [1 / run.rows for run in runs]
    total = sum(weights)
    mean_n = sum(weight * run.rows for weight, run in zip(weights, runs, strict=True)) / total
    mean_t = sum(weight * run.seconds for weight, run in zip(weights, runs, strict=True)) / total
    above = sum(weight * (run.rows - mean_n) * (run.seconds - mean_t) for weight, run in zip(weights, runs, strict=True))
    below = sum(weight * (run.rows - mean_n) ** 2 for weight, run in zip(weights, runs, strict=True))
    slope = above / below if below else float("nan")
    return mean_t - slope * mean_n, slope * 1e6


def growth(runs: list[JobRun]) -> float:
    """Return the exponent with which the cost grows between the two largest sizes, without the fixed cost: 1 is linear."""
    fixed = max(0.0, fit(runs)[0])
    small, large = runs[-2:]
    return math.log((large.seconds - fixed) / (small.seconds - fixed)) / math.log(large.rows / small.rows)


def script_figures(worker: str, *words: Path) -> dict[str, float]:
    """Run a script of `workers` and return its lines of a name and a figure. Raises Failed if it fails."""
    command = [sys.executable, str(WORKERS / worker), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=servers.environment(), check=False)
    if done.returncode:
        raise Failed(f"{worker} exited {done.returncode}: {done.stderr.strip()[-800:]}")
    return {name: float(figure) for name, figure in (line.split() for line in done.stdout.splitlines())}


def run(bench: Bench) -> None:
    """Run every job once at every size, the engines at 10^6 rows, and `all` as often as --repeat says."""
    for module in ("pyspark", "duckdb"):
        if importlib.util.find_spec(module) is None:
            raise Missing(f"{module} is not importable: pip install '.[pipeline]' --group dev")
    for _ in range(bench.repeat):
        with tempfile.TemporaryDirectory(prefix="groupmock-bench-all-") as folder:
            _awaited(bench, Path(folder))
    runs: dict[str, list[JobRun]] = {name: [] for name in JOBS}
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-lake-") as folder:
        for rows, files in sizes(bench).items():
            source, lake = Path(folder) / f"journals-{rows}", Path(folder) / f"lake-{rows}"
            journals.write(source, files, ROWS_PER_FILE)
            for name in JOBS:
                runs[name].append(job(name, rows, source if name == "ingest" else lake, lake))
                _tell(bench, name, runs[name][-1])
            if rows >= COMPARED or bench.quick:
                _compare(bench, rows, script_figures("engines.py", lake, source))
    for name, found in runs.items():
        _growth(bench, name, found)
        _large(bench, name, found[-1])
    _small_runs(bench)


def _awaited(bench: Bench, folder: Path) -> None:
    """Measure how long a user waits for the job `all`, and how long an empty session takes."""
    source, lake = folder / "journals", folder / "lake"
    first, last = AWAITED_QUICK if bench.quick else AWAITED
    for key, before, number in (("cold", 0, first), ("more", first, last)):
        journals.write(source, number, ROWS_PER_FILE, first=before)
        seconds, peak = waited(_all(source, lake), f"pipeline all, {key}")
        bench.results.add(f"pipeline.all.{key}", seconds)
        bench.results.detail(f"all, {key}: MB held by all its processes", peak)
    bench.results.detail(FOLLOWED, _followed(folder, first, last))
    if importlib.util.find_spec(CONNECT) is None:
        bench.results.note(f"not measured, without groupmock[pipeline-connect]: {STAYING}")
    else:
        bench.results.detail(STAYING, _on_staying(folder / "staying", first, last))
    bench.results.detail("an empty session, started and stopped: s", waited([str(WORKERS / "empty_session.py")], "an empty session")[0])


def _all(source: Path, lake: Path, *words: str) -> list[str]:
    return ["-m", "groupmock_pipeline", "all", str(source), str(lake), "--report", f"{lake}-report", *words]


def _on_staying(folder: Path, first: int, last: int) -> float:
    """Return the seconds of the job `all` with some more journals, on a Spark server that has run it once before. Raises Failed if the
    server fails."""
    source, lake = folder / "journals", folder / "lake"
    command = [sys.executable, "-m", "groupmock_pipeline", "spark", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=servers.environment()) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise Failed("pipeline spark ended before it was there")
            seconds = 0.0
            for before, number in ((0, first), (first, last)):
                journals.write(source, number, ROWS_PER_FILE, first=before)
                seconds, _ = waited(_all(source, lake, "--remote", url), "pipeline all --remote")
            return seconds
        finally:
            process.send_signal(signal.SIGINT)


def _followed(folder: Path, first: int, last: int) -> float:
    """Return the seconds from the arrival of more journals until the report includes them, in a session that follows the folder. Raises
    Failed if it ends."""
    source, ready = folder / "followed", folder / "ready"
    journals.write(source, first, ROWS_PER_FILE)
    journals.write(ready, last, ROWS_PER_FILE, first=first)
    words = ["all", str(source), str(folder / "followed-lake"), "--report", str(folder / "followed-report"), "--follow", f"{LOOK_S}"]
    command = [sys.executable, "-m", "groupmock_pipeline", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=servers.environment()) as process:
        try:
            _reported(process)
            ready.rename(source / "more")  # This rename delivers all journals at once.
            begun = time.monotonic()
            _reported(process)
            return time.monotonic() - begun
        finally:
            process.send_signal(signal.SIGINT)


def _reported(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("report: "):
            return
    raise Failed(f"pipeline all --follow ended: {''.join(said)[-800:]}")


def _small_runs(bench: Bench) -> None:
    """Measure lakes of runs with one rebalance each, ingested at once and a few at a time, before and after the job `compact`."""
    number = SMALL_RUNS["quick" if bench.quick else "large" if bench.large else ""]
    with tempfile.TemporaryDirectory(prefix="groupmock-bench-runs-") as folder:
        source, lake = Path(folder) / "journals", Path(folder) / "lake"
        size = journals.write(source, number, journals.ONE_REBALANCE, members=2)
        bench.results.detail(f"{number:,} runs of one rebalance: MB of journals", size / 1e6)
        for name, figure in script_figures("small_runs.py", source, lake).items():
            bench.results.detail(f"{number:,} runs of one rebalance, {name.replace('_', ' ')}", figure)


def _tell(bench: Bench, name: str, run: JobRun) -> None:
    readings, size = run.readings, f"{name}, {run.rows:,} rows"
    bench.results.detail(f"{size}: s", run.seconds)
    bench.results.detail(f"{size}: rows/s/core", run.rate)
    bench.results.detail(f"{size}: CPU s of tasks", readings.cpu_s)
    bench.results.detail(f"{size}: MB shuffled", readings.shuffle_written / 1e6)
    bench.results.detail(f"{size}: MB spilled", readings.spilled / 1e6)
    bench.results.detail(f"{size}: MB sent to the driver", readings.results / 1e6)
    bench.results.detail(f"{size}: kB of the largest result", readings.largest_result / 1e3)
    bench.results.detail(f"{size}: MB held by all its processes", run.memory_mb)
    bench.results.note(f"{name}: Python workers for {', '.join(readings.python) or 'nothing'}")


def _growth(bench: Bench, name: str, runs: list[JobRun]) -> None:
    if len(runs) < 2:
        bench.results.missing([f"pipeline.{name}.growth"], "needs two sizes: not with --quick")
        return
    fixed, each = fit(runs)
    bench.results.detail(f"{name}: s before the first row (fit)", fixed)
    bench.results.detail(f"{name}: us per row (fit)", each)
    bench.results.add(f"pipeline.{name}.growth", growth(runs))


def _large(bench: Bench, name: str, run: JobRun) -> None:
    if run.rows == LARGE:
        bench.results.add(f"pipeline.{name}.large", run.seconds)
    else:
        bench.results.missing([f"pipeline.{name}.large"], "with --large only")


def _compare(bench: Bench, rows: int, seconds: dict[str, float]) -> None:
    size = "" if rows <= COMPARED else f" at {rows:,} rows"
    for name, value in seconds.items():
        bench.results.detail(f"{name.replace('_', ' ')}{size}, s", value)
    if not size:
        bench.results.add("pipeline.duckdb.query", seconds["spark_query"] / seconds["duckdb_query"])
