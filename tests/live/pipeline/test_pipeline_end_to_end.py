"""Stock clients, journals of `groupmock run`, every pipeline job and the report work together from end to end."""

from __future__ import annotations

import gzip
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks import spark_events
from spark_quick import SETTINGS as QUICK

from groupmock_pipeline import command, jobs, tables
from groupmock_pipeline.settings import LITTLE, NEEDED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 300


def groupmock(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "groupmock", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def lake(journals: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, spark_events.TaskSums]:
    """Compute a lake with the command line and Spark's event log."""
    folder, events = tmp_path_factory.mktemp("lake") / "lake", tmp_path_factory.mktemp("events")
    words = spark_events.flags(QUICK | spark_events.settings(events))
    done = groupmock("pipeline", "ingest", str(journals), str(folder), "--master", "local[2]", *words)
    assert "4 journals read" in done.stderr
    return folder, spark_events.read(events)


def rebalances_of(journal: Path) -> int:
    """Count without Spark how often a group left Stable or Empty to prepare a rebalance."""
    text = gzip.decompress(journal.read_bytes()).decode() if journal.suffix == ".gz" else journal.read_text()
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()[1:]]
    moved = [row for row in rows if row["kind"] == "moved"]
    return sum(row["after"] == "PreparingRebalance" and row["before"] != "CompletingRebalance" for row in moved)


def test_every_job_of_real_runs(
    journals: Path, lake: tuple[Path, spark_events.TaskSums], spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, told = lake
    assert told.python == []
    assert told.failed == 0

    def run(job: str, *words: str) -> str:
        spark.conf.set(tables.EXPLAIN, "true")
        try:
            jobs.job(job).run(spark, command.parse(job, words, job))
        finally:
            spark.conf.unset(tables.EXPLAIN)
        return capsys.readouterr().out

    here = str(folder)
    plans = [run(job, here, here) for job in ("rebalances", "heartbeats", "faults")]
    plans.append(run("drift", here, here, "--before", "run:.*_v1-.*", "--after", "run:.*_v2-.*"))
    plans.append(run("compare", here, here, "--with", here))
    for plan in plans:
        assert "== Physical Plan ==" in plan
        assert not spark_events.PYTHON.findall(plan)

    def counted(table: str, *by: str) -> dict[str, int]:
        found = tables.read(spark, here, table).groupBy(*by).count().collect()
        return {row[0]: row["count"] for row in found}

    by_hand = {path.name.removesuffix(".gz"): rebalances_of(path) for path in journals.glob("*.jsonl*")}
    runs = {row.run: Path(row.file).name.removesuffix(".gz") for row in tables.read(spark, here, "runs").select("run", "file").collect()}
    assert {runs[run]: count for run, count in counted("rebalances", "run").items()} == by_hand
    assert min(by_hand.values()) >= 3
    assert set(counted("heartbeats", "library")) == {"unknown", "kafka-python"}, "aiokafka does not name itself"
    assert counted("faults", "rule") == {"told-to-join-again": 2}
    assert set(counted("drift", "verdict")) == {"too few runs"}, "one run on each side"
    assert counted("compare", "verdict")

    run("report", here, str(tmp_path))
    page = (tmp_path / "report.html").read_text()
    for word in ("unknown", "kafka-python", "told-to-join-again", "cooperative-sticky"):
        assert word in page
    assert list(tmp_path.glob("*.png"))


def test_bad_use_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for words, said in (
        (("nonsense", "a", "b"), "no job 'nonsense': there are "),
        (("rebalances", "a"), "the following arguments are required: OUT"),
        (("rebalances", str(tmp_path), str(tmp_path), "--set", "x"), "--set x: write KEY=VALUE"),
        (("rebalances", str(tmp_path), str(tmp_path), "--master", "local[1]"), "has no table 'rows': make it with"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "groupmock_pipeline", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_the_sessions_settings_are_sparks_own_names(spark: SparkSession) -> None:
    assert [name for name in NEEDED | LITTLE if name.startswith("spark.sql.") and not spark.conf.isModifiable(name)] == []


def test_a_spark_that_stays_says_where_it_is_and_ends_in_good_order() -> None:
    words = [sys.executable, "-m", "groupmock_pipeline", "spark", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline()
            assert re.fullmatch(r"sc://localhost:\d+\n", url)
            socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))).close()
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, said
            assert "spark: ended\n" in said
        finally:
            process.kill()
