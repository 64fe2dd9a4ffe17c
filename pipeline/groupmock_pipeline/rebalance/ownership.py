"""Who owned a partition when, as the wire has it.

A member owns what an answer to SyncGroup (in a consumer group, to a heartbeat) gave it, until an answer gives it less, it joins and does
not claim it, it is removed, replaced, fenced or away, or the connection by which it joined last ends.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .events import CLOSED, GONE, GROUP, JOIN, MEMBER, SYNCED
from .wire import HELD

FOR_EVER: Final = 2**63 - 1
MEMBERS: Final = ("run", "group", "member_id")
PLACE: Final = "struct<line: bigint, at: bigint, rebalance: bigint>"


def change() -> Column:
    """{line, at, event, member_id, connection, held} of an event after which a member may have other partitions than before, else null.
    `held`: all that it has (SYNCED), or all that it can still have."""
    replaced = F.nullif(F.regexp_extract("reason", r" replaces (.+)$", 1), F.lit(""))
    gone = (F.col("event") == MEMBER) & F.col("what").isin(*GONE)
    member = F.when(gone & (F.col("what") == "replaced"), replaced).otherwise(F.col("member_id"))
    matters = F.col("event").isin(SYNCED, CLOSED) | gone | ((F.col("event") == JOIN) & F.col("named"))
    claim = F.get(F.filter("claims", lambda each: each["name"] == F.col("protocol")), 0)
    held = F.when(F.col("event") == SYNCED, F.col("held")).when(F.col("event") == JOIN, F.coalesce(claim, F.get("claims", 0))["held"])
    all_of_it = F.coalesce(held, F.array().cast(HELD)).alias("held")
    return F.when(matters & member.isNotNull(), F.struct("line", "at", "event", member.alias("member_id"), "connection", all_of_it))


def part(partition: Column, line: Column, member_id: Column, process: Column | None = None, **owned: Column) -> Column:
    """Who has a partition. Told to hold it, in the SyncGroup at `line`: with `process`, its member id without what is drawn anew. Owning
    it, from the answer at `line`: with `at` and `until` {line, at, rebalance} (line FOR_EVER: to the journal's end)."""
    at, until = owned.get("at", F.lit(None).cast("bigint")), owned.get("until", F.lit(None).cast(PLACE))
    told = F.lit(None).cast("string") if process is None else process
    return F.struct(
        partition.alias("partition"), line.alias("line"), member_id.alias("member_id"), told.alias("process"), at.alias("at"),
        until.alias("until"),
    )  # fmt: skip


def owned(lines: DataFrame) -> DataFrame:
    """run, group, last_at and either `summary`, all else of a line, with its `parts`, or the parts that an answer to SyncGroup gave."""
    given = _given(_opened(lines))
    owns = F.transform("held", lambda each: part(each, F.col("line"), F.col("member_id"), at=F.col("at"), until=_until(each)))
    parts = F.when(F.col("summary").isNull(), owns).otherwise(F.col("parts"))
    return given.select(*GROUP, "rebalance", "last_at", "summary", parts.alias("parts"))


def _opened(lines: DataFrame) -> DataFrame:
    """Lines and their changes one by one: KEY, last_at, and either `summary` and `parts` or those of a change."""
    apart = ("run", "group", "rebalance", "last_at", "changes", "parts")
    whole = F.struct(*(name for name in lines.columns if name not in apart))

    def one(change: Column) -> Column:
        line = change.isNull()
        return F.struct(F.when(line, whole).alias("summary"), F.when(line, F.col("parts")).alias("parts"), change.alias("change"))

    opened = F.transform(F.array_prepend("changes", F.lit(None)), one)
    return lines.select(*GROUP, "rebalance", "last_at", F.inline(opened)).select(
        *GROUP, "rebalance", "last_at", "summary", "parts", "change.*"
    )


def _given(changes: DataFrame) -> DataFrame:
    """Lines, and of the changes the answers to SyncGroup, with `losses` [{until, held}], the member's changes up to its `next` one."""
    order = Window.partitionBy(*MEMBERS).orderBy("line")
    by = F.last(F.when(F.col("event") == JOIN, F.col("connection")), ignorenulls=True)
    whole, gives = F.col("summary").isNotNull(), F.col("event") == SYNCED
    so_far = F.count_if(gives).over(order.rowsBetween(Window.unboundedPreceding, 0))
    marked = changes.withColumns(
        {
            "by": by.over(order.rowsBetween(Window.unboundedPreceding, -1)),
            "epoch": F.when(whole, F.col("rebalance")).otherwise(so_far),
        }
    ).where(whole | (F.col("event") != CLOSED) | (F.col("by") == F.col("connection")))
    epoch = Window.partitionBy(*MEMBERS, "epoch").orderBy("line").rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    place = F.struct("line", "at", "rebalance")
    losses = F.collect_list(F.when(~gives, F.struct(place.alias("until"), "held"))).over(epoch)
    given = marked.withColumn("losses", losses).where(whole | gives)
    return given.withColumn("next", F.lead(place).over(Window.partitionBy(*MEMBERS).orderBy("epoch")))


def _until(partition: Column) -> Column:
    """Where a member lost a partition that it was given."""
    loss = F.get(F.filter("losses", lambda change: ~F.array_contains(change["held"], partition)), 0)["until"]
    never = F.struct(F.lit(FOR_EVER).alias("line"), F.lit(None).cast("bigint").alias("at"), F.lit(None).cast("bigint").alias("rebalance"))
    return F.coalesce(loss, F.col("next"), never)
