"""Measure how regularly members sent heartbeats, against the session timeout: a line per run, group, client library and version.

The job reads the table `rows` and writes the table `heartbeats`. The job `heartbeats` needs journals that contain every heartbeat, which
are those written to a file (docs/reference/pipeline/heartbeats.md).
"""

from __future__ import annotations

import argparse
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from groupmock_codec.api_keys import (
    API_VERSIONS,
    CONSUMER_GROUP_HEARTBEAT,
    HEARTBEAT,
    JOIN_GROUP,
    SHARE_GROUP_HEARTBEAT,
    STREAMS_GROUP_HEARTBEAT,
    SYNC_GROUP,
)

from .. import tables
from ..clients import IDENTIFIED, SOFTWARE
from ..windows import BEFORE, OF_MEMBER, SO_FAR

IN_ONE: Final = (CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT)
"""The heartbeats of consumer groups (KIP-848), share groups (KIP-932) and streams groups (KIP-1071), in which members join and are assigned
partitions or tasks too."""
EXPIRED: Final = 0
"""The value that lines about an expired session have in place of an API key."""
MESSAGE: Final = (
    f"struct<group_id: string, member_id: string, generation_id: bigint, member_epoch: bigint, session_timeout_ms: bigint, {SOFTWARE}>"
)
ACCURACY: Final = 10_000
"""The accuracy of percentile_approx: a quantile is an observed gap whose rank is wrong by at most 1 / ACCURACY. It is exact up to that
many different gaps."""
ERRORS: Final = (
    "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID", "NOT_COORDINATOR",
    "FENCED_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID", "GROUP_ID_NOT_FOUND",
    "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "INVALID_GROUP_ID", "GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR",
)  # fmt: skip
"""The errors with which a Heartbeat is answered. Any other one counts as `other`."""
QUANTILES: Final = {"gap_p50_ns": 0.5, "gap_p90_ns": 0.9, "gap_p99_ns": 0.99}
KEY: Final = ("run", "group", "library", "version")

