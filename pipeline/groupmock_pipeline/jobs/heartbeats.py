"""How regularly members sent their heartbeats, against their session timeout: one line per run, group, client library and version.

Reads the table `rows`, writes the table `heartbeats`. Only journals that have every heartbeat will do: those written to a file
(docs/reference/pipeline/heartbeats.md).
"""

from __future__ import annotations

import argparse
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from .. import tables
from ..clients import API_VERSIONS, SOFTWARE, identified

JOIN: Final = 11
HEARTBEAT: Final = 12
SYNC: Final = 14
EXPIRED: Final = 0
"""In the place of an API key: the session of a member expired."""
MESSAGE: Final = f"struct<group_id: string, member_id: string, generation_id: bigint, session_timeout_ms: bigint, {SOFTWARE}>"
ACCURACY: Final = 10_000
"""Of percentile_approx: a quantile is an observed gap, wrong by at most 1 / ACCURACY in rank, exact up to that many different gaps."""
ERRORS: Final = (
    "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID", "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "INVALID_GROUP_ID", "GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR",
)  # fmt: skip
"""What a Heartbeat is answered; anything else counts as `other`."""
KEY: Final = ("run", "group", "library", "version")

COLUMNS: Final = {
    "day": "of the run's begin",
    "run": "key of the run",
    "group": "group id",
    "library": "client library",
    "version": "its version; null: not known",
    "members": "member ids that sent heartbeats",
    "heartbeats": "heartbeats",
    "unanswered": "of these, those without an answer in the journal",
    "gaps": "pairs of signs of life that follow each other in one generation",
    "gap_p50_ns": "median gap",
    "gap_p90_ns": "nine of ten gaps are no longer",
    "gap_p99_ns": "99 of 100 gaps are no longer",
    "gap_max_ns": "the longest gap",
    "session_timeout_min_ms": "the shortest session.timeout.ms that its members asked for",
    "session_timeout_max_ms": "the longest",
    "share_max": "the longest gap as a part of its member's session timeout",
    "over_third": "gaps longer than a third of the session timeout",
    "over_two_thirds": "gaps longer than two thirds of it",
    "over_session": "gaps longer than it",
    "expiries": "sessions that expired",
    "errors": "error -> how many heartbeats were answered with it",
}
"""Columns of the table, in order."""


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """The lines of the runs that are new."""
    tables.grow(spark, arguments.input, arguments.output, "heartbeats", heartbeats)


def heartbeats(rows: DataFrame) -> DataFrame:
    """Table `rows` -> table `heartbeats`."""
    signs = _signs(_asked(rows).unionByName(_expired(rows), allowMissingColumns=True))
    counted = signs.groupBy("day", *KEY).agg(*_aggregates())
    return counted.where((F.col("heartbeats") > 0) | (F.col("expiries") > 0)).select(*COLUMNS)


def _asked(rows: DataFrame) -> DataFrame:
    """JoinGroup, Heartbeat and SyncGroup requests, each with its answer and its connection's software; a connection has one at a time, so
    the answer is the next row of these APIs there."""
    kept = rows.where(F.col("kind").isin("request", "reply") & F.col("api_key").isin(JOIN, HEARTBEAT, SYNC, API_VERSIONS)).select(
        "day", "run", "connection", "line", "at", "kind", "ticket", "api_key", "client_id", "error",
        F.from_json("message", MESSAGE, {"mode": "PERMISSIVE"}).alias("said"),
    )  # fmt: skip
    order = Window.partitionBy("run", "connection").orderBy("line")
    software = F.when(F.col("said.client_software_name") != "", F.col("said"))
    known = kept.withColumns(
        {
            "answer": F.lead(F.struct("kind", "ticket", "error", "at", "said.member_id")).over(order),
            "software": F.last(software, ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, 0)),
        }
    ).where((F.col("kind") == "request") & (F.col("api_key") != API_VERSIONS))
    answer = F.when((F.col("answer.kind") == "reply") & (F.col("answer.ticket") == F.col("ticket")), F.col("answer"))
    member = F.coalesce(F.nullif(F.col("said.member_id"), F.lit("")), F.nullif(answer["member_id"], F.lit("")))
    return known.withColumn("answer", answer).select(
        "day", "run", F.col("said.group_id").alias("group"), member.alias("member_id"), "line", "at", "api_key",
        F.col("said.generation_id").alias("generation"), F.col("said.session_timeout_ms").alias("session_timeout_ms"),
        F.col("answer.error").alias("error"), F.col("answer.at").alias("answered_at"),
        *(column.alias(name) for name, column in identified(F.col("client_id")).items()),
    ).where(F.col("group").isNotNull() & F.col("member_id").isNotNull())  # fmt: skip


