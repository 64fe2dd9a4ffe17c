"""Who owned a partition when, as the wire has it, and how long nobody did.

A member owns what an answer to SyncGroup gave it, until an answer gives it less, it joins and does not claim it, it is removed or replaced,
or the connection by which it joined last ends. A partition is without an owner from the loss by its last owner until an answer to SyncGroup
gives it to somebody. That counts to the rebalance in which it was lost.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from .events import CLOSED, JOIN, MEMBER, SYNCED

FOR_EVER: Final = 2**63 - 1
MEMBERS: Final = ("run", "group", "member_id")
PARTITION: Final = ("run", "group", "partition")


def unowned(events: DataFrame, ends: DataFrame) -> DataFrame:
    """run, group, rebalance, unowned (how often a partition was lost and owned again), unowned_ns (partition-ns until then), abandoned
    (partitions lost and not owned again in this journal), abandoned_ns (until its end). `ends`: run -> last_at."""
    gaps = _gaps(intervals(events)).join(ends, "run")
    still = F.greatest(F.col("last_at") - F.col("since"), F.lit(0))
    return gaps.groupBy("run", "group", F.col("cycle").alias("rebalance")).agg(
        F.count("gap_ns").alias("unowned"),
        F.coalesce(F.sum("gap_ns"), F.lit(0)).alias("unowned_ns"),
        F.count_if(F.col("gap_ns").isNull()).alias("abandoned"),
        F.coalesce(F.sum(F.when(F.col("gap_ns").isNull(), still)), F.lit(0)).alias("abandoned_ns"),
    )


def intervals(events: DataFrame) -> DataFrame:
    """PARTITION, member_id, from {line, at, cycle}, until {line, at, cycle} (line FOR_EVER: to the journal's end): who owned what when."""
    changes = _changes(events).withColumn("epoch", F.count_if("gives").over(Window.partitionBy(*MEMBERS).orderBy("line")))
    change = F.struct("line", "at", "cycle", "held")
    grants = changes.groupBy(*MEMBERS, "epoch").agg(
        F.max(F.when(F.col("gives"), change)).alias("given"),
        F.array_sort(F.collect_list(F.when(~F.col("gives"), change))).alias("losses"),
    )
    next_one = F.lead("given").over(Window.partitionBy(*MEMBERS).orderBy("epoch"))
    each = grants.withColumn("next", next_one).where(F.col("given").isNotNull())
    owned = each.select(*MEMBERS, "given", "next", "losses", F.explode("given.held").alias("partition"))
    loss = F.get(F.filter("losses", lambda change: ~F.array_contains(change["held"], F.col("partition"))), 0)
    never = F.struct(F.lit(FOR_EVER).alias("line"), F.lit(None).cast("bigint").alias("at"), F.lit(None).cast("bigint").alias("cycle"))
    until = F.coalesce(loss, F.col("next"))
    return owned.select(
        *PARTITION, "member_id", F.col("given").dropFields("held").alias("from"),
        F.when(until.isNotNull(), F.struct(until["line"].alias("line"), until["at"].alias("at"), until["cycle"].alias("cycle")))
        .otherwise(never).alias("until"),
    )  # fmt: skip


def _changes(events: DataFrame) -> DataFrame:
    """MEMBERS, line, at, cycle, gives (an answer to SyncGroup: `held` is all), held (else: what the member can still have)."""
    replaced = F.nullif(F.regexp_extract("reason", r" replaces (.+)$", 1), F.lit(""))
    gone = (F.col("event") == MEMBER) & F.col("what").isin("removed", "replaced")
    member = F.when(gone & (F.col("what") == "replaced"), replaced).otherwise(F.col("member_id"))
    kept = events.where(F.col("event").isin(SYNCED, CLOSED) | gone | ((F.col("event") == JOIN) & F.col("named")))
    claim = F.get(F.filter("claims", lambda each: each["name"] == F.col("protocol")), 0)
    held = F.when(F.col("event") == SYNCED, F.col("held")).when(F.col("event") == JOIN, F.coalesce(claim, F.get("claims", 0))["held"])
    found = kept.select(
        "run", "group", member.alias("member_id"), "line", "at", "cycle", "event", "connection", (F.col("event") == SYNCED).alias("gives"),
        F.coalesce(held, F.array().cast("array<struct<topic: string, number: int>>")).alias("held"),
    ).where(F.col("member_id").isNotNull())  # fmt: skip
    past = Window.partitionBy(*MEMBERS).orderBy("line").rowsBetween(Window.unboundedPreceding, -1)
    by = F.last(F.when(F.col("event") == JOIN, F.col("connection")), ignorenulls=True).over(past)
    return found.withColumn("by", by).where((F.col("event") != CLOSED) | (F.col("by") == F.col("connection")))


def _gaps(intervals: DataFrame) -> DataFrame:
    """run, group, cycle (of the loss), since (when), gap_ns (null: nobody had it again)."""
    order = Window.partitionBy(*PARTITION).orderBy("from.line")
    reach = F.max("until").over(order.rowsBetween(Window.unboundedPreceding, -1))
    seen = intervals.withColumns({"reach": reach, "later": F.lead("from").over(order)})
    reaches = F.greatest("reach", "until")
    gap = F.when(F.col("reach.line") < F.col("from.line"), F.greatest(F.col("from.at") - F.col("reach.at"), F.lit(0)))
    found = F.array(
        F.when(gap.isNotNull(), F.struct(F.col("reach.cycle").alias("cycle"), F.col("reach.at").alias("since"), gap.alias("gap_ns"))),
        F.when(
            F.col("later").isNull() & (reaches["line"] < FOR_EVER),
            F.struct(reaches["cycle"].alias("cycle"), reaches["at"].alias("since"), F.lit(None).cast("bigint").alias("gap_ns")),
        ),
    )
    return seen.select("run", "group", F.explode(F.array_compact(found)).alias("each")).select("run", "group", "each.*")
