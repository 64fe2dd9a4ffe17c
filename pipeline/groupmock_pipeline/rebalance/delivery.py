"""How long records waited for a group around its rebalances: Produce and Fetch side by side.

A Fetch that asks from an offset on says that everything before it was had. Records of a partition wait from the answer to Produce that
made them until a client of the group asks from beyond them. Such a span counts to the first rebalance that goes on during it; one that
meets no rebalance is everyday latency and counts nowhere. What was there before the group first asked for a partition does not wait.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .events import GROUP
from .wire import BEAT, JOIN

PRODUCE: Final = 0
FETCH: Final = 1
PARTITION: Final = (*GROUP, "topic", "number")
MESSAGE: Final = (
    "struct<group_id: string,"
    " topics: array<struct<topic: string, topic_id: string, partitions: array<struct<partition: int, fetch_offset: bigint>>>>,"
    " responses: array<struct<name: string, topic_id: string,"
    " partition_responses: array<struct<index: int, base_offset: bigint, error_code: int>>>>>"
)
"""Of JoinGroup and ConsumerGroupHeartbeat, of Fetch, of the answer to Produce."""
CREATED: Final = "struct<topic: string, topic_id: string>"


def undelivered(lines: DataFrame, rows: DataFrame) -> DataFrame:
    """`lines` with undelivered_ns; null in groups whose clients fetched nothing."""
    met = _met(lines.unionByName(_spans(_positions(rows)), allowMissingColumns=True))
    waited = F.sum("waited_ns").over(Window.partitionBy(*GROUP, "rebalance"))
    fetched = F.max(F.col("waited_ns").isNotNull()).over(Window.partitionBy(*GROUP))
    return met.withColumn("undelivered_ns", F.when(fetched, F.coalesce(waited, F.lit(0)))).drop("from_at", "until", "open", "waited_ns")


def _positions(rows: DataFrame) -> DataFrame:
    """PARTITION, line, at and either `had` (an offset from which a client of the group asked) or `made` (one that was produced)."""
    read = _read(rows).repartition("run")
    clients = Window.partitionBy("run", "client_id")
    asked = read.withColumn("groups", F.when(F.col("client_id").isNotNull(), F.collect_set("group").over(clients)))
    topics = asked.select("run", "line", "at", "groups", F.inline("topics"))
    created = F.first("created", ignorenulls=True).over(Window.partitionBy("run", "topic_id"))
    name = F.coalesce(F.nullif(F.col("topic"), F.lit("")), created, F.col("topic_id"))  # newer versions say the topic's id alone
    each = topics.select("run", "line", "at", "groups", "offsets", name.alias("topic")).select(
        "run", "line", "at", "groups", "topic", F.inline("offsets")
    )
    wanted = F.flatten(F.collect_set("groups").over(Window.partitionBy("run", "topic", "number")))
    return each.withColumn("groups", F.coalesce("groups", F.array_distinct(wanted))).select(
        "run", F.explode("groups").alias("group"), "topic", "number", "line", "at", "had", "made"
    )


def _read(rows: DataFrame) -> DataFrame:
    """run, line, at, and: client_id and group of a JoinGroup or a heartbeat of a consumer group; client_id and `topics` of a Fetch;
    `topics` that were produced to or created: [{topic, topic_id, created (its name), offsets [{number, had, made}]}]."""
    asks, answers, notes = F.col("kind") == "request", F.col("kind") == "reply", F.col("kind") == "note"
    asked, answered = asks & F.col("api_key").isin(FETCH, JOIN, BEAT), answers & (F.col("api_key") == PRODUCE)
    kept = rows.where(asked | answered | (notes & (F.col("what") == "topic_created"))).select(
        "run", "line", "at", F.when(asks, F.col("client_id")).alias("client_id"),
        F.from_json("message", MESSAGE).alias("said"), F.when(notes, F.from_json("fields", CREATED)).alias("note"),
    )  # fmt: skip
    topics = F.coalesce(
        F.transform("said.topics", lambda each: _topic(each["topic"], each["topic_id"], F.transform(each["partitions"], _had))),
        F.transform("said.responses", lambda each: _topic(each["name"], each["topic_id"], _made(each["partition_responses"]))),
        F.when(F.col("note").isNotNull(), F.array(_topic(F.lit(None), F.col("note.topic_id"), F.lit(None), F.col("note.topic")))),
    )
    return kept.select("run", "line", "at", "client_id", F.col("said.group_id").alias("group"), topics.alias("topics"))


def _topic(name: Column, topic_id: Column, offsets: Column, created: Column | None = None) -> Column:
    """One of `topics`, see `_read`."""
    called = F.lit(None) if created is None else created
    return F.struct(
        name.cast("string").alias("topic"), topic_id.alias("topic_id"), called.cast("string").alias("created"),
        offsets.cast("array<struct<number: int, had: bigint, made: bigint>>").alias("offsets"),
    )  # fmt: skip


def _had(each: Column) -> Column:
    return F.struct(each["partition"].alias("number"), each["fetch_offset"].alias("had"), F.lit(None).cast("bigint").alias("made"))


def _made(responses: Column) -> Column:
    good = F.filter(responses, lambda each: each["error_code"] == 0)
    none = F.lit(None).cast("bigint").alias("had")
    return F.transform(good, lambda each: F.struct(each["index"].alias("number"), none, each["base_offset"].alias("made")))


def _spans(positions: DataFrame) -> DataFrame:
    """GROUP, from_at, until, open (until the journal's end): when something waited, partition by partition; from_at null: a line that says
    that there are Fetches."""
    order = Window.partitionBy(*PARTITION).orderBy("line")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    asked = positions.withColumn("asked", F.max("had").over(so_far))
    made = F.max(F.when(F.col("asked").isNotNull(), F.col("made"))).over(so_far)
    seen = asked.withColumn("waits", F.coalesce(made >= F.col("asked"), F.lit(False))).withColumns(
        {"begins": F.col("waits") & ~F.coalesce(F.lag("waits").over(order), F.lit(False)), "next_at": F.lead("at").over(order)}
    )
    waiting, open_end = F.col("waits"), F.col("next_at").isNull()
    spans = seen.withColumn("span", F.count_if("begins").over(so_far)).groupBy(*PARTITION, "span")
    found = spans.agg(
        F.min(F.when(waiting, F.col("at"))).alias("from_at"),
        F.max(F.when(waiting, F.col("next_at"))).alias("until"),
        F.max(waiting & open_end).alias("open"),
    )
    return found.drop("topic", "number", "span")


def _met(lines: DataFrame) -> DataFrame:
    """Lines, and the spans with `waited_ns` and as `rebalance` the first that goes on meanwhile, null: none."""
    spans = F.col("open").isNotNull()
    line = F.when(F.col("started_at").isNotNull(), F.struct("rebalance", "started_at", "last_at"))
    at = F.when(spans, F.coalesce("from_at", F.lit(0))).otherwise(F.col("ended_at"))
    later = Window.partitionBy(*GROUP).orderBy(at.desc(), spans, F.desc("rebalance"))  # those that ended no earlier, the last first
    nearest = F.last(line, ignorenulls=True).over(later.rowsBetween(Window.unboundedPreceding, 0))
    until = F.when(F.col("open"), F.col("met.last_at")).otherwise(F.col("until"))
    waited = F.greatest(F.coalesce(until - F.col("from_at"), F.lit(0)), F.lit(0))
    found = lines.withColumn("met", nearest)
    return found.withColumns(
        {
            "rebalance": F.when(~spans, F.col("rebalance")).when(F.col("met.started_at") <= until, F.col("met.rebalance")),
            "waited_ns": F.when(spans, waited),
        }
    ).drop("met")
