"""The ledger (table `runs`): what a batch of files gave, counted; which files need to be read; which are copies of others."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from groupmock.journal.rows import END

from .. import schema
from .parsing import BROKEN, FILE, HEADER, PART, ROW
from .workers import CHANGED, SUMMARY, UNREADABLE

KEY: Final = ("file", "digest")
"""A file that is written again by another run keeps the lines of both."""


def empty(spark: SparkSession) -> DataFrame:
    """A ledger of nothing."""
    return spark.createDataFrame([], schema.RUNS)


def unread(files: DataFrame, ledger: DataFrame) -> DataFrame:
    """Files (`workers.FILES`) with `unread`: new, changed, could not be read, or a copy of one that is to be read again."""
    same = ["file", "length", "modified"]
    readable = ledger.where(f"problem is null or not (startswith(problem, '{UNREADABLE}') or problem = '{CHANGED}')")
    known = readable.groupBy(*same).agg(F.max("duplicate_of").alias("duplicate_of"), F.lit(True).alias("known"))
    marked = files.join(known, same, "left").withColumn("known", F.coalesce("known", F.lit(False)))
    changed = marked.where("not known").select(F.col("file").alias("duplicate_of"), F.lit(True).alias("again")).distinct()
    return marked.join(changed, "duplicate_of", "left").selectExpr(*same, "not known or coalesce(again, false) as unread")


def lines(staged: DataFrame) -> DataFrame:
    """Columns of `runs` for the files of a batch; rows may yet turn out to be duplicates."""
    files = _files(staged)
    rows = _rows(staged)
    broken = staged.where(F.col(PART) == BROKEN).groupBy("file").agg(F.count("*").alias("quarantined"))
    joined = files.join(rows, "file", "left").join(broken, "file", "left")
    counts = [F.coalesce(name, F.lit(0)).alias(name) for name in ("rows", "quarantined", "backwards", "gaps")]
    others = [F.lit(0).alias("duplicates"), F.coalesce("ended", F.lit(False)).alias("ended"), F.lit(None).alias("duplicate_of")]
    made = {"rows", "quarantined", "backwards", "gaps", "duplicates", "ended", "duplicate_of"}
    table = joined.select(*(name for name in joined.columns if name not in made), *counts, *others)
    return table.select(*(F.col(field.name).cast(field.dataType) for field in schema.RUNS.fields))


def _files(staged: DataFrame) -> DataFrame:
    """What the reader says of each file, and its header."""
    told = staged.where(F.col(PART) == FILE).select("file", F.from_json("more", SUMMARY).alias("told")).select("file", "told.*")
    row = told.selectExpr("*", f"get({HEADER.parse('head')}.row, 0) as header_row")
    names = (f"header_row.{field} as {schema.NAME if field == 'run' else field}" for field in schema.HEADER.names)
    made = ("if(head is null, 0L, 1L) as header", "left(sha2(head, 256), 16) as digest")
    return row.selectExpr("file", "day", "run", "length", "modified", *names, "lines", "blank", "problem", *made)


def _rows(staged: DataFrame) -> DataFrame:
    """Per file: how many rows, from when to when, whether it ended, and what is odd about their order."""
    before = Window.partitionBy("file").orderBy("line")
    rows = staged.where(F.col(PART) == ROW).select(
        "file", "line", "at",
        F.expr(f"kind = 'note' and what = '{END}'").alias("end"),
        (F.col("t") < F.lag("t").over(before)).alias("back"),
        (F.col("seq") != F.lag("seq", 1, 0).over(before) + 1).alias("gap"),
    )  # fmt: skip
    return rows.groupBy("file").agg(
        F.count("*").alias("rows"),
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        F.max_by("end", "line").alias("ended"),
        F.count_if("back").alias("backwards"),
        F.count_if("gap").alias("gaps"),
    )


def merged(old: DataFrame, new: DataFrame) -> DataFrame:
    """The ledger with a batch's lines in place of what was known of the same files and headers; a file without a header is no run's."""
    same = [old["file"] == new["file"], old["digest"].eqNullSafe(new["digest"]) | old["digest"].isNull()]
    return old.join(new.select(*KEY), same, "left_anti").unionByName(new)


def settled(ledger: DataFrame, copies: DataFrame) -> DataFrame:
    """The ledger with `copies` (run, of: file) counted as duplicates; copies of copies point at the best."""
    found = copies.select("run", F.col("of"))
    moved = ledger.join(found, "run", "left").withColumn("duplicate_of", F.coalesce("of", "duplicate_of"))
    better = ledger.join(found, "run").select(F.col("file").alias("duplicate_of"), F.col("of").alias("best"))
    best = moved.join(F.broadcast(better), "duplicate_of", "left").withColumn("duplicate_of", F.coalesce("best", "duplicate_of"))
    is_copy = F.col("of").isNotNull()
    return best.withColumns(
        {"duplicates": F.when(is_copy, F.col("rows") + F.col("duplicates")).otherwise(F.col("duplicates")),
         "rows": F.when(is_copy, F.lit(0)).otherwise(F.col("rows"))},
    ).select(*schema.RUNS.names)  # fmt: skip
