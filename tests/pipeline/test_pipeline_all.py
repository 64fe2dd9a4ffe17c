"""The verb `all` computes the same tables as the single jobs, reads only new journals, and writes a report if asked."""

from __future__ import annotations

import gzip
import logging
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from recorded_journals import FOLDER

from groupmock_pipeline import schema, tables
from groupmock_pipeline.jobs import all as everything
from groupmock_pipeline.jobs import ingest
from groupmock_pipeline.lake import sink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("rows", "runs", *everything.GROWING)


def options(job: Any, source: Path, target: Path, *words: str) -> Namespace:
    parser = ArgumentParser()
    if hasattr(job, "add_arguments"):
        job.add_arguments(parser)
    return Namespace(**vars(parser.parse_args(words)), input=str(source), output=str(target))


def contents(spark: SparkSession, lake: Path, name: str) -> list[str]:
    return sorted(map(str, tables.read(spark, str(lake), name).drop(schema.TAKE).collect()))


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journals")
    for path in FOLDER.glob("*.jsonl.gz"):
        (folder / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
    return folder


class Rounds:
    """Replaces the pause between rounds of --follow: runs the next function each time and raises KeyboardInterrupt at the end."""

    def __init__(self, *between: Callable[[], object]) -> None:
        self._between = iter(between)

    def __call__(self, seconds: float) -> None:
        assert seconds == 7
        happens = next(self._between, None)
        if happens is None:
            raise KeyboardInterrupt
        happens()


def test_what_is_new_in_every_table_as_the_jobs_make_it_one_by_one(
    spark: SparkSession, journals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    report, last = tmp_path / "report", max(journals.iterdir())
    data = last.read_bytes()
    last.unlink()
    batches: list[dict[str, int]] = []

    def seen() -> None:
        batches.append({name: sink.head(spark, tables.place(str(other), name)).batch for name in TABLES})

    monkeypatch.setattr(ingest, "sleep", Rounds(lambda: last.write_bytes(data), seen, seen))
    caplog.set_level(logging.INFO, "groupmock_pipeline")
    with pytest.raises(KeyboardInterrupt):
        everything.run(spark, options(everything, journals, other, "--follow", "7", "--report", str(report)))
    assert batches[0] == batches[1]
    assert sum(line.startswith("ingest: nothing new") for line in caplog.messages) == 1
    page = (report / "report.html").read_text(encoding="utf-8")
    timelines = sorted(file.name for file in report.glob("timeline-*.html"))
    # The first step links to the timeline of the worst run, and the last sentence below it to those of all the worst runs.
    assert timelines and re.findall(r'href="(timeline-\d\.html)"', page) == [timelines[0], *timelines]
    assert all("<title>groupmock timeline</title>" in (report / name).read_text(encoding="utf-8") for name in timelines)
    assert re.search(r"Clients (broke|kept all) \d+", page)
    for name, job in everything.GROWING.items():
        job.run(spark, options(job, other, one))
        assert contents(spark, other, name) == contents(spark, one, name), name
    assert tables.read(spark, str(other), "runs").count() == len(list(journals.iterdir()))


def test_a_journal_that_is_still_written_is_no_mistake(
    spark: SparkSession, journals: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    begun = max(journals.iterdir()).read_bytes().splitlines(keepends=True)[:3]
    (source / "begun.jsonl").write_bytes(b"".join(begun))
    caplog.set_level(logging.INFO, "groupmock_pipeline")
    everything.run(spark, options(everything, source, tmp_path / "lake", "--silence", "86400"))
    assert "no journal has ended yet" in caplog.text
