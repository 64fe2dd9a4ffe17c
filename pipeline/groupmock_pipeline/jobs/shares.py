"""Write one line per share group and topic: how often records were delivered, why again, and what became of them.

The job reads the table `rows` and writes the table `shares`. It needs the notes about records in flight, which every journal of groupmock
has; a recording of another server has none (docs/reference/pipeline/shares.md).
"""

from __future__ import annotations

import argparse
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import tables
from ..windows import BEFORE

RUNS: Final = "array<array<bigint>>"
"""The type of a list of runs: the first and the last offset, and of delivered ones the delivery count."""
AVAILABLE, ARCHIVED, DELIVERED = "available", "archived", "delivered"
RELEASED, REJECTED, UNKNOWN = "released", "rejected", "unknown"
LOCK_ENDS: Final = ("lock_ended", "expiry_ordered")
OUTCOMES: Final = {
    "records": (DELIVERED, "null"),
    "accepted": ("accepted", "null"),
    "gaps": ("gaps", "null"),
    "renewed": ("renewed", "null"),
    "released": (AVAILABLE, f"'{RELEASED}'"),
    "rejected": (ARCHIVED, f"'{REJECTED}'"),
    "exhausted": (ARCHIVED, f"'{RELEASED}'"),
    "available": (AVAILABLE, "cause"),
    "archived": (ARCHIVED, "cause"),
}
"""Maps each list of runs in a note to what happened to the records, and to SQL of its cause."""
LISTS: Final = ", ".join(f"{name}: {RUNS}" for name in OUTCOMES)
NOTE: Final = f"struct<`group`: string, topic: string, partition: int, member_id: string, cause: string, {LISTS}>"
NOTES: Final = ("records_acquired", "records_acknowledged", "records_released")
LONGEST: Final = 100_000
"""Runs of more records are counted, but not followed record by record. A share group has at most group.share.partition.max.record.locks
(4000 at most) records of a partition in flight, unless a single batch has more."""
KEY: Final = ("day", "run", "group", "topic")

COLUMNS: Final = {
    "day": "of the run's begin",
    "run": "key of the run",
    "group": "group id",
    "topic": "name of the topic",
    "partitions": "partitions of which members got records",
    "members": "member ids that got records",
    "deliveries": "records that members got; a record counts each time",
    "redeliveries": "of these, the deliveries that were not a record's first",
    "redelivered_because": "cause -> redeliveries: why the record was available again",
    "most_deliveries": "the highest delivery count",
    "accepted": "records that members accepted",
    "released": "records that members released and that are available again; a record counts each time",
    "gaps": "offsets that members acknowledged as gaps: transaction markers, and what compaction removed",
    "renewed": "records whose lock a member renewed; a record counts each time",
    "lock_ends": "records whose lock ended, by itself or by a command; a record counts each time",
    "archived": "records that were archived without being accepted",
    "archived_because": "cause -> archived records",
}
"""The columns of table `shares` in order, with their descriptions."""


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Add the lines of new runs to table `shares`."""
    tables.grow(spark, arguments.input, arguments.output, "shares", shares)


def shares(rows: DataFrame) -> DataFrame:
    """Make table `shares` of table `rows`. Shuffles once, by run, because everything else concerns the rows of one run."""
    by_cause = _caused(_events(rows).repartition("run")).groupBy(*KEY, "why").agg(*map(F.expr, _counted()))
    return by_cause.groupBy(*KEY).agg(*map(F.expr, _summed())).where("deliveries > 0 or archived > 0").select(*COLUMNS)


def _events(rows: DataFrame) -> DataFrame:
    """Return what happened to records: KEY, line, partition, member_id, event, cause, delivery_count, `record` and `records`. A line is
    about one record if records are followed, and else about all `records` of a run, whose first one is `record`."""
    each = ", ".join(
        f"transform(said.{name}, run -> struct('{event}' as event, {cause.replace('cause', 'said.cause')} as cause,"
        f" run[0] as first, run[1] as last, {'run[2]' if event == DELIVERED else 'cast(null as bigint)'} as delivery_count))"
        for name, (event, cause) in OUTCOMES.items()
    )
    runs = rows.where(f"kind = 'note' and what in {NOTES}").selectExpr("day", "run", "line", f"from_json(fields, '{NOTE}') as said")
    runs = runs.selectExpr("day", "run", "line", "said", f"inline(flatten(filter(array({each}), each -> each is not null)))")
    follow = f"last - first < {LONGEST} and (event in ('{AVAILABLE}', '{ARCHIVED}') or delivery_count > 1)"
    return runs.selectExpr(
        "day", "run", "line", "said.`group` as `group`", "said.topic as topic", "said.partition as partition",
        "nullif(said.member_id, '') as member_id", "event", "cause", "delivery_count", f"if({follow}, 1L, last - first + 1) as records",
        f"explode(if({follow}, sequence(first, last), array(first))) as record",
    )  # fmt: skip


def _caused(events: DataFrame) -> DataFrame:
    """Add to each redelivery and each end of a record its cause, in the column `why`."""
    before = f"partition by run, `group`, topic, partition, record order by line {BEFORE}"
    freed = f"last(case when event = '{AVAILABLE}' then cause end, true) over ({before})"
    why = f"case when event != '{DELIVERED}' then cause when delivery_count > 1 then coalesce({freed}, '{UNKNOWN}') end as why"
    return events.selectExpr("*", why)


def _counted() -> list[str]:
    """Return the SQL of figures by cause."""

    def records(condition: str) -> str:
        return f"coalesce(sum(case when {condition} then records end), 0L)"

    delivered = f"event = '{DELIVERED}'"
    return [
        f"collect_set(case when {delivered} then partition end) as partitions",
        f"collect_set(case when {delivered} then member_id end) as members",
        "max(delivery_count) as most_deliveries",
        f"{records(delivered)} as deliveries",
        f"{records(f'{delivered} and delivery_count > 1')} as redeliveries",
        *(f"{records(f'event = {name!r}')} as {name}" for name in ("accepted", "gaps", "renewed", ARCHIVED)),
        f"{records(f'event = {AVAILABLE!r} and cause = {RELEASED!r}')} as released",
        f"{records(f'cause in {LOCK_ENDS}')} as lock_ends",
    ]


def _summed() -> list[str]:
    """Return the SQL of figures over all causes."""

    def by_cause(figure: str) -> str:
        return f"map_from_entries(array_sort(collect_list(case when {figure} > 0 and why is not null then struct(why, {figure}) end)))"

    sums = ("deliveries", "redeliveries", "accepted", "released", "gaps", "renewed", "lock_ends", ARCHIVED)
    return [
        *(f"cast(size(array_distinct(flatten(collect_list({name})))) as bigint) as {name}" for name in ("partitions", "members")),
        "max(most_deliveries) as most_deliveries",
        *(f"sum({name}) as {name}" for name in sums),
        f"{by_cause('redeliveries')} as redelivered_because",
        f"{by_cause(ARCHIVED)} as archived_because",
    ]
