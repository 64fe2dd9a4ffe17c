"""Make the entries of the ledger (table `runs`): the counts of what each ingest took from each file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F
from pyspark.sql.window import Window

from groupmock.journal.rows import END

from .. import schema
from .files import UNREADABLE
from .parsing import HEADER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENTRY: Final = ("file", "digest")
"""The columns that identify an entry of the ledger. A file that another run overwrote keeps the lines of both runs."""


def entries(files: DataFrame, rows: DataFrame, broken: DataFrame, tasks: int) -> DataFrame:
    """Return the ledger's entries for the files in some takes (commits of an ingest). Duplicates are counted later."""
    counted = broken.groupBy("file").agg(F.count("*").alias("quarantined"))
    joined = _headers(files).join(_rows(rows, tasks), "file", "left").join(counted, "file", "left")
    made = {
        **{name: F.coalesce(name, F.lit(0)) for name in ("rows", "quarantined", "backwards", "gaps")},
        "ended": F.coalesce("ended", F.lit(False)), "duplicates": F.lit(0), "duplicate_of": F.lit(None),
    }  # fmt: skip
    table = joined.withColumns(made)
    return table.selectExpr(*(f"cast(`{field.name}` as {field.dataType.simpleString()}) as `{field.name}`" for field in schema.RUNS.fields))


def unreadable(files: DataFrame, take: int) -> DataFrame:
    """Return the columns of `runs` for files (`files.listed`) of which Spark's reader returned nothing."""
    known = {
        **{name: F.lit(0) for name in ("lines", "header", "rows", "quarantined", "duplicates", "blank", "backwards", "gaps")},
        "problem": F.lit(UNREADABLE), "ended": F.lit(False), "day": F.lit("unknown"), schema.TAKE: F.lit(take),
        "run": F.concat(F.lit("no-header-"), F.left(F.sha2("file", 256), F.lit(12))),
        **{name: F.col(name) for name in ("file", "length", "modified")},
    }  # fmt: skip
    fields = schema.RUNS.fields
    return files.select(*(known.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name) for field in fields))


def _headers(files: DataFrame) -> DataFrame:
    """Return what the reader knows about each file, and its header."""
    row = files.withColumn("header_row", F.get(HEADER.parse("head")["row"], 0))
    names = (f"header_row.{field} as {schema.NAME if field == 'run' else field}" for field in schema.HEADER.names)
    made = ("if(head is null, 0L, 1L) as header", "left(sha2(head, 256), 16) as digest")
    return row.selectExpr("file", "day", "run", "length", "modified", *names, "lines", "blank", "problem", schema.TAKE, *made)


def _rows(rows: DataFrame, tasks: int) -> DataFrame:
    """Return per file the number of rows, their time range, whether the journal was closed, and irregularities of their order."""
    before = Window.partitionBy("file").orderBy("line")
    ordered = rows.select(
        "file", "line", "at", "seq", "t", F.expr(f"kind = 'note' and what = '{END}'").alias("end")
    ).repartition(tasks, "file").select(
        "file", "line", "at", "end",
        (F.col("t") < F.lag("t").over(before)).alias("back"),
        (F.col("seq") != F.lag("seq", 1, 0).over(before) + 1).alias("gap"),
    )  # fmt: skip
    return ordered.groupBy("file").agg(
        F.count("*").alias("rows"),
        F.min("at").alias("first_at"),
        F.max("at").alias("last_at"),
        F.max_by("end", "line").alias("ended"),
        F.count_if("back").alias("backwards"),
        F.count_if("gap").alias("gaps"),
    )


def merged(old: DataFrame, new: DataFrame) -> DataFrame:
    """Replace each entry of the old ledger by a new one about the same file and header, if there is one. A file's entry without a header
    is replaced by any new entry."""
    same = [old["file"] == new["file"], old["digest"].eqNullSafe(new["digest"]) | old["digest"].isNull()]
    return old.join(new.select(*ENTRY), same, "left_anti").unionByName(new)


def settled(ledger: DataFrame, copies: DataFrame) -> DataFrame:
    """Count the runs in `copies` (run, of: file) as duplicates. A copy of a copy points at the best file. `changed` marks the entries
    that differ from before."""
    found = copies.select("run", F.col("of"))
    moved = ledger.join(F.broadcast(found), "run", "left").withColumn("duplicate_of", F.coalesce("of", "duplicate_of"))
    better = ledger.join(F.broadcast(found), "run").select(F.col("file").alias("duplicate_of"), F.col("of").alias("best"))
    best = moved.join(F.broadcast(better), "duplicate_of", "left").withColumn("duplicate_of", F.coalesce("best", "duplicate_of"))
    is_copy = F.col("of").isNotNull()
    return best.withColumns(
        {
            "duplicates": F.when(is_copy, F.col("rows") + F.col("duplicates")).otherwise(F.col("duplicates")),
            "rows": F.when(is_copy, F.lit(0).cast("bigint")).otherwise(F.col("rows")),
            "changed": is_copy | F.col("best").isNotNull(),
        }
    ).select(*schema.RUNS.names, "changed")
