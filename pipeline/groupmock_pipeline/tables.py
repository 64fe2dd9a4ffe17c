"""The tables of a lake: their paths, and how they are read and written. Only this module knows their paths."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from . import schema
from .caching import cached
from .errors import BadInput
from .lake import journals, sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("groupmock_pipeline")

EXPLAIN: Final = "groupmock.explain"
"""The Spark setting by which jobs print the plan of each table that they write."""
MADE_BY: Final = {"rows": "ingest", "runs": "ingest", "quarantine": "ingest", "characteristics": "campaign", "rule_drift": "drift"}
"""Maps a table to the job that makes it, if the names differ."""
LINES: Final = "lines"
LOOKED_AT: Final = "runs"
"""The parts of every table except those of `ingest`: its lines, and (in tables that grow run by run) the (run, take) of every run that
was processed, even if the run yielded no line."""
TAKEN: Final = StructType([StructField("run", StringType()), StructField(schema.TAKE, LongType())])
GONE: Final = -1
"""The value in place of a commit number for a run that the lake has dropped because it turned out to be a copy."""


def place(lake: str, name: str) -> str:
    return f"{lake.rstrip('/')}/{journals.FOLDER if name in journals.PARTS else name}"


def job_of(name: str) -> str:
    return MADE_BY.get(name, name)


def exists(spark: SparkSession, lake: str, name: str) -> bool:
    return _has(sink.head(spark, place(lake, name)), name)


def read(spark: SparkSession, lake: str, name: str) -> DataFrame:
    """Return a snapshot of a table. Raises BadInput if the lake lacks it."""
    return _read(spark, lake, name, _head(spark, lake, name))


def find(spark: SparkSession, lake: str, name: str) -> DataFrame | None:
    """Return a snapshot of a table, or None if the lake lacks it."""
    head = sink.head(spark, place(lake, name))
    return _read(spark, lake, name, head) if _has(head, name) else None


def perhaps(spark: SparkSession, lake: str, names: Collection[str]) -> frozenset[str]:
    """Return which of these tables (none of `ingest`) may be in the lake. They are asked for together, because Java logs its stack for
    each missing one."""
    folders = f"{lake.rstrip('/')}/{{{','.join(names)}}}"
    try:
        files = spark.read.schema(sink.PLACE).option("recursiveFileLookup", "true").parquet(folders).inputFiles()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return frozenset()
        raise
    return frozenset(name for name in names if any(f"/{name}/" in file for file in files))


def _has(head: sink.Head, name: str) -> bool:
    return journals.RUNS in head.batches if name in journals.PARTS else bool(head.batches)


def _head(spark: SparkSession, lake: str, name: str) -> sink.Head:
    head = sink.head(spark, place(lake, name))
    if not _has(head, name):
        journals.check_age(spark, lake)
        raise BadInput(f"{lake} has no table {name!r}: make it with `groupmock pipeline {job_of(name)} IN {lake}`")
    return head


def _read(spark: SparkSession, lake: str, name: str, head: sink.Head) -> DataFrame:
    path = place(lake, name)
    if name in journals.PARTS:
        return journals.read(spark, path, name, head)
    return _with_takes(spark, path, head).drop(schema.TAKE)


def _with_takes(spark: SparkSession, path: str, head: sink.Head) -> DataFrame:
    """Return the lines of a table that count, with the number of the commit that wrote their run in tables that grow run by run."""
    columns = sink.columns(spark, path, LINES, head)
    lines = sink.read(spark, path, LINES, columns, head)
    if LOOKED_AT in head.batches:
        lines = lines.join(F.broadcast(_looked_at(spark, path, head)), TAKEN.names, "left_semi")
    return lines.selectExpr(*(f"`{name}`" for name in columns.names))


def _looked_at(spark: SparkSession, path: str, head: sink.Head) -> DataFrame:
    """Return (run, take) of every run that was processed, with its last take (commit of an ingest)."""
    seen = sink.read(spark, path, LOOKED_AT, TAKEN, head)
    return seen.groupBy("run").agg(F.max_by(schema.TAKE, sink.BATCH).alias(schema.TAKE))


def replace(table: DataFrame, lake: str, name: str) -> None:
    """Replace all lines of the table."""
    head = sink.head(table.sparkSession, place(lake, name))
    _write(lake, name, head, {LINES: table}, head.edition + 1 if head.batches else head.edition)


def add(table: DataFrame, lake: str, name: str) -> None:
    """Append lines to the table."""
    head = sink.head(table.sparkSession, place(lake, name))
    _write(lake, name, head, {LINES: table}, head.edition)


class Unseen(NamedTuple):
    """The runs whose latest state a table lacks, and the heads of journals and table when that was computed."""

    runs: DataFrame
    """The rows (run, take), one per run whose latest state the table lacks. The take is `GONE` if the run's lines are to be dropped."""
    journals: sink.Head
    table: sink.Head

    @property
    def begun(self) -> bool:
        """Tell whether the table grows run by run already."""
        return LOOKED_AT in self.table.batches


