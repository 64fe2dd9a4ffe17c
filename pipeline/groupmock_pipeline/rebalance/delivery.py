"""How long records waited for a group around its rebalances: Produce and Fetch side by side.

A Fetch that asks from an offset on says that everything before it was had. Records of a partition wait from the answer to Produce that
made them until a client of the group asks from beyond them. Such a span counts to the first rebalance that goes on during it; one that
meets no rebalance is everyday latency and counts nowhere. What was there before the group first asked for a partition does not wait.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .events import JOIN

PRODUCE: Final = 0
FETCH: Final = 1
PARTITION: Final = ("run", "group", "topic", "number")
ASKED: Final = (
    "struct<topics: array<struct<topic: string, topic_id: string, partitions: array<struct<partition: int, fetch_offset: bigint>>>>>"
)
MADE: Final = (
    "struct<responses: array<struct<name: string, topic_id: string,"
    " partition_responses: array<struct<index: int, base_offset: bigint, error_code: int>>>>>"
)
CREATED: Final = "struct<topic: string, topic_id: string>"


def undelivered(rows: DataFrame, events: DataFrame, lines: DataFrame) -> DataFrame:
    """run, group, rebalance (null: of none), undelivered_ns: a line for every group whose clients fetched. `lines`: with last_at."""
    spans = _spans(_positions(rows, events), lines.select("run", "last_at").distinct())
    return _met(spans, lines).groupBy("run", "group", "rebalance").agg(F.sum("waited_ns").alias("undelivered_ns"))


def _positions(rows: DataFrame, events: DataFrame) -> DataFrame:
    """PARTITION, line, at and either `made` (an offset that was produced) or `had` (an offset from which a client of the group asked)."""
    clients = events.where(F.col("event") == JOIN).select("run", "group", "client_id").distinct()
    topics = rows.where((F.col("kind") == "note") & (F.col("what") == "topic_created")).select(
        "run", F.from_json("fields", CREATED).alias("made")
    )
    names = topics.select("run", F.col("made.topic_id").alias("topic_id"), F.col("made.topic").alias("created")).distinct()
    asked = rows.where((F.col("kind") == "request") & (F.col("api_key") == FETCH)).select(
        "run", "line", "at", "client_id", F.explode(F.from_json("message", ASKED)["topics"]).alias("each")
    )
    had = _named(asked.select("*", "each.topic", "each.topic_id", F.explode("each.partitions").alias("one")), names)
    had = had.join(clients, ["run", "client_id"]).select(*_place("one.partition"), F.col("one.fetch_offset").alias("had"))
    answered = rows.where((F.col("kind") == "reply") & (F.col("api_key") == PRODUCE)).select(
        "run", "line", "at", F.explode(F.from_json("message", MADE)["responses"]).alias("each")
    )
    each = answered.select("*", F.col("each.name").alias("topic"), "each.topic_id", F.explode("each.partition_responses").alias("one"))
    made = _named(each.where(F.col("one.error_code") == 0), names).withColumn("number", F.col("one.index"))
    wanted = had.select(*PARTITION).distinct()
    made = made.join(wanted, ["run", "topic", "number"]).select(*_place("number"), F.col("one.base_offset").alias("made"))
    return had.unionByName(made, allowMissingColumns=True)


def _place(number: str) -> list[Column]:
    return [F.col("run"), F.col("group"), F.col("topic"), F.col(number).alias("number"), F.col("line"), F.col("at")]


def _named(frame: DataFrame, names: DataFrame) -> DataFrame:
    """Newer versions say the topic's id alone."""
    found = F.coalesce(F.nullif(F.col("topic"), F.lit("")), F.col("created"), F.col("topic_id"))
    return frame.join(names, ["run", "topic_id"], "left").withColumn("topic", found)


def _spans(positions: DataFrame, ends: DataFrame) -> DataFrame:
    """run, group, from_at, until_at: when something waited, partition by partition; both null: a line that says that there are Fetches."""
    order = Window.partitionBy(*PARTITION).orderBy("line")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    asked = positions.withColumn("asked", F.max("had").over(so_far))
    made = F.max(F.when(F.col("asked").isNotNull(), F.col("made"))).over(so_far)
    seen = asked.withColumn("waits", F.coalesce(made >= F.col("asked"), F.lit(False))).withColumns(
        {"begins": F.col("waits") & ~F.coalesce(F.lag("waits").over(order), F.lit(False)), "next_at": F.lead("at").over(order)}
    )
    numbered = seen.withColumn("span", F.count_if("begins").over(so_far)).join(ends, "run")
    waiting = F.col("waits")
    return numbered.groupBy(*PARTITION, "span").agg(
        F.min(F.when(waiting, F.col("at"))).alias("from_at"),
        F.max(F.when(waiting, F.coalesce("next_at", "last_at"))).alias("until_at"),
    )


def _met(spans: DataFrame, lines: DataFrame) -> DataFrame:
    """run, group, rebalance (the first that goes on during the span, null: none), waited_ns."""
    span = F.struct("from_at", "until_at")
    line = F.struct("rebalance", "started_at", "ended_at")
    both = spans.select("run", "group", F.coalesce("from_at", F.lit(0)).alias("at"), span.alias("wait")).unionByName(
        lines.select("run", "group", F.col("ended_at").alias("at"), line.alias("line")), allowMissingColumns=True
    )
    later = Window.partitionBy("run", "group").orderBy(F.desc("at"), F.col("line").isNull())  # those that ended no earlier, the last first
    nearest = F.last("line", ignorenulls=True).over(later.rowsBetween(Window.unboundedPreceding, 0))
    found = both.withColumn("met", nearest).where(F.col("wait").isNotNull())
    meets = F.col("met.started_at") <= F.col("wait.until_at")
    return found.select(
        "run", "group", F.when(meets, F.col("met.rebalance")).alias("rebalance"),
        F.greatest(F.coalesce(F.col("wait.until_at") - F.col("wait.from_at"), F.lit(0)), F.lit(0)).alias("waited_ns"),
    )  # fmt: skip
