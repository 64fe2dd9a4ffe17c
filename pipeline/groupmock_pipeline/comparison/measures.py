"""The measures of tables `rebalances` and `heartbeats`, as data: a new measure is one line.

A measure whose columns a lake lacks is reported, and the others are still computed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import tables
from ..analysis_probe import analysed
from ..errors import BadInput

log = logging.getLogger("groupmock_pipeline")

SHAPE: Final = "day string, run string, group string, library string, version string, measure string, value double, at bigint"
"""The columns of a sample, which is one value of one measure with its origin. `at` is in ns since 1970; for a rebalance it is the begin."""
LABEL: Final = r"^(.*?)(?: ([0-9][^ ]*))?$"
"""Matches the name of a library with a version, such as `kafka-python 3.0.12`, or the library alone."""
UNKNOWN: Final = "unknown"
TABLES: Final = ("rebalances", "heartbeats")


@dataclass(frozen=True)
class Measure:
    """One measure of rebalances or heartbeats, as data. `expression` is SQL over the table's columns, null if there is nothing to measure.

    `worse` says which direction is worse, None if neither is. `per_run` says how a run's samples are combined into one value.
    """

    name: str
    table: Literal["rebalances", "heartbeats"]
    expression: str
    unit: str
    worse: Literal["up", "down"] | None = "up"
    per_run: Literal["median", "sum", "max"] = "median"


REFUSED: Final = "aggregate(map_values(errors), 0L, (sum, count) -> sum + count) / nullif(heartbeats, 0)"
ENDED: Final = "ended <> 'journal''s end'"
"""The condition that excludes rebalances which the journal's end cut short, because their length is unknown."""

MEASURES: Final = (
    Measure("rebalance_duration", "rebalances", f"case when {ENDED} then ended_at - started_at end", "ns"),
    Measure("rebalance_preparing", "rebalances", f"case when {ENDED} then preparing_ns end", "ns"),
    Measure("rebalance_completing", "rebalances", f"case when {ENDED} then completing_ns end", "ns"),
    Measure("rebalance_phases", "rebalances", "phases", "phases"),
    Measure("rounds_to_converge", "rebalances", "case when round = 1 then rounds end", "rounds"),
    Measure("rebalances_per_run", "rebalances", "1", "rebalances", per_run="sum"),
    Measure("partitions_moved", "rebalances", "moved_processes", "partitions"),
    Measure("partitions_moved_per_run", "rebalances", "moved_processes", "partitions", per_run="sum"),
    Measure("partitions_unowned", "rebalances", "unowned_ns", "partition-ns"),
    Measure("partitions_abandoned", "rebalances", "abandoned", "partitions", per_run="sum"),
    Measure("last_to_join_after", "rebalances", "last_after_ns", "ns"),
    Measure("heartbeat_gap_p50", "heartbeats", "gap_p50_ns", "ns", None),
    Measure("heartbeat_gap_p99", "heartbeats", "gap_p99_ns", "ns"),
    Measure("heartbeat_gap_max", "heartbeats", "gap_max_ns", "ns", per_run="max"),
    Measure("heartbeat_gap_of_session", "heartbeats", "share_max", "session timeouts", per_run="max"),
    Measure("heartbeats_late", "heartbeats", "over_two_thirds / nullif(gaps, 0)", "share of gaps"),
    Measure("heartbeats_refused", "heartbeats", REFUSED, "share of heartbeats"),
    Measure("sessions_expired", "heartbeats", "expiries", "expiries", per_run="sum"),
)  # fmt: skip


def measured_tables(spark: SparkSession, lake: str) -> dict[str, DataFrame]:
    """Return the measured tables that a lake has. Raises BadInput if the lake has none of them."""
    found = {name: table for name in TABLES if (table := tables.find(spark, lake, name)) is not None}
    if not found:
        remedy = f"`groupmock pipeline rebalances {lake} {lake}`, and heartbeats alike"
        raise BadInput(f"{lake} has neither rebalances nor heartbeats: make them with {remedy}")
    return found


