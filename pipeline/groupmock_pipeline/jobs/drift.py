"""Find the measures, by client and version, that changed between two windows of runs, and the rules that were broken.

The job reads `rebalances` and `heartbeats`, and writes the table `drift`: one line per measure, library and version, with medians, their
intervals, the size of the effect, p and q, a verdict, and the runs to look at. The job `drift` also reads `audit` and writes `rule_drift`:
one line per rule, library and version, with the verdicts before and after. One of the tables `rebalances`, `heartbeats` and `audit` is
enough for the job `drift` (docs/reference/pipeline/drift.md).

    groupmock pipeline drift LAKE LAKE --split 2026-11-08
    groupmock pipeline drift LAKE LAKE --before 2026-11-01..2026-11-07 --after 2026-11-08..2026-11-14
    groupmock pipeline drift LAKE LAKE --before run:nightly_1.* --after run:nightly_2.*
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import tables
from ..comparison import rule_verdicts, statistics
from ..comparison.measures import MEASURES, SHAPE, TABLES, Measure, measured_tables, per_run, samples
from ..errors import BadInput
from ..literal_frame import literal_frame

KEYS: Final = ("library", "version")
ALL: Final = "*"
"""The `version` of the line about all versions of a library. It is made for libraries with several versions."""
EVIDENCE: Final = 5
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
RUNS: Final = "run:"
COLUMNS: Final = (
    "measure", "unit", "library", "version", "verdict", "worse", "median_before", "median_after", "difference", "ratio", "delta", "p", "q",
    "low_before", "high_before", "low_after", "high_after", "quartiles_before", "quartiles_after",
    "runs_before", "runs_after", "samples_before", "samples_after", "evidence", "reason", "before", "after",
)  # fmt: skip
"""The columns of table `drift`."""


class DriftLimits(NamedTuple):
    """The thresholds that decide the verdict on a measure."""

    least: int = 8
    alpha: float = 0.05
    effect: float = 0.33


DEFAULT: Final = DriftLimits()


def add_arguments(parser: ArgumentParser) -> None:
    window = "FIRST-DAY..LAST-DAY (either may be left out), a day, or run:REGEXP for runs by their key (orders_v2-...: it writes _ for -)"
    parser.add_argument("--before", metavar="WINDOW", help=f"runs to compare with: {window}")
    parser.add_argument("--after", metavar="WINDOW", help="runs that may have moved, written alike")
    parser.add_argument("--split", metavar="DAY", help="before: all days before this one; after: this one and later")
    parser.add_argument("--least-runs", type=int, default=DEFAULT.least, metavar="N", help="fewer runs on a side: no verdict (default 8)")
    parser.add_argument("--alpha", type=float, default=DEFAULT.alpha, help="q up to this counts as moved (default 0.05)")
    parser.add_argument("--effect", type=float, default=DEFAULT.effect, help="smallest Cliff's delta that counts as moved (default 0.33)")


def run(spark: SparkSession, arguments: Namespace) -> None:
    """Write tables `drift` and `rule_drift` of a lake."""
    before, after = windows(arguments.before, arguments.after, arguments.split)
    words = (arguments.before or f"until {arguments.split}", arguments.after or f"from {arguments.split}")
    labels = {"before": F.lit(words[0]), "after": F.lit(words[1])}
    audit = tables.find(spark, arguments.input, "audit")
    if audit is not None:
        _inhabited(audit, before | after, arguments.input)
        told = rule_verdicts.rule_verdicts(audit, before, after, _with_all_versions).withColumns(labels)
        tables.replace(told.select(*rule_verdicts.COLUMNS).coalesce(1), arguments.output, "rule_drift")
    if audit is None or any(tables.exists(spark, arguments.input, name) for name in TABLES):
        whole = _measured(spark, arguments, before, after).withColumns(labels)
        tables.replace(whole.select(*COLUMNS).coalesce(1), arguments.output, "drift")


def _measured(spark: SparkSession, arguments: Namespace, before: Column, after: Column) -> DataFrame:
    values, missing = samples(measured_tables(spark, arguments.input))
    if values is not None:
        _inhabited(values, before | after, arguments.input)
    limits = DriftLimits(arguments.least_runs, arguments.alpha, arguments.effect)
    empty = literal_frame(spark, [], SHAPE)
    lines = drift(empty if values is None else values, before, after, limits)
    return lines.unionByName(not_measured(spark, missing), allowMissingColumns=True)


def _inhabited(values: DataFrame, windows: Column, lake: str) -> None:
    """Raises BadInput if there are samples but none in a window, because an empty table would look like good news."""
    counts = values.agg(F.count_if(windows), F.min("run"), F.max("run"), F.min("day"), F.max("day")).first()
    if counts is not None and counts[1] is not None and not counts[0]:
        raise BadInput(f"no run of {lake} is in either window: its runs are {counts[1]} to {counts[2]}, of {counts[3]} to {counts[4]}")


def windows(before: str | None, after: str | None, split: str | None) -> tuple[Column, Column]:
    """Return the conditions on `day` and `run` that select the two windows. Raises BadInput."""
    if split is not None:
        if before or after:
            raise BadInput("--split says both windows: leave --before and --after out")
        return F.col("day") < _day(split, "--split"), F.col("day") >= _day(split, "--split")
    if not (before and after):
        raise BadInput("say which runs to compare: --split DAY, or --before WINDOW and --after WINDOW")
    return _window(before, "--before"), _window(after, "--after")


def _window(word: str, option: str) -> Column:
    if word.startswith(RUNS):
        pattern = word.removeprefix(RUNS)
        try:
            re.compile(pattern)
        except re.error as problem:
            raise BadInput(f"{option} {word}: not a regular expression: {problem}") from problem
        return F.col("run").rlike(f"^(?:{pattern})$")
    first, dots, last = word.partition("..")
    if not (first or last):
        raise BadInput(f"{option} {word!r}: name at least one day, as in 2026-11-01..2026-11-07")
    from_first = F.col("day") >= _day(first, option) if first else F.lit(True)
    to = last if dots else first
    return from_first & (F.col("day") <= _day(to, option) if to else F.lit(True))


def _day(word: str, option: str) -> str:
    if not DAY.fullmatch(word):
        raise BadInput(f"{option} {word}: a day is written 2026-11-21")
    return word


def drift(
    values: DataFrame, before: Column, after: Column, limits: DriftLimits = DEFAULT, measures: Sequence[Measure] = MEASURES
) -> DataFrame:
    """Compare the samples (`measures.SHAPE`) of two windows of runs and return `COLUMNS` except `before` and `after`. A run in both
    windows counts as after."""
    sided = values.withColumn("side", F.when(after, True).when(before, False)).where(F.col("side").isNotNull())
    runs = per_run(_with_all_versions(sided), (*KEYS, "side"), measures)
    keys = (*KEYS, "measure")
    figures = statistics.compared(runs, keys, *_extremes())
    enough = F.least("runs_before", "runs_after") >= limits.least
    tested = statistics.adjusted(figures.withColumn("p", F.when(enough, F.col("p"))))
    return _judged(tested, enough, limits, measures)


def _with_all_versions(values: DataFrame) -> DataFrame:
    """Count the samples of a library with several versions once more for all versions, because that line shows an upgrade."""
    several = values.groupBy("library").agg(F.count_distinct("version").alias("versions"))
    versions = F.when(F.col("versions") > 1, F.array("version", F.lit(ALL))).otherwise(F.array("version"))
    return values.join(F.broadcast(several), "library").withColumn("version", F.explode(versions)).drop("versions")


def _extremes() -> list[Column]:
    """Return the highest and the lowest samples of the later window, each from another run."""
    tops, bottoms = F.collect_list(F.when(F.col("side"), F.col("top"))), F.collect_list(F.when(F.col("side"), F.col("bottom")))
    return [
        F.slice(F.sort_array(tops, asc=False), 1, EVIDENCE).alias("highest"),
        F.slice(F.sort_array(bottoms), 1, EVIDENCE).alias("lowest"),
    ]


def _judged(tested: DataFrame, enough: Column, limits: DriftLimits, measures: Sequence[Measure]) -> DataFrame:
    moved = (F.col("q") <= limits.alpha) & (F.abs("delta") >= limits.effect)
    verdict = F.when(~enough, "too few runs").when(moved, "moved").otherwise("not")
    facts = F.create_map(*[F.lit(each) for one in measures for each in (one.name, one.unit)])
    worse = F.create_map(*[F.lit(each) for one in measures if one.worse for each in (one.name, one.worse)])
    way = F.when(F.col("delta") > 0, "up").when(F.col("delta") < 0, "down")
    return tested.withColumns(
        {
            "verdict": verdict,
            "unit": facts[F.col("measure")],
            "worse": F.when(verdict == "moved", F.try_element_at(worse, F.col("measure")) == way),
            "evidence": F.when(F.col("delta") < 0, F.col("lowest")).otherwise(F.col("highest")),
            "reason": F.lit(None).cast("string"),
        }
    ).drop("highest", "lowest", *(name for side in ("before", "after") for name in (f"min_{side}", f"max_{side}")))


def not_measured(spark: SparkSession, missing: dict[str, str]) -> DataFrame:
    """Return a line with verdict `not measured` and the reason for each missing measure."""
    lines = [{"measure": name, "verdict": "not measured", "reason": reason} for name, reason in sorted(missing.items())]
    return literal_frame(spark, lines, "measure string, verdict string, reason string")
