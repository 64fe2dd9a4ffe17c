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
BEAT: Final = 68
"""ConsumerGroupHeartbeat: with epoch 0 in the place of a JoinGroup, above that in that of a Heartbeat."""
EXPIRED: Final = 0
"""In the place of an API key: the session of a member expired."""
MESSAGE: Final = (
    "struct<group_id: string, member_id: string, generation_id: bigint, member_epoch: bigint, session_timeout_ms: bigint,"
    f" {SOFTWARE}>"
)
ACCURACY: Final = 10_000
"""Of percentile_approx: a quantile is an observed gap, wrong by at most 1 / ACCURACY in rank, exact up to that many different gaps."""
ERRORS: Final = (
    "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID", "NOT_COORDINATOR",
    "FENCED_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID", "GROUP_ID_NOT_FOUND",
    "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "INVALID_GROUP_ID", "GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR",
)  # fmt: skip
"""What a Heartbeat is answered; anything else counts as `other`."""
QUANTILES: Final = {"gap_p50_ns": 0.5, "gap_p90_ns": 0.9, "gap_p99_ns": 0.99}
KEY: Final = ("run", "group", "library", "version")

COLUMNS: Final = {
    "day": "of the run's begin",
    "run": "key of the run",
    "group": "group id",
    "library": "client library",
    "version": "its version; null: not known",
    "members": "member ids that sent heartbeats; of consumer groups (KIP-848) those with an epoch above 0 count",
    "heartbeats": "heartbeats",
    "unanswered": "of these, those without an answer in the journal",
    "gaps": "pairs of signs of life that follow each other in one generation, or member epoch",
    "gap_p50_ns": "median gap",
    "gap_p90_ns": "nine of ten gaps are no longer",
    "gap_p99_ns": "99 of 100 gaps are no longer",
    "gap_max_ns": "the longest gap",
    "session_timeout_min_ms": "the shortest session.timeout.ms that its members asked for; null: those of consumer groups ask for none",
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
    """Table `rows` -> table `heartbeats`. One shuffle, by run: all that follows is about the rows of one run."""
    counted = _measured(_signs(_seen(rows).repartition("run"))).groupBy("day", *KEY).agg(*_aggregates())
    gaps = {name: F.get("quantiles", F.lit(place)) for place, name in enumerate(QUANTILES)}
    return counted.where((F.col("heartbeats") > 0) | (F.col("expiries") > 0)).withColumns(gaps).select(*COLUMNS)


def _seen(rows: DataFrame) -> DataFrame:
    """JoinGroup, Heartbeat, SyncGroup, ConsumerGroupHeartbeat and ApiVersions, asked and answered, and sessions that expired. `said` is
    read where something is in it that counts: in what is asked, and in the answers to JoinGroup."""
    wire = F.col("kind").isin("request", "reply") & F.col("api_key").isin(JOIN, HEARTBEAT, SYNC, BEAT, API_VERSIONS)
    because = F.coalesce(F.col("cause") == "session_expired", F.col("reason").startswith("session of "))  # older journals have no words
    expired = (F.col("kind") == "member") & (F.col("what") == "removed") & because
    telling = (F.col("kind") == "request") | F.col("api_key").isin(JOIN, BEAT)
    return rows.where(wire | expired).select(
        "day", "run", "connection", "line", "at", "kind", "ticket", "client_id", "error", "group", "member_id",
        F.coalesce("api_key", F.lit(EXPIRED)).alias("api_key"),
        F.when(telling, F.from_json("message", MESSAGE, {"mode": "PERMISSIVE"})).alias("said"),
    )  # fmt: skip


def _signs(seen: DataFrame) -> DataFrame:
    """The requests of members, each with its answer and its connection's software, and expiries. A connection has one request at a time,
    so the answer is the next row of these APIs there."""
    order = Window.partitionBy("run", "connection").orderBy("line")
    software = F.when(F.col("said.client_software_name") != "", F.col("said"))
    known = seen.withColumns(
        {
            "next": F.lead(F.struct("kind", "ticket", "error", "at", "said.member_id")).over(order),
            "software": F.last(software, ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, 0)),
        }
    ).where((F.col("kind") != "reply") & (F.col("api_key") != API_VERSIONS) & F.coalesce(F.col("said.member_epoch") >= 0, F.lit(True)))
    answer = F.when((F.col("next.kind") == "reply") & (F.col("next.ticket") == F.col("ticket")), F.col("next"))
    member = F.coalesce(*(F.nullif(name, F.lit("")) for name in ("said.member_id", "answer.member_id", "member_id")))
    return known.withColumn("answer", answer).select(
        "day", "run", "line", "at", _as_classic().alias("api_key"), F.coalesce("group", "said.group_id").alias("group"),
        member.alias("member_id"), F.coalesce("said.generation_id", "said.member_epoch").alias("generation"),
        F.col("said.session_timeout_ms").alias("session_timeout_ms"),
        F.col("answer.error").alias("error"), F.col("answer.at").alias("answered_at"),
        F.when(F.col("kind") == "request", F.struct("client_id", "software")).alias("client"),
    ).where(F.col("group").isNotNull() & F.col("member_id").isNotNull())  # fmt: skip


def _as_classic() -> Column:
    beats = F.col("api_key") == BEAT
    return F.when(beats & (F.col("said.member_epoch") == 0), JOIN).when(beats, HEARTBEAT).otherwise(F.col("api_key"))


def _measured(signs: DataFrame) -> DataFrame:
    """Heartbeats and expiries with the member's client, `gap_ns` since its last Heartbeat or answer to SyncGroup in that generation, and
    `share`, the gap's part of its session timeout."""
    order = Window.partitionBy("run", "group", "member_id").orderBy("line")
    so_far, before = (order.rowsBetween(Window.unboundedPreceding, end) for end in (0, -1))
    renewed = F.when(F.col("api_key") == HEARTBEAT, F.col("at")).when(F.col("error").isNull(), F.col("answered_at"))
    sign = F.when(F.col("api_key") != JOIN, F.struct(renewed.alias("alive_at"), "generation"))
    known = signs.withColumns(
        {name: F.last(name, ignorenulls=True).over(so_far) for name in ("client", "session_timeout_ms")}
        | {"last": F.last(sign, ignorenulls=True).over(before)}
    ).where(F.col("api_key").isin(HEARTBEAT, EXPIRED))
    follows = (F.col("api_key") == HEARTBEAT) & (F.col("last.generation") == F.col("generation"))
    gap = F.when(follows, F.greatest(F.col("at") - F.col("last.alive_at"), F.lit(0)))
    who = {name: F.when(F.col("client").isNotNull(), column) for name, column in identified(F.col("client.client_id")).items()}
    whose = known.withColumns({"gap_ns": gap, "software": F.col("client.software")}).withColumns(who)
    return whose.withColumn("share", F.try_divide(F.col("gap_ns"), F.col("session_timeout_ms") * 1_000_000))


def _aggregates() -> list[Column]:
    beats = F.col("api_key") == HEARTBEAT
    return [
        F.size(F.collect_set(F.when(beats, F.col("member_id")))).cast("bigint").alias("members"),
        F.count_if(beats).alias("heartbeats"),
        F.count_if(beats & F.col("answered_at").isNull()).alias("unanswered"),
        F.count("gap_ns").alias("gaps"),
        F.percentile_approx("gap_ns", list(QUANTILES.values()), ACCURACY).alias("quantiles"),
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