def extend(table: DataFrame, lake: str, name: str, asked: Unseen) -> None:
    """Replace the table's lines about the runs in `asked`, or all lines of a table that did not grow run by run. Raises Overtaken if the
    table has changed since `asked` was computed."""
    lines = table.join(F.broadcast(asked.runs), "run")
    edition = asked.table.edition + (bool(asked.table.batches) and not asked.begun)
    _write(lake, name, asked.table, {LINES: lines, LOOKED_AT: asked.runs}, edition)


def unseen(spark: SparkSession, source: str, lake: str, name: str, counts: str = "rows > 0", renew: bool = False) -> Unseen:
    """Return the runs of `source` whose latest state the table has not processed. `counts` is the SQL condition on the ledger for a run
    that has lines in the table. With `renew`, a table that did not grow run by run is made anew from all runs."""
    path, rows_at = place(lake, name), _head(spark, source, "rows")
    head = sink.head(spark, path)
    now = _read(spark, source, "runs", rows_at).selectExpr("run", f"if({counts}, {schema.TAKE}, {GONE}) as {schema.TAKE}")
    if not head.batches or (renew and LOOKED_AT not in head.batches):
        return Unseen(now.where(f"{schema.TAKE} != {GONE}"), rows_at, head)
    if LOOKED_AT not in head.batches:
        raise BadInput(f"{path}: not a table that grows run by run; make it anew in an empty folder")
    had = _looked_at(spark, path, head).withColumnRenamed(schema.TAKE, "had")
    news = now.join(had, "run", "left").where(f"not {schema.TAKE} <=> coalesce(had, {GONE})")
    return Unseen(news.select(*TAKEN.names), rows_at, head)


def grow(
    spark: SparkSession, source: str, lake: str, name: str, made: Callable[[DataFrame], DataFrame], about: Sequence[str] = (),
    counts: str = "rows > 0", renew: bool = False,
) -> None:  # fmt: skip
    """Extend the table by the lines that `made` computes from the rows of new runs. Each row has the columns `about` of its run in
    `runs`; `counts` and `renew` are those of `unseen`."""
    asked = unseen(spark, source, lake, name, counts, renew)
    begun = asked.begun
    with cached(asked.runs) as runs:
        takes = [row[0] for row in runs.select(schema.TAKE).distinct().collect()] if begun else None
        if takes == []:
            log.info("table %s: nothing new", name)
            return
        there = None if takes is None else [take for take in takes if take != GONE]
        rows = journals.read(spark, place(source, journals.ROWS), journals.ROWS, asked.journals, there, about)
        if begun:
            rows = rows.join(F.broadcast(runs.select("run")), "run", "left_semi")
        extend(made(rows), lake, name, asked._replace(runs=runs))


def _write(lake: str, name: str, head: sink.Head, parts: Mapping[str, DataFrame], edition: int) -> None:
    """Compute the lines before committing them, because a streaming query uses the settings of its first commit and not those of this
    session."""
    begun, path = time.monotonic(), place(lake, name)
    explain(parts[LINES], name)
    with cached(parts[LINES]) as lines:
        count = lines.count()
        written = {**parts, LINES: lines}
        columns = {part: frame.schema for part, frame in written.items()}
        sink.commit(sink.due(lines.sparkSession, path, head, edition), sink.parts(written), {}, columns)
    log.info("table %s: %d lines written to %s in %.1f s", name, count, path, time.monotonic() - begun)


def compact(spark: SparkSession, lake: str, name: str) -> sink.Head:
    """Rewrite a table (of `ingest`: all three) in few files, without lines that no longer count. Returns the head before."""
    path = place(lake, name)
    head = sink.head(spark, path)
    if name in journals.PARTS:
        parts = journals.counted(spark, path, head)
    else:
        parts = {LINES: _with_takes(spark, path, head)}
        if LOOKED_AT in head.batches:
            parts[LOOKED_AT] = _looked_at(spark, path, head)
    columns = {part: frame.schema for part, frame in parts.items()}
    gathered = {part: sink.gathered(path, part, frame, head) for part, frame in parts.items()}
    sink.commit(sink.due(spark, path, head, head.edition + 1), sink.parts(gathered), {}, columns)
    return head


def explain(table: DataFrame, name: str) -> None:
    """Print the plan if the setting `EXPLAIN` says so."""
    if table.sparkSession.conf.get(EXPLAIN, "false") == "true":
        print(f"== {name} ==")
        table.explain("formatted")
