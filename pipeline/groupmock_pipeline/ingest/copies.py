"""Find journals that are copies of another: compressed, cut, damaged, or copied while the run went on.

Neither name nor epoch tells, because virtual runs of one seed have the same header, byte for byte. A file is a copy of another one if both
have the same header and every good row of the copy is in the other, at the same line.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from .. import schema


def suspects(ledger: DataFrame, batch: DataFrame) -> DataFrame:
    """Return the lines of the ledger about files that may be copies: they have rows, another line has the same header, and at least one
    of these lines is in this batch."""
    with_rows = ledger.where("rows > 0 and digest is not null")
    fresh = batch.select("run").withColumn("fresh", F.lit(True))
    marked = with_rows.join(F.broadcast(fresh), "run", "left").withColumn("fresh", F.coalesce("fresh", F.lit(False)))
    group = Window.partitionBy("digest")
    counted = marked.withColumns({"count": F.count("*").over(group), "any": F.max("fresh").over(group)})
    return counted.where("count > 1 and any").select("run", "file", "rows", "digest", schema.TAKE)


def contents(rows: DataFrame, found: DataFrame) -> DataFrame:
    """Return digest, run, line and a hash of the row, for the files that may be copies."""
    content = F.xxhash64(*schema.LINE.names, "more").alias("content")
    return rows.select("run", "line", content).join(F.broadcast(found.select("run", "digest", "rows", "file")), "run")


def copies(contents: DataFrame) -> DataFrame:
    """Return the columns run and of, which is the file that has all rows of that run. Among several the one with most rows wins, then
    the smallest path."""
    end = F.max_by(F.struct("digest", "line", "content", "rows", "file"), "line")
    last = contents.groupBy("run").agg(end.alias("last")).select("run", "last.*")
    inner = [F.col(name).alias(f"inner_{name}") for name in ("run", "rows", "file")]
    # The last rows are compared first, because files that differ at all nearly always differ there. Only the few that remain are compared
    # as a whole.
    ends = last.select(*inner, "digest", "line", "content").join(
        contents.select("digest", "line", "content", "run", "rows", "file"), ["digest", "line", "content"]
    )
    better = ends.where("run != inner_run and (rows > inner_rows or (rows = inner_rows and file < inner_file))")
    pairs = better.select("inner_run", "inner_rows", "run", "rows", "file")
    left = contents.select(F.col("run").alias("inner_run"), "line", "content")
    right = contents.select("run", "line", "content")
    same = pairs.join(left, "inner_run").join(right, ["run", "line", "content"])
    whole = same.groupBy("inner_run", "inner_rows", "run", "rows", "file").count().where("count = inner_rows")
    best = F.min_by("file", F.struct(-F.col("rows"), F.col("file")))
    return whole.groupBy(F.col("inner_run").alias("run")).agg(best.alias("of"))
