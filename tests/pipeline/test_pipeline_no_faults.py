"""A lake without injected faults gets an empty table with all columns and a report that says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rig_journal import write_journal

from groupmock_pipeline import jobs, tables
from groupmock_pipeline.command import parse
from groupmock_pipeline.jobs.faults import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(spark: SparkSession, job: str, *words: Path) -> None:
    jobs.job(job).run(spark, parse(job, [str(word) for word in words], "test"))


def test_a_lake_without_faults_has_an_empty_table_and_a_report_that_says_so(spark: SparkSession, tmp_path: Path) -> None:
    lake, out = tmp_path / "lake", tmp_path / "out"
    run(spark, "ingest", write_journal(tmp_path / "run.jsonl"), lake)
    for _ in range(2):  # The second run overwrites the tables of the first run.
        run(spark, "faults", lake, lake)
        table = tables.read(spark, str(lake), "faults")
        assert (sorted(table.columns), table.count()) == (sorted(COLUMNS), 0)
    run(spark, "report", lake, out)
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "<p>No faults: none struck in these runs.</p>" in text and "UNABLE_TO_INFER_SCHEMA" not in text
