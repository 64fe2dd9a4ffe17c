"""What happened to every partition: who was told to hold it, who owned it, and for how long nobody did; counted by rebalance.

A partition is without an owner from the loss by its last owner until an answer to SyncGroup gives it to somebody. That counts to the
rebalance in which it was lost.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .events import GROUP
from .ownership import FOR_EVER, owned

OWNED: Final = ("unowned", "unowned_ns", "abandoned", "abandoned_ns")
MOVED: Final = ("partitions", "moved", "moved_processes")


def counted(lines: DataFrame) -> DataFrame:
    """`lines` (summary.lines, moves.moves) with partitions (assigned), moved (to another member id than had it last), moved_processes (to
    another process), unowned (how often a partition was lost and owned again), unowned_ns (partition-ns until then), abandoned (partitions
    lost and not owned again in this journal), abandoned_ns (until its end).

    A line travels along with what is to be counted for it, in the column `summary`: nothing is read twice, and nothing is joined.
    """
    still = F.greatest(F.col("last_at") - F.col("since"), F.lit(0))
    each = _figures(_one_by_one(owned(lines)))
    found = each.groupBy(*GROUP, "rebalance").agg(
        F.first("summary", ignorenulls=True).alias("summary"),
        F.max("last_at").alias("last_at"),
        F.count_if("told").alias("partitions"),
        F.count_if(F.col("told") & F.col("moves")).alias("moved"),
        F.count_if(F.col("told") & F.col("moves") & F.col("elsewhere")).alias("moved_processes"),
        F.count("gap_ns").alias("unowned"),
        F.coalesce(F.sum("gap_ns"), F.lit(0)).alias("unowned_ns"),
        F.count("since").alias("abandoned"),
        F.coalesce(F.sum(still), F.lit(0)).alias("abandoned_ns"),
    )
    return found.select(*GROUP, "rebalance", "last_at", "summary.*", *MOVED, *OWNED)


def _one_by_one(lines: DataFrame) -> DataFrame:
    """Lines, each in one row, and parts, each in one."""

    def one(part: Column) -> Column:
        return F.struct(F.when(part.isNull(), F.col("summary")).alias("summary"), part.alias("part"))

    parts = F.when(F.col("summary").isNull(), F.col("parts")).otherwise(F.array_prepend("parts", F.lit(None)))
    each = lines.select(*GROUP, "rebalance", "last_at", F.inline(F.transform(parts, one)))
    return each.select(*GROUP, "rebalance", "last_at", "summary", "part.*")


def _figures(parts: DataFrame) -> DataFrame:
    """GROUP, rebalance, last_at and one of: summary; told, with moves and elsewhere (another process); gap_ns; since (lost for good)."""
    order = Window.partitionBy(*GROUP, "partition").orderBy("line", "member_id")
    past = order.rowsBetween(Window.unboundedPreceding, -1)
    told, owns = F.col("process").isNotNull(), F.col("until").isNotNull()
    seen = parts.withColumns(
        {
            "had": F.last(F.when(told, F.struct("member_id", "process")), ignorenulls=True).over(past),
            "reach": F.max("until").over(past),
            "last_line": F.max(F.when(owns, F.col("line"))).over(Window.partitionBy(*GROUP, "partition")),
        }
    )
    gap = F.when(F.col("reach.line") < F.col("line"), F.greatest(F.col("at") - F.col("reach.at"), F.lit(0)))
    reaches = F.greatest("reach", "until")
    lost = (F.col("line") == F.col("last_line")) & (reaches["line"] < FOR_EVER)
    none = F.lit(None).cast("bigint")
    found = F.array(
        F.when(~owns, _figure(F.col("rebalance"), none, none)),
        F.when(owns & gap.isNotNull(), _figure(F.col("reach.rebalance"), gap, none)),
        F.when(owns & lost, _figure(reaches["rebalance"], none, reaches["at"])),
    )
    return seen.select(
        *GROUP, "last_at", "summary", told.alias("told"), (F.col("had.member_id") != F.col("member_id")).alias("moves"),
        (F.col("had.process") != F.col("process")).alias("elsewhere"), F.inline(F.array_compact(found)),
    )  # fmt: skip


def _figure(rebalance: Column, gap_ns: Column, since: Column) -> Column:
    return F.struct(rebalance.alias("rebalance"), gap_ns.alias("gap_ns"), since.alias("since"))