COLUMNS: Final = {
    "day": "of the run's begin",
    "run": "key of the run",
    "group": "group id",
    "library": "client library by ApiVersions, or unknown",
    "version": "its version; null: not known",
    "members": "member ids that sent heartbeats; of groups whose coordinator assigns those with an epoch above 0 count",
    "heartbeats": "heartbeats",
    "unanswered": "of these, those without an answer in the journal",
    "gaps": "pairs of signs of life that follow each other in one generation, or member epoch",
    "gap_p50_ns": "median gap",
    "gap_p90_ns": "nine of ten gaps are no longer",
    "gap_p99_ns": "99 of 100 gaps are no longer",
    "gap_max_ns": "the longest gap",
    "session_timeout_min_ms": "the shortest session.timeout.ms that its members asked for; "
    "null: those of groups whose coordinator assigns ask for none",
    "session_timeout_max_ms": "the longest",
    "share_max": "the longest gap as a part of its member's session timeout",
    "over_third": "gaps longer than a third of the session timeout",
    "over_two_thirds": "gaps longer than two thirds of it",
    "over_session": "gaps longer than it",
    "expiries": "sessions that expired",
    "errors": "error -> how many heartbeats were answered with it",
}
"""The columns of table `heartbeats` in order, with their descriptions."""


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Add the lines of new runs to table `heartbeats`."""
    tables.grow(spark, arguments.input, arguments.output, "heartbeats", heartbeats)


def heartbeats(rows: DataFrame) -> DataFrame:
    """Make table `heartbeats` of table `rows`. Shuffles once, by run, because everything else concerns the rows of one run."""
    counted = _measured(_signs(_seen(rows).repartition("run"))).groupBy("day", *KEY).agg(*map(F.expr, _aggregates()))
    gaps = (f"get(quantiles, {place}) as {name}" for place, name in enumerate(QUANTILES))
    return counted.where("heartbeats > 0 or expiries > 0").selectExpr("*", *gaps).select(*COLUMNS)


def _seen(rows: DataFrame) -> DataFrame:
    """Select requests and replies of JoinGroup, Heartbeat, SyncGroup, IN_ONE and ApiVersions, and expired sessions.
    `said` is the parsed message where it is needed: in requests, and in replies to JoinGroup and IN_ONE."""
    wire = f"kind in ('request', 'reply') and api_key in {(JOIN_GROUP, HEARTBEAT, SYNC_GROUP, *IN_ONE, API_VERSIONS)}"
    because = "coalesce(cause = 'session_expired', startswith(reason, 'session of '))"  # Older journals have a reason and no cause.
    expired = f"kind = 'member' and what = 'removed' and {because}"
    telling = f"kind = 'request' or api_key in {(JOIN_GROUP, *IN_ONE)}"
    return rows.where(f"({wire}) or ({expired})").selectExpr(
        "day", "run", "connection", "line", "at", "kind", "ticket", "client_id", "error", "`group`", "member_id",
        f"coalesce(api_key, {EXPIRED}) as api_key",
        f"case when {telling} then from_json(message, '{MESSAGE}') end as said",
    )  # fmt: skip


def _signs(seen: DataFrame) -> DataFrame:
    """Return the requests of members, with answer and client software, and expired sessions. A connection has one request at a time, so
    the answer is the next row of these APIs on the connection."""
    order = "partition by run, connection order by line"
    so_far = f"over ({order} {SO_FAR})"
    known = seen.selectExpr(
        "*",
        f"lead(struct(kind, ticket, error, at, said.member_id)) over ({order}) as next",
        f"last(case when said.client_software_name != '' then said end, true) {so_far} as software",
    ).where(f"kind != 'reply' and api_key != {API_VERSIONS} and coalesce(said.member_epoch >= 0, true)")
    answer = "case when next.kind = 'reply' and next.ticket = ticket then next end as answer"
    same = f"if(said.member_epoch = 0, {JOIN_GROUP}, {HEARTBEAT})"
    as_classic = f"case when api_key in {IN_ONE} then {same} else api_key end as api_key"
    return known.selectExpr("*", answer).selectExpr(
        "day", "run", "line", "at", as_classic, "coalesce(`group`, said.group_id) as `group`",
        "coalesce(nullif(said.member_id, ''), nullif(answer.member_id, ''), nullif(member_id, '')) as member_id",
        "coalesce(said.generation_id, said.member_epoch) as generation", "said.session_timeout_ms as session_timeout_ms",
        "answer.error as error", "answer.at as answered_at", "case when kind = 'request' then struct(client_id, software) end as client",
    ).where("`group` is not null and member_id is not null")  # fmt: skip


def _measured(signs: DataFrame) -> DataFrame:
    """Return Heartbeats and expired sessions with the member's client. `gap_ns` is the time since the member's last Heartbeat or
    SyncGroup answer in that generation, and `share` is the gap's share of the session timeout."""
    renewed = f"case when api_key = {HEARTBEAT} then at when error is null then answered_at end"
    sign = f"case when api_key != {JOIN_GROUP} then struct({renewed} as alive_at, generation) end"
    known = signs.selectExpr(
        "* except (client, session_timeout_ms)",
        *(f"last({name}, true) over ({OF_MEMBER} order by line {SO_FAR}) as {name}" for name in ("client", "session_timeout_ms")),
        f"last({sign}, true) over ({OF_MEMBER} order by line {BEFORE}) as last",
    ).where(f"api_key in {(HEARTBEAT, EXPIRED)}")
    follows = f"api_key = {HEARTBEAT} and last.generation = generation"
    gaps = known.selectExpr("*", f"case when {follows} then greatest(at - last.alive_at, 0L) end as gap_ns", "client.software as software")
    who = (f"case when client is not null then {text} end as {name}" for name, text in IDENTIFIED.items())
    return gaps.selectExpr("*", *who, "try_divide(gap_ns, session_timeout_ms * 1000000) as share")


def _aggregates() -> list[str]:
    beats = f"api_key = {HEARTBEAT}"
    errors = ", ".join(f"'{name}', count_if({beats} and error = '{name}')" for name in ERRORS)
    other = f"count_if({beats} and error is not null and error not in {tuple(ERRORS)})"
    return [
        f"cast(size(collect_set(case when {beats} then member_id end)) as bigint) as members",
        f"count_if({beats}) as heartbeats",
        f"count_if({beats} and answered_at is null) as unanswered",
        "count(gap_ns) as gaps",
        f"percentile_approx(gap_ns, array({', '.join(map(str, QUANTILES.values()))}), {ACCURACY}) as quantiles",
        "max(gap_ns) as gap_max_ns",
        "min(session_timeout_ms) as session_timeout_min_ms",
        "max(session_timeout_ms) as session_timeout_max_ms",
        "max(share) as share_max",
        "count_if(share > 1D / 3) as over_third",
        "count_if(share > 2D / 3) as over_two_thirds",
        "count_if(share > 1) as over_session",
        f"count_if(api_key = {EXPIRED}) as expiries",
        f"map_filter(map({errors}, 'other', {other}), (_, count) -> count > 0) as errors",
    ]
