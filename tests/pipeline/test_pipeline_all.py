"""`all`: the same tables as the jobs one by one, of what is new only, and the report where it is asked for."""

from __future__ import annotations

import gzip
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from recorded_journals import FOLDER

from groupmock_pipeline import schema, tables
from groupmock_pipeline.jobs import all as everything
from groupmock_pipeline.jobs import faults, heartbeats, ingest, rebalances
from groupmock_pipeline.lake import sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("rows", "runs", "rebalances", "heartbeats", "faults")


def options(job: Any, source: Path, target: Path, *words: str) -> Namespace:
    parser = ArgumentParser()
    if hasattr(job, "add_arguments"):
        job.add_arguments(parser)
    return Namespace(**vars(parser.parse_args(words)), input=str(source), output=str(target))


def contents(spark: SparkSession, lake: Path) -> dict[str, list[str]]:
    return {name: sorted(map(str, tables.read(spark, str(lake), name).drop(schema.TAKE).collect())) for name in TABLES}


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journals")
    for path in FOLDER.glob("*.jsonl.gz"):
        (folder / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
    return folder


def test_what_is_new_in_every_table_as_the_jobs_make_it_one_by_one(spark: SparkSession, journals: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    ingest.run(spark, options(ingest, journals, one))
    for job in (rebalances, heartbeats, faults):
        job.run(spark, options(job, one, one))
    last = max(journals.iterdir())
    data = last.read_bytes()
    last.unlink()
    everything.run(spark, options(everything, journals, other))
    last.write_bytes(data)
    report = tmp_path / "report"
    everything.run(spark, options(everything, journals, other, "--report", str(report)))
    expected, found = contents(spark, one), contents(spark, other)
    for name in ("rows", "rebalances", "heartbeats", "faults"):
        assert found[name] == expected[name], name
    assert len(found["runs"]) == len(list(journals.iterdir())) and (report / "report.html").exists()
    before = {name: sink.head(spark, tables.place(str(other), name)).batch for name in TABLES}
    everything.run(spark, options(everything, journals, other))
    assert {name: sink.head(spark, tables.place(str(other), name)).batch for name in TABLES} == before
