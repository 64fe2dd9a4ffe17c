"""Measure how long records waited for a group around its rebalances, from Produce and Fetch requests.

A Fetch from an offset implies that all records before it were received. Records of a partition wait from the reply to their Produce until a
client of the group fetches from beyond them. Such a span counts for the first rebalance during it. A span without a rebalance is everyday
latency and is not counted. Records older than the group's first Fetch of the partition do not wait.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from groupmock_codec.api_keys import FETCH, JOIN_GROUP, PRODUCE

from ..windows import OF_GROUP, SO_FAR
from .events import BEATS, GROUP

PARTITION: Final = (*GROUP, "topic", "number")
OFFSETS: Final = "array<struct<number: int, had: bigint, made: bigint>>"
MESSAGE: Final = (
    "struct<group_id: string,"
    " topics: array<struct<topic: string, topic_id: string, partitions: array<struct<partition: int, fetch_offset: bigint>>>>,"
    " responses: array<struct<name: string, topic_id: string,"
    " partition_responses: array<struct<index: int, base_offset: bigint, error_code: int>>>>>"
)
"""The fields of JoinGroup, heartbeat and Fetch requests, and of replies to Produce."""
CREATED: Final = "struct<topic: string, topic_id: string>"


def undelivered(lines: DataFrame, rows: DataFrame) -> DataFrame:
    """Add to each rebalance how long records waited for the group, in the column undelivered_ns. It is null in groups whose clients
    fetched nothing."""
    met = _met(lines.unionByName(_spans(_positions(rows)), allowMissingColumns=True))
    fetched = f"max(waited_ns is not null) over ({OF_GROUP})"
    waited = f"coalesce(sum(waited_ns) over ({OF_GROUP}, rebalance), 0L)"
    return met.selectExpr("* except (from_at, until, open, waited_ns)", f"case when {fetched} then {waited} end as undelivered_ns")


def _positions(rows: DataFrame) -> DataFrame:
    """Return one line per offset from which a client of the group fetched (`had`) or that was produced (`made`), with PARTITION, line
    and at."""
    of_client = "case when client_id is not null then collect_set(`group`) over (partition by run, client_id) end as groups"
    asked = _read(rows).repartition("run").selectExpr("* except (`group`)", of_client)
    topics = asked.selectExpr("run", "line", "at", "groups", "inline(topics)")
    created = "first(created, true) over (partition by run, topic_id)"
    # Newer versions of OffsetCommit and OffsetFetch have only the topic's id.
    name = f"coalesce(nullif(topic, ''), {created}, topic_id) as topic"
    each = topics.selectExpr("run", "line", "at", "groups", "offsets", name).selectExpr("* except (offsets)", "inline(offsets)")
    wanted = "array_distinct(flatten(collect_set(groups) over (partition by run, topic, number)))"
    return each.selectExpr("* except (groups)", f"coalesce(groups, {wanted}) as groups").selectExpr(
        "run", "explode(groups) as `group`", "topic", "number", "line", "at", "had", "made"
    )


def _read(rows: DataFrame) -> DataFrame:
    """Return run, line and at with the facts to combine: client_id and group of a JoinGroup or heartbeat; client_id and
    `topics` of a Fetch; `topics` produced to or created: [{topic, topic_id, created (its name), offsets [{number, had, made}]}]."""
    asked = f"(kind = 'request' and api_key in {(FETCH, JOIN_GROUP, *BEATS)})"
    answered = f"(kind = 'reply' and api_key = {PRODUCE})"
    kept = rows.where(f"{asked} or {answered} or (kind = 'note' and what = 'topic_created')").selectExpr(
        "run", "line", "at", "case when kind = 'request' then client_id end as client_id", f"from_json(message, '{MESSAGE}') as said",
        f"case when kind = 'note' then from_json(fields, '{CREATED}') end as note",
    )  # fmt: skip
    had = _offsets("each.partitions", number="partition", had="fetch_offset")
    made = _offsets("filter(each.partition_responses, one -> one.error_code = 0)", number="index", made="base_offset")
    unknown = "cast(null as string)"
    topics = f"""coalesce(
        transform(said.topics, each -> struct(each.topic as topic, each.topic_id as topic_id, {unknown} as created, {had})),
        transform(said.responses, each -> struct(each.name as topic, each.topic_id as topic_id, {unknown} as created, {made})),
        case when note is not null then array(
            struct({unknown} as topic, note.topic_id as topic_id, note.topic as created, cast(null as {OFFSETS}) as offsets)) end
        ) as topics"""
    return kept.selectExpr("run", "line", "at", "client_id", "said.group_id as `group`", topics)


def _offsets(partitions: str, **fields: str) -> str:
    """Return SQL of the `offsets` of a topic, see `_read`. `fields` maps number, had and made to fields of a partition."""
    number, had, made = (f"one.{fields[name]}" if name in fields else "null" for name in ("number", "had", "made"))
    one = f"struct({number} as number, cast({had} as bigint) as had, cast({made} as bigint) as made)"
    return f"transform({partitions}, one -> {one}) as offsets"


def _spans(positions: DataFrame) -> DataFrame:
    """Return the spans in which records waited: GROUP, from_at, until, open (until the journal's end). A partition that was fetched but
    never waited gives a line whose from_at is null."""
    order = f"{OF_GROUP}, topic, number order by line"
    so_far = f"over ({order} {SO_FAR})"
    seen = (
        positions.selectExpr("*", f"max(had) {so_far} as asked")
        .selectExpr("*", f"coalesce(max(case when asked is not null then made end) {so_far} >= asked, false) as waits")
        .selectExpr("*", f"waits and not coalesce(lag(waits) over ({order}), false) as begins", f"lead(at) over ({order}) as next_at")
        .selectExpr("*", f"count_if(begins) {so_far} as span")
    )
    found = seen.groupBy(*PARTITION, "span").agg(
        F.expr("min(case when waits then at end) as from_at"),
        F.expr("max(case when waits then next_at end) as until"),
        F.expr("max(waits and next_at is null) as open"),
    )
    return found.drop("topic", "number", "span")


def _met(lines: DataFrame) -> DataFrame:
    """Return the lines of rebalances, and the spans of waiting with `waited_ns`. The `rebalance` of a span is the first one during it,
    or null."""
    line = "case when started_at is not null then struct(rebalance, started_at, last_at) end"
    at = "if(open is not null, coalesce(from_at, 0L), ended_at)"
    # SQL for a window over the rebalances that did not end before this one, the latest first.
    later = f"{OF_GROUP} order by {at} desc, open is not null, rebalance desc"
    nearest = f"last({line}, true) over ({later} {SO_FAR})"
    until = "if(open, met.last_at, until)"
    waited = f"greatest(coalesce({until} - from_at, 0L), 0L)"
    return lines.selectExpr("*", f"{nearest} as met").selectExpr(
        "* except (rebalance, met)",
        f"case when open is null then rebalance when met.started_at <= {until} then met.rebalance end as rebalance",
        f"case when open is not null then {waited} end as waited_ns",
    )
