"""Judge clients by the requests they sent: one line per run, group and rule, with a verdict, figures and findings.

The job reads `rows` and `runs`, and writes the table `audit`. The rules and the verdicts are the same as those of `groupmock audit`
(docs/reference/pipeline/audit.md).

    groupmock pipeline audit LAKE LAKE
    groupmock pipeline audit LAKE LAKE --rule CLIENT-05 --rule CLIENT-09
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from groupmock.audit.rule import registered
from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED, NOT_JUDGED, SHOWN, UNKNOWN

from .. import tables
from ..arrow import map_in_arrow
from ..audited.lake_rows import needed
from ..audited.run_audit import CLIENTS, PARTS, audited
from ..errors import BadInput

COLUMNS: Final = {
    "day": "of the run's begin",
    "run": "key of the run",
    "group": "group id; null: connections, or the whole run",
    "rule": "code of the rule; null: the line says what is missing of the run",
    "severity": "of the rule: error or warning",
    "verdict": "broken, unknown, kept, not judged or not exercised",
    "reason": "why it is unknown",
    "kept": "how often it was kept",
    "broken": "how often it was broken",
    "not_judged": "occasions at which the rule could not look, by reason",
    "libraries": "of each library and version: kept, broken",
    "client_ids": "client ids of whom it was judged",
    "findings": "what broke it, the first ones",
}
"""The columns of table `audit` in order, with their descriptions."""
KEY: Final = ("day", "run", "group", "rule")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rule", action="append", default=[], metavar="CODE", help="only this one, as CLIENT-05 (repeatable); all runs are judged anew"
    )


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Add the verdicts on new runs to table `audit`. With --rule the whole table is made anew, with the verdicts on these rules alone."""
    strange = [code for code in arguments.rule if code not in registered()]
    if strange:
        raise BadInput(f"--rule {strange[0]}: there is no such rule; there are {', '.join(registered())}")
    runs = tables.read(spark, arguments.input, "runs")
    if arguments.rule:
        rows = tables.read(spark, arguments.input, "rows")
        tables.replace(audit(rows, runs, arguments.rule), arguments.output, "audit")
    else:
        # A run without rows has a line that says what is missing of its journal, unless the journal is a copy.
        counts = "rows > 0 or duplicate_of is null"
        tables.grow(spark, arguments.input, arguments.output, "audit", lambda rows: audit(rows, runs), counts=counts, renew=True)


def audit(rows: DataFrame, runs: DataFrame, codes: Sequence[str] | None = None) -> DataFrame:
    """Make table `audit` of tables `rows` and `runs`."""
    parts = map_in_arrow(needed(rows), audited(codes), PARTS)
    return lines(parts.unionByName(trouble(runs), allowMissingColumns=True))


def trouble(runs: DataFrame) -> DataFrame:
    """Return a line for every run whose journal is incomplete according to the ledger."""
    lines = F.when(F.col("quarantined") > 0, F.concat("quarantined", F.lit(" of the journal's lines are no rows (table quarantine)")))
    sentence = F.concat_ws("; ", F.concat(F.lit("the journal has a problem: "), "problem"), lines)
    incomplete = runs.where(F.col("run").isNotNull() & F.col("duplicate_of").isNull()).select("day", "run", sentence.alias("crashed"))
    nothing = {name: F.lit(0).cast("bigint") for name in ("kept", "broken")}
    return incomplete.where(F.col("crashed") != "").withColumns(nothing)


def lines(parts: DataFrame) -> DataFrame:
    """Make table `audit` of `run_audit.PARTS`: add up the libraries and the lifetimes of each group."""
    each = parts.groupBy(*KEY, "library", "version").agg(
        F.first("severity", ignorenulls=True).alias("severity"),
        *(F.sum(name).alias(name) for name in ("kept", "broken")),
        F.collect_set("crashed").alias("crashed"),
        *(F.flatten(F.collect_list(name)).alias(name) for name in ("client_ids", "findings", "not_judged")),
    )
    library = F.when(F.col("library").isNotNull(), F.struct("library", "version", "kept", "broken"))
    whole = each.groupBy(*KEY).agg(
        F.first("severity", ignorenulls=True).alias("severity"),
        *(F.sum(name).alias(name) for name in ("kept", "broken")),
        F.array_sort(F.flatten(F.collect_list("crashed"))).alias("crashed"),
        F.array_sort(F.collect_list(library)).alias("libraries"),
        _by_reason(F.flatten(F.collect_list("not_judged"))).alias("not_judged"),
        F.slice(F.array_sort(F.array_distinct(F.flatten(F.collect_list("client_ids")))), 1, CLIENTS).alias("client_ids"),
        F.slice(F.array_sort(F.flatten(F.collect_list("findings"))), 1, SHOWN).alias("findings"),
    )
    reason = F.nullif(F.array_join("crashed", "; "), F.lit(""))
    return whole.withColumns({"verdict": verdict(), "reason": reason}).select(*COLUMNS)


def _by_reason(lines: Column) -> Column:
    """Add up the occasions that were not judged, so that each reason has one entry."""

    def summed(reason: Column) -> Column:
        same = F.filter(lines, lambda each: each["reason"] == reason)
        times = F.aggregate(same, F.lit(0).cast("bigint"), lambda total, each: total + each["times"])
        return F.struct(reason.alias("reason"), times.alias("times"))

    return F.transform(F.array_sort(F.array_distinct(lines["reason"])), summed)


def verdict() -> Column:
    """Decide verdicts as `verdicts.Tally` does: a rule that was found broken stays broken even if it crashed."""
    known = F.when(F.col("broken") > 0, BROKEN).when(F.size("crashed") > 0, UNKNOWN)
    return known.when(F.col("kept") > 0, KEPT).when(F.size("not_judged") > 0, NOT_JUDGED).otherwise(NOT_EXERCISED)