def samples(
    found_tables: Mapping[str, DataFrame], measures: Sequence[Measure] = MEASURES, clients: bool = True
) -> tuple[DataFrame | None, dict[str, str]]:
    """Return every sample of every measure (columns `SHAPE`, or None if there are none), and the reasons why measures are missing.

    With `clients` a rebalance counts for each library that took part in it, otherwise once and for no library.
    """
    found, missing = [], {}
    for name in TABLES:
        asked = [measure for measure in measures if measure.table == name]
        if name not in found_tables:
            missing.update({measure.name: f"the lake has no table {name}" for measure in asked})
            continue
        reasons = {measure.name: reason for measure in asked if (reason := _lacks(found_tables[name], measure))}
        missing.update(reasons)
        kept = [measure for measure in asked if measure.name not in reasons]
        if kept:
            known = _with_clients(found_tables[name], found_tables.get("heartbeats")) if clients else _without_clients(found_tables[name])
            found.append(_of_table(known, kept))
    for measure_name, reason in missing.items():
        log.warning("measure %s: %s", measure_name, reason)
    whole = found[0] if found else None
    for each in found[1:]:
        whole = each if whole is None else whole.unionByName(each)
    return whole, missing


def _lacks(table: DataFrame, measure: Measure) -> str | None:
    """Return why a measure cannot be computed from a table, or None. Spark only analyses names and reads no data."""
    if analysed(lambda: table.select(F.expr(measure.expression))) is None:
        return f"table {measure.table} has no column for {measure.expression!r}: there are {', '.join(table.columns)}"
    return None


def _of_table(table: DataFrame, measures: Sequence[Measure]) -> DataFrame:
    at = F.col("started_at") if "started_at" in table.columns else F.lit(None)
    values = [F.struct(F.lit(each.name).alias("measure"), F.expr(each.expression).cast("double").alias("value")) for each in measures]
    place = ("day", "run", "group", "library", "version")
    each = table.select(*place, at.cast("bigint").alias("at"), F.explode(F.array(*values)).alias("each"))
    flat = each.select(*place, F.col("each.measure").alias("measure"), F.col("each.value").alias("value"), "at")
    return flat.where(F.col("value").isNotNull() & ~F.isnan("value"))


def _with_clients(table: DataFrame, heartbeats: DataFrame | None) -> DataFrame:
    """Add the columns `library` and `version` of the clients that took part in a rebalance. A rebalance of several libraries counts for
    each. If the table does not name libraries, those of the run's heartbeats are taken."""
    if "libraries" in table.columns:
        label = F.explode_outer("libraries")
        named = table.drop("library", "version").withColumn("label", label)
        split = {"library": F.regexp_extract("label", LABEL, 1), "version": F.nullif(F.regexp_extract("label", LABEL, 2), F.lit(""))}
        told = named.withColumns(split).drop("label", "libraries")
    elif {"library", "version"} <= set(table.columns):
        told = table
    elif heartbeats is not None:
        told = table.join(heartbeats.select("run", "library", "version").distinct(), "run", "left")
    else:
        told = _without_clients(table)
    return told.withColumns({"library": F.coalesce("library", F.lit(UNKNOWN)), "version": F.coalesce("version", F.lit(""))})


def _without_clients(table: DataFrame) -> DataFrame:
    return table.withColumns({"library": F.lit(None).cast("string"), "version": F.lit(None).cast("string")})


def per_run(samples: DataFrame, keys: Sequence[str], measures: Sequence[Measure] = MEASURES) -> DataFrame:
    """Return one line per run, key and measure: `value`, `samples`, and the extreme samples `top` and `bottom` {value, day, run, group,
    at}.

    Tests compare runs and not rebalances. The rebalances of a run share a cluster, a scenario and a machine, so they are not independent
    draws, and a run of an hour would outvote sixty runs of a minute.
    """
    one = F.struct("value", "day", "run", "group", "at")
    grouped = samples.groupBy(*keys, "measure", "run").agg(
        F.median("value").alias("median"), F.sum("value").alias("sum"), F.max("value").alias("max"),
        F.count("*").alias("samples"), F.max(one).alias("top"), F.min(one).alias("bottom"),
    )  # fmt: skip
    kinds = {kind: [measure.name for measure in measures if measure.per_run == kind] for kind in ("sum", "max")}
    value = F.when(F.col("measure").isin(kinds["sum"]), F.col("sum")).when(F.col("measure").isin(kinds["max"]), F.col("max"))
    return grouped.withColumn("value", value.otherwise(F.col("median"))).drop("median", "sum", "max")
