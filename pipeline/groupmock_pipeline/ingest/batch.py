"""One batch: files that are new or changed, read, parsed, staged, counted, placed."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from .. import schema, tables
from ..arrow import map_in_arrow
from ..storage import Storage
from . import copies, ledger, placing
from .parsing import BROKEN, PART, ROW, headed, sorted_out
from .workers import FIRST, LINES, all_lines, first_lines

log = logging.getLogger("groupmock_pipeline")

TASK_BYTES: Final = 48 << 20
"""Bytes of files that a task reads, compressed ones counted ten times; a file is never split."""
PACKED: Final = 10
STAGED: Final = "staged"


class BatchOutcome(NamedTuple):
    """What a batch did, in numbers."""

    files: int = 0
    known: int = 0
    rows: int = 0
    quarantined: int = 0
    duplicates: int = 0
    blank: int = 0
    problems: int = 0

    def plus(self, other: BatchOutcome) -> BatchOutcome:
        """Of both."""
        return BatchOutcome(*(one + two for one, two in zip(self, other, strict=True)))


def ingest(files: DataFrame, lake: str, limit: int) -> BatchOutcome:
    """Files (`workers.FILES`) into a lake that is ours alone (`placing.LOCK`) and recovered; `limit`: bytes of a line."""
    spark = files.sparkSession
    begun = tables.exists(spark, lake, "runs")
    old = tables.read(spark, lake, "runs") if begun else ledger.empty(spark)
    todo = (ledger.unread(files, old) if begun else files.withColumn("unread", F.lit(True))).cache()
    try:
        packed = F.when(F.col("file").rlike(r"\.(gz|zst)$"), PACKED).otherwise(1)
        size_of = F.when(F.col("unread"), F.col("length") * packed).otherwise(0)
        figures = todo.agg(F.count("*"), F.count_if("unread"), F.coalesce(F.sum(size_of), F.lit(0)))
        listed, count, size = figures.first() or (0, 0, 0)  # three figures
        if not count:
            return BatchOutcome(known=listed)
        log.info("ingest: %d journals to read, %d known already", count, listed - count)
        outcome = _staged(Storage(spark, lake), todo.where("unread").drop("unread"), old, limit, _tasks(spark, count, size))
        return outcome._replace(known=listed - count)
    finally:
        todo.unpersist()


def _tasks(spark: SparkSession, count: int, size: int) -> int:
    return min(count, max(3 * spark.sparkContext.defaultParallelism, -(-size // TASK_BYTES)))


def _staged(storage: Storage, todo: DataFrame, old: DataFrame, limit: int, tasks: int) -> BatchOutcome:
    batch = placing.folder(storage)
    spark = todo.sparkSession
    first = map_in_arrow(todo.repartition(min(tasks, spark.sparkContext.defaultParallelism)), first_lines(limit), FIRST)
    lines = map_in_arrow(headed(first).repartition(tasks), all_lines(limit), LINES)
    path, folders = storage.place(f"{batch}/{STAGED}"), [PART, "day", "run"]
    _write(sorted_out(lines).sortWithinPartitions(*folders, "file", "line"), path, folders)
    staged = read_staged(spark, path)
    return _placed(storage, batch, staged, old)


def _write(table: DataFrame, path: str, partition_by: list[str]) -> None:
    # Nobody looks at the folder before it is whole: tasks may put their files there themselves, in parallel.
    writer = table.write.option("mapreduce.fileoutputcommitter.algorithm.version", "2").option("compression", "zstd")
    writer.partitionBy(*partition_by).parquet(path) if partition_by else writer.parquet(path)


def read_staged(spark: SparkSession, path: str) -> DataFrame:
    """What `sorted_out` made."""
    columns = StructType([StructField(PART, StringType()), *schema.ROWS.fields])
    return spark.read.schema(columns).parquet(path)


def _placed(storage: Storage, batch: str, staged: DataFrame, old: DataFrame) -> BatchOutcome:
    new = _kept(ledger.lines(staged), storage.place(f"{batch}/new"))
    merged = ledger.merged(old, new)
    found = _copies(storage, batch, staged, merged, new)
    _write((merged if found is None else ledger.settled(merged, found)).coalesce(1), storage.place(f"{batch}/runs"), [])
    after = tables.of_files(staged.sparkSession, storage.place(f"{batch}/runs"), "runs")
    outcome = _outcome(after, new)
    if outcome.quarantined:
        _quarantine(staged, new, storage.place(f"{batch}/{BROKEN}"))
    moves = _moves(batch, old, new, after)
    storage.make("rows")
    storage.make(BROKEN)
    placing.commit(storage, batch, moves)
    return outcome


def _kept(table: DataFrame, path: str) -> DataFrame:
    """A small table, written and read: what is made of it has a small plan too, and is not computed twice."""
    _write(table.coalesce(1), path, [])
    return table.sparkSession.read.schema(table.schema).parquet(path)


def _quarantine(staged: DataFrame, new: DataFrame, path: str) -> None:
    columns = {"more": "text", "raw": "bytes"}
    broken = staged.where(F.col(PART) == BROKEN).select("file", "line", "reason", *columns).withColumnsRenamed(columns)
    placed = broken.join(F.broadcast(new.select("file", "day", "run")), "file")
    _write(placed.repartition("run").sortWithinPartitions("day", "run", "line"), path, ["day", "run"])


def _copies(storage: Storage, batch: str, staged: DataFrame, merged: DataFrame, new: DataFrame) -> DataFrame | None:
    spark = staged.sparkSession
    found = _kept(copies.suspects(merged, new), storage.place(f"{batch}/suspects"))
    # Names of runs, to open their folders alone: a lake may have a hundred thousand others.
    names = [(row.day, row.run, row.fresh) for row in found.toLocalIterator()]
    if not names:
        return None
    rows = staged.where(F.col(PART) == ROW).select(*schema.ROWS.names)
    before = [storage.place(f"rows/day={day}/run={run}") for day, run, fresh in names if not fresh]
    if before:
        reader = spark.read.schema(schema.ROWS).option("basePath", storage.place("rows"))
        rows = rows.unionByName(reader.parquet(*before).select(*schema.ROWS.names))
    contents = _kept(copies.contents(rows, found), storage.place(f"{batch}/contents"))
    return _kept(copies.copies(contents), storage.place(f"{batch}/copies"))


def _moves(batch: str, old: DataFrame, new: DataFrame, after: DataFrame) -> placing.Moves:
    """Names of the folders that change come to the driver, nothing else."""
    held = old.groupBy("run", "day").agg(F.max("rows").alias("old_rows"), F.max("quarantined").alias("old_quarantined"))
    now = after.join(F.broadcast(new.select("run").withColumn("fresh", F.lit(True))), "run", "left")
    both = held.join(now.select("run", "day", "rows", "quarantined", "fresh"), ["run", "day"], "full")
    changed = both.where("fresh or rows is null or rows != old_rows")
    staged, dropped = [], []
    for row in changed.toLocalIterator():
        place = f"day={row.day}/run={row.run}"
        if row.fresh or not row.rows:
            dropped.append(f"rows/{place}")
        if row.fresh or not row.quarantined:
            dropped.append(f"{BROKEN}/{place}")
        if row.fresh and row.rows:
            staged.append((f"rows/{place}", f"{batch}/{STAGED}/{PART}={ROW}/{place}"))
        if row.fresh and row.quarantined:
            staged.append((f"{BROKEN}/{place}", f"{batch}/{BROKEN}/{place}"))
    return placing.plan(staged, dropped, f"{batch}/runs")


def _outcome(after: DataFrame, new: DataFrame) -> BatchOutcome:
    """Counts of the batch. Raises AssertionError if they do not add up: then nothing is placed."""
    sums = ("rows", "quarantined", "duplicates", "blank")
    mine = after.join(F.broadcast(new.select("run")), "run", "left_semi")
    whole = F.expr("lines = header + rows + quarantined + duplicates + blank")
    row = mine.agg(F.count("*"), *(F.sum(name) for name in sums), F.count("problem"), F.min_by("file", whole), F.min(whole)).first()
    assert row is not None  # eight figures and a name
    *counts, file, adds_up = row
    assert adds_up, f"{file}: the counts of its lines do not add up; nothing was placed"
    files, rows, quarantined, duplicates, blank, problems = counts
    return BatchOutcome(files, 0, rows, quarantined, duplicates, blank, problems)
