"""Compacting a lake keeps its lines, does not disturb running readers, and is refused while an ingest has not counted its rows."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groupmock_pipeline import schema, tables
from groupmock_pipeline.errors import BadInput
from groupmock_pipeline.ingest import taking
from groupmock_pipeline.jobs import compact, ingest
from groupmock_pipeline.lake import sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEADER = '{"v":1,"run":"%s","product":"p","seed":1,"epoch_ns":%d,"profile":"g","config":{},"complete":true}'
DAY = 86_400 * 10**9
END = "end"


def journal(path: Path, epoch: int, rows: int, broken: tuple[str, ...] = ("junk",)) -> None:
    notes = [f'{{"kind":"note","seq":{seq},"t":{seq},"what":"{END if seq == rows else "x"}"}}' for seq in range(1, rows + 1)]
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in (HEADER % (path.stem, epoch), *broken, *notes)))


def take(spark: SparkSession, lake: Path) -> None:
    given = {"input": str(lake.parent / "in"), "output": str(lake), "line_limit": 1, "silence": 60.0, "follow": None}
    ingest.run(spark, argparse.Namespace(**given))


def compacted(spark: SparkSession, lake: Path, sweep: bool = False) -> None:
    compact.run(spark, argparse.Namespace(input=str(lake), output=None, sweep=sweep))


def lines(spark: SparkSession, lake: Path) -> list[str]:
    return [line for name in ("rows", "runs", "quarantine", "faults") for line in sorted(map(str, read(spark, lake, name).collect()))]


def read(spark: SparkSession, lake: Path, name: str) -> DataFrame:
    return tables.read(spark, str(lake), name)


def files(lake: Path, table: str) -> dict[str, int]:
    """Return the number of data files in each edition of the table (a compaction writes a new edition)."""
    editions = (path for path in (lake / table).glob("_edition=*"))
    return {path.name.partition("=")[2]: len(list(path.rglob("*.parquet"))) for path in editions}


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with journals (`in`) and a `lake` with two ingests, where a journal and a derived table grew between the ingests."""
    folder = tmp_path_factory.mktemp("made")
    where = str(folder / "lake")
    for number, rows in enumerate((3, 4)):
        journal(folder / "in" / "a.jsonl", 0, rows)
        journal(folder / "in" / f"b{number}.jsonl", number * DAY, 2)
        take(spark, folder / "lake")
        counted = read(spark, folder / "lake", "rows").groupBy("run").count()
        tables.extend(counted, where, "faults", tables.unseen(spark, where, where, "faults"))
    return folder


@pytest.fixture
def lake(made: Path) -> Iterator[Path]:
    """Yield the lake at its original path, because the ledger contains the journals' paths, and restore it after each test."""
    kept = made.with_name("kept")
    shutil.copytree(made, kept)
    yield made / "lake"
    shutil.rmtree(made)
    kept.rename(made)


def test_columns_come_in_their_order_of_a_lake_that_was_moved_too(spark: SparkSession, lake: Path) -> None:
    moved = lake.parent / "moved"
    shutil.copytree(lake, moved)
    for name, columns in (("rows", schema.ROWS), ("runs", schema.RUNS), ("quarantine", schema.QUARANTINE)):
        assert [read(spark, each, name).columns for each in (lake, moved)] == [columns.names] * 2
    shutil.rmtree(moved)


def test_the_same_lines_in_fewer_files_and_readers_go_on(spark: SparkSession, lake: Path) -> None:
    before, reader, had = lines(spark, lake), read(spark, lake, "rows"), files(lake, "journals")
    assert len(before) == 8 + 3 + 3 + 3
    compacted(spark, lake)
    assert lines(spark, lake) == before and reader.count() == 8
    assert files(lake, "journals")["0"] == had["0"] > files(lake, "journals")["1"]
    assert sink.head(spark, str(lake / "journals")).edition == 1
    journal(lake.parent / "in" / "a.jsonl", 0, 5)
    take(spark, lake)
    again = lines(spark, lake)
    assert read(spark, lake, "rows").count() == 9 and tables.unseen(spark, str(lake), str(lake), "faults").runs.count() == 1
    later = read(spark, lake, "rows")
    compacted(spark, lake)
    assert lines(spark, lake) == again and later.count() == 9
    assert files(lake, "journals")["0"] == 0 < files(lake, "journals")["1"], "what nobody reads any more is swept"
    compacted(spark, lake, sweep=True)
    assert lines(spark, lake) == again and files(lake, "journals").keys() >= {"0", "1", "2", "3"}
    assert [files(lake, "journals")[edition] for edition in "012"] == [0, 0, 0]


def test_a_take_that_is_not_counted_is_counted_first(spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compaction is refused after an ingest was killed between its two commits, until another ingest has counted the rows."""
    before = lines(spark, lake)
    journal(lake.parent / "in" / "c.jsonl", 0, 6)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(taking, "_settle", killed)
        take(spark, lake)
    assert lines(spark, lake) == before
    with pytest.raises(BadInput, match="an ingest was killed, or is at work: run `groupmock pipeline ingest` once more, then compact"):
        compacted(spark, lake)
    (lake.parent / "in" / "c.jsonl").unlink()
    take(spark, lake)
    assert read(spark, lake, "rows").count() == 8 + 6
    compacted(spark, lake)
    assert read(spark, lake, "rows").count() == 8 + 6


def test_a_file_that_two_ingests_took_at_once_counts_once(spark: SparkSession, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ingests were killed before they counted the file."""
    journal(lake.parent / "in" / "c.jsonl", 0, 6)
    with monkeypatch.context() as patch:
        patch.setattr(taking, "_settle", killed)
        patch.setattr(taking, "_settle_left", lambda *_: taking.Outcome())
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                take(spark, lake)
    take(spark, lake)
    assert [row.rows for row in read(spark, lake, "runs").collect() if row.file.endswith("c.jsonl")] == [6]
    assert read(spark, lake, "rows").count() == 8 + 6


def test_a_table_grows_by_runs_that_a_compaction_has_put_elsewhere_each_row_with_what_the_ledger_says_of_its_run(
    spark: SparkSession, lake: Path
) -> None:
    where, counted = str(lake), "select run, count(*) as count, max({}) as last_at from {{rows}} group by run"
    for name in ("c", "d"):
        journal(lake.parent / "in" / f"{name}.jsonl", 0, 6)
        take(spark, lake)
        if name == "c":
            compacted(spark, lake)
        tables.grow(spark, where, where, "rebalances", lambda rows: spark.sql(counted.format("last_at"), rows=rows), ["last_at"])
    expected = spark.sql(counted.format("at"), rows=read(spark, lake, "rows"))
    assert sorted(read(spark, lake, "rebalances").collect()) == sorted(expected.collect())


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_no_lake(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no table to compact: `groupmock pipeline ingest JOURNALS .*` makes some"):
        compacted(spark, tmp_path)


def test_of_journals_without_a_broken_line(spark: SparkSession, tmp_path: Path) -> None:
    journal(tmp_path / "in" / "a.jsonl", 0, 3, broken=())
    take(spark, tmp_path / "lake")
    compacted(spark, tmp_path / "lake")
    assert read(spark, tmp_path / "lake", "rows").count() == 3 and read(spark, tmp_path / "lake", "quarantine").isEmpty()
