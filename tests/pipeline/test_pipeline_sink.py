"""Tests which rows readers of a lake's tables see when writers collide, are killed or compact, and after a lake was moved."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final
from unittest.mock import Mock

import pytest
from cases import for_each
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from groupmock_pipeline import tables
from groupmock_pipeline.errors import BadInput, Overtaken
from groupmock_pipeline.lake import sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORDS: Final = "day string, run string, line int, word string"
NAME: Final = "words"


def words(spark: SparkSession, *found: str) -> DataFrame:
    return spark.createDataFrame([("2026-11-23", word[0], number, word) for number, word in enumerate(found, 1)], WORDS)


def seen(spark: SparkSession, lake: Path | str, name: str = NAME) -> list[str]:
    return sorted(row.word for row in tables.read(spark, str(lake), name).collect())


def commit(path: Path, at: sink.Head, lines: DataFrame) -> dict[str, int]:
    """Commit lines as `tables.add` does for a writer that last saw the table in the state `at`."""
    told = {tables.LINES: lines.schema}
    counted = {"lines": F.col(sink.PART) == tables.LINES}
    return sink.commit(sink.due(lines.sparkSession, str(path), at, at.edition), sink.parts({tables.LINES: lines}), counted, told)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Path:
    """Return a lake with a table of two commits."""
    folder = tmp_path / "a lake, 100%"
    tables.replace(words(spark, "ant"), str(folder), NAME)
    tables.add(words(spark, "bee"), str(folder), NAME)
    return folder


# -- commits -----------------------------------------------------------------------------------------------------------------------------


def test_a_table_is_replaced_and_added_to_in_commits_and_a_reader_stays_where_it_was(spark: SparkSession, lake: Path) -> None:
    before = tables.read(spark, str(lake), NAME)
    assert before.schema.simpleString() == words(spark, "x").schema.simpleString()
    tables.replace(words(spark, "cat").drop("line"), str(lake), NAME)
    after = tables.read(spark, str(lake), NAME)
    tables.add(words(spark, "dog").drop("line"), str(lake), NAME)
    assert (sorted(row.word for row in before.collect()), [row.word for row in after.collect()]) == (["ant", "bee"], ["cat"])
    assert (seen(spark, lake), after.columns) == (["cat", "dog"], ["day", "run", "word"])


@for_each(
    ("said", "raced"),
    [
        ("Multiple streaming queries are concurrently using file:/lake/journals/_spark_metadata. SQLSTATE: XXKST", True),
        ("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 3.", True),
        ("Race while writing batch 3", True),
        ("No space left on device", False),
    ],
)
def test_a_race_is_told_from_what_else_goes_wrong(said: str, raced: bool) -> None:
    query = Mock(awaitTermination=Mock(side_effect=StreamingQueryException(f"[STREAM_FAILED] terminated with exception: {said}")))
    with nullcontext() if raced else pytest.raises(StreamingQueryException):
        assert sink._raced(query)
    query.stop.assert_called_once_with()


CONNECT: Final = {"type": "struct", "fields": [{"name": "_written", "type": "long"}, {"name": "lines", "type": "long"}]}


@for_each("told", [Row(_written=3, lines=2), Row(values=[3, 2], schema=CONNECT)])
def test_what_was_observed_of_a_batch_is_read_as_every_session_tells_it(told: Row) -> None:
    observed = {6: {sink.OBSERVED: Row(_written=9, lines=9)}, 7: {sink.OBSERVED: told}, 8: {}}
    query = Mock(recentProgress=[{"batchId": batch, "observedMetrics": metrics} for batch, metrics in observed.items()])
    assert list(sink._observed(query, 7)) == [{"_written": 3, "lines": 2}]
    assert list(sink._observed(query, 8)) == []


def test_what_lines_are_made_of_may_be_joined_with_the_batch_in_their_place(spark: SparkSession, lake: Path) -> None:
    path = str(lake / NAME)
    at = sink.head(spark, path)
    due = sink.due(spark, path, at, at.edition)
    texts = [("2026-11-23", "c", "cat cow"), ("2026-11-24", "d", "dog")]
    few = due.joined(spark.createDataFrame(texts, "day string, run string, text string"))
    lines = few.selectExpr("* except (text)", "posexplode(split(text, ' ')) as (line, word)").withColumn(sink.PART, F.lit(tables.LINES))
    assert sink.commit(due, lines, {"lines": F.col(sink.PART) == tables.LINES}, {tables.LINES: words(spark).schema}) == {"lines": 3}
    with pytest.raises(Overtaken):
        sink.commit(due, lines, {}, {})
    assert seen(spark, lake) == ["ant", "bee", "cat", "cow", "dog"]


def test_who_planned_with_an_older_table_is_told_and_leaves_nothing(spark: SparkSession, lake: Path) -> None:
    path = lake / NAME
    old = sink.head(spark, str(path))
    assert commit(path, old, words(spark, "cat", "cow")) == {"lines": 2}
    with pytest.raises(
        Overtaken, match=r"another job wrote to .* at the same time and was first: nothing of this one is there; run it again"
    ):
        commit(path, old, words(spark, "dog"))
    assert seen(spark, lake) == ["ant", "bee", "cat", "cow"]
    tables.add(words(spark, "eel"), str(lake), NAME)
    assert seen(spark, lake) == ["ant", "bee", "cat", "cow", "eel"]


def test_of_two_that_write_a_batch_the_one_that_is_in_the_log_has_it(spark: SparkSession, lake: Path) -> None:
    """The other writer was killed between the two logs, so Spark repeats its batch, which the sink skips."""
    path = lake / NAME
    old = sink.head(spark, str(path))
    commit(path, old, words(spark, "cat"))
    for name in (f"{old.batch + 1}", f".{old.batch + 1}.crc"):
        (path / "_checkpoint" / "commits" / name).unlink()
    with pytest.raises(Overtaken):
        commit(path, old, words(spark, "dog"))
    assert seen(spark, lake) == ["ant", "bee", "cat"]
    tables.add(words(spark, "eel"), str(lake), NAME)
    assert seen(spark, lake) == ["ant", "bee", "cat", "eel"]


def test_a_batch_that_was_killed_is_played_again_with_the_next_ones_lines(spark: SparkSession, lake: Path) -> None:
    path = lake / NAME
    old = sink.head(spark, str(path))
    commit(path, old, words(spark, "cat"))
    killed = str(old.batch + 1)
    for folder in (path / "_checkpoint" / "commits", path / "_spark_metadata"):
        for name in (killed, f".{killed}.crc"):
            (folder / name).unlink()
    assert (path / "_checkpoint" / "offsets" / killed).exists() and seen(spark, lake) == ["ant", "bee"]
    assert commit(path, old, words(spark, "dog")) == {"lines": 1}
    assert seen(spark, lake) == ["ant", "bee", "dog"]


def test_a_table_whose_first_writer_was_killed_before_its_first_batch_is_made(spark: SparkSession, tmp_path: Path) -> None:
    offsets = tmp_path / NAME / "_checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.434a2949-89a3-40c3-a106-b9e04f12b379.tmp").write_bytes(b"v1\n")
    tables.replace(words(spark, "ant"), str(tmp_path), NAME)
    assert seen(spark, tmp_path) == ["ant"]


def test_the_columns_of_a_table_without_a_line(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    assert not tables.exists(spark, lake, NAME)
    tables.replace(words(spark), lake, NAME)
    empty = tables.read(spark, lake, NAME)
    assert (tables.exists(spark, lake, NAME), empty.columns, empty.count()) == (True, ["day", "run", "line", "word"], 0)


@pytest.mark.parametrize("remains", ["nothing", "another table"])
def test_a_lake_that_was_moved_or_copied_reads_its_own_files(spark: SparkSession, lake: Path, tmp_path: Path, remains: str) -> None:
    new = tmp_path / "else where" / "lake"
    shutil.copytree(lake, new)
    shutil.rmtree(lake)
    if remains != "nothing":
        tables.replace(words(spark, "owl"), str(lake), NAME)
    assert seen(spark, new) == ["ant", "bee"]
    path = str(new / NAME)
    broken = sink.read(spark, path, "broken", StructType.fromDDL(WORDS), sink.head(spark, path))
    assert broken.isEmpty(), "no commit has had a line of that part"
    tables.add(words(spark, "cat"), str(new), NAME)
    assert seen(spark, new) == ["ant", "bee", "cat"]
    tables.replace(words(spark, "dog"), str(new), NAME)
    assert seen(spark, new) == ["dog"]
    assert remains == "nothing" or seen(spark, lake) == ["owl"]


# -- tables that grow run by run ---------------------------------------------------------------------------------------------------------


def runs(spark: SparkSession, lake: str, *found: tuple[str, int, int]) -> None:
    """Write a ledger with these runs: the name, the number of rows and the number of the ingest."""
    frame = spark.createDataFrame(found, "run string, row_count bigint, take bigint")
    path = tables.place(lake, "runs")
    head = sink.head(spark, path)
    due = sink.due(spark, path, head, head.edition)
    sink.commit(due, sink.parts({"runs": frame.withColumn("file", F.col("run"))}), {}, {})


def unseen(spark: SparkSession, lake: str) -> dict[str, int]:
    return {row.run: row.take for row in tables.unseen(spark, lake, lake, NAME).runs.collect()}


def extend(spark: SparkSession, lake: str, *found: str) -> None:
    tables.extend(words(spark, *found), lake, NAME, tables.unseen(spark, lake, lake, NAME))


def test_a_table_grows_by_the_runs_that_it_has_not_as_they_are_now(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path)
    runs(spark, lake, ("a", 3, 0), ("b", 1, 0), ("n", 4, 0), ("copy", 0, 0))
    assert unseen(spark, lake) == {"a": 0, "b": 0, "n": 0}
    extend(spark, lake, "ant", "bee")
    assert (seen(spark, lake), unseen(spark, lake)) == (["ant", "bee"], {}), "n was looked at, and has no line"
    runs(spark, lake, ("a", 5, 1), ("c", 2, 1))
    runs(spark, lake, ("b", 0, 0))
    assert unseen(spark, lake) == {"a": 1, "c": 1, "b": tables.GONE}, "a grew, c is new, b turned out to be a copy"
    extend(spark, lake, "ape", "cat")
    assert (seen(spark, lake), unseen(spark, lake)) == (["ape", "cat"], {})


def test_who_asked_before_another_wrote_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path)
    runs(spark, lake, ("a", 3, 0))
    asked = tables.unseen(spark, lake, lake, NAME)
    extend(spark, lake, "ant")
    with pytest.raises(Overtaken):
        tables.extend(words(spark, "ape"), lake, NAME, asked)
    assert seen(spark, lake) == ["ant"], "else both would count: they are of the same take"


def test_what_does_not_grow_run_by_run_says_so(spark: SparkSession, lake: Path) -> None:
    runs(spark, str(lake), ("a", 3, 0))
    with pytest.raises(BadInput, match="words: not a table that grows run by run"):
        tables.unseen(spark, str(lake), str(lake), NAME)