def _expired(rows: DataFrame) -> DataFrame:
    said = F.coalesce(F.col("cause") == "session_expired", F.col("reason").startswith("session of "))  # older journals have no words
    over = (F.col("kind") == "member") & (F.col("what") == "removed") & said
    return rows.where(over).select("day", "run", "group", "member_id", "line", "at", F.lit(EXPIRED).cast("bigint").alias("api_key"))


def _signs(asked: DataFrame) -> DataFrame:
    """Heartbeats and expiries with `gap_ns`, since the member's last Heartbeat or answer to SyncGroup in that generation, and `share`."""
    order = Window.partitionBy("run", "group", "member_id").orderBy("line")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    who = {name: F.last(name, ignorenulls=True).over(so_far) for name in ("library", "session_timeout_ms")}
    known = asked.withColumns(
        who | {"version": F.last(F.when(F.col("library").isNotNull(), F.struct("version")), ignorenulls=True).over(so_far)["version"]}
    )
    renewed = F.when(F.col("api_key") == HEARTBEAT, F.col("at")).when(F.col("error").isNull(), F.col("answered_at"))
    alive = known.where(F.col("api_key") != JOIN).withColumn("alive_at", renewed)
    last = F.lag(F.struct("alive_at", "generation")).over(order)
    gap = F.when(
        (F.col("api_key") == HEARTBEAT) & (last["generation"] == F.col("generation")), F.greatest(F.col("at") - last["alive_at"], F.lit(0))
    )
    measured = alive.withColumn("gap_ns", gap).where(F.col("api_key").isin(HEARTBEAT, EXPIRED))
    return measured.withColumn("share", F.try_divide(F.col("gap_ns"), F.col("session_timeout_ms") * 1_000_000))


def _aggregates() -> list[Column]:
    beats = F.col("api_key") == HEARTBEAT
    p50, p90, p99 = (F.percentile_approx("gap_ns", share, ACCURACY) for share in (0.5, 0.9, 0.99))
    return [
        F.countDistinct(F.when(beats, F.col("member_id"))).alias("members"),
        F.count_if(beats).alias("heartbeats"),
        F.count_if(beats & F.col("answered_at").isNull()).alias("unanswered"),
        F.count("gap_ns").alias("gaps"),
        p50.alias("gap_p50_ns"),
        p90.alias("gap_p90_ns"),
        p99.alias("gap_p99_ns"),
        F.max("gap_ns").alias("gap_max_ns"),
        F.min("session_timeout_ms").alias("session_timeout_min_ms"),
        F.max("session_timeout_ms").alias("session_timeout_max_ms"),
        F.max("share").alias("share_max"),
        F.count_if(F.col("share") > 1 / 3).alias("over_third"),
        F.count_if(F.col("share") > 2 / 3).alias("over_two_thirds"),
        F.count_if(F.col("share") > 1).alias("over_session"),
        F.count_if(F.col("api_key") == EXPIRED).alias("expiries"),
        _errors(beats).alias("errors"),
    ]


def _errors(beats: Column) -> Column:
    other = F.count_if(beats & F.col("error").isNotNull() & ~F.col("error").isin(*ERRORS))
    counts = [word for name in ERRORS for word in (F.lit(name), F.count_if(beats & (F.col("error") == name)))]
    return F.map_filter(F.create_map(*counts, F.lit("other"), other), lambda _, count: count > 0)
