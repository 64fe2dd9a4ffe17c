"""Compare two sets of journals scenario by scenario, for example groupmock's and real Kafka's, or those of two builds.

The job reads `rebalances` and `heartbeats` (and `rows` or `runs` to identify a run) of the lake IN and of the lake --with, and writes
`compare`: one line per scenario and measure, including those that only one side has (docs/reference/pipeline/compare.md).

    groupmock pipeline compare OURS OUT --with THEIRS --tolerance 0.1
    groupmock pipeline compare OURS OUT --with THEIRS --by '([^/]+)-seed[0-9]+'
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import tables
from ..comparison import alignment, statistics
from ..comparison.measures import MEASURES, SHAPE, Measure, measured_tables, per_run, samples
from ..errors import BadInput
from ..literal_frame import literal_frame

KEYS: Final = ("scenario",)
COLUMNS: Final = (
    "scenario", "measure", "unit", "verdict", "median_ours", "median_theirs", "difference", "ratio", "delta", "p",
    "runs_ours", "runs_theirs", "samples_ours", "samples_theirs", "quartiles_ours", "quartiles_theirs", "min_ours", "max_ours",
    "min_theirs", "max_theirs", "tolerance", "reason",
)  # fmt: skip
"""The columns of table `compare`."""


class CompareLimits(NamedTuple):
    """The thresholds that decide the verdict on a measure."""

    tolerance: float = 0.1
    least: int = 8
    alpha: float = 0.05


DEFAULT: Final = CompareLimits()


def add_arguments(parser: ArgumentParser) -> None:
    by = "a run's scenario: the first group of this in its file's path (default: what its journal says, else its file's name)"
    tolerance = "medians agree when they differ by at most this share of the larger one (default 0.1)"
    least = "from so many runs on each side p decides, below it whether their ranges overlap (default 8)"
    parser.add_argument("--with", dest="other", metavar="LAKE", required=True, help="the lake to compare IN with")
    parser.add_argument("--by", metavar="REGEXP", help=by)
    parser.add_argument("--tolerance", type=float, default=DEFAULT.tolerance, metavar="SHARE", help=tolerance)
    parser.add_argument("--least-runs", type=int, default=DEFAULT.least, metavar="N", help=least)
    parser.add_argument("--alpha", type=float, default=DEFAULT.alpha, help="p up to this is a difference (default 0.05)")


def run(spark: SparkSession, arguments: Namespace) -> None:
    """Write table `compare` of two lakes."""
    if arguments.tolerance < 0:
        raise BadInput(f"--tolerance {arguments.tolerance}: a share from 0 on, as 0.1")
    ours, missing_ours = _labelled(spark, arguments.input, arguments.by)
    theirs, missing_theirs = _labelled(spark, arguments.other, arguments.by)
    limits = CompareLimits(arguments.tolerance, arguments.least_runs, arguments.alpha)
    sides = {"ours": missing_ours, "theirs": missing_theirs}
    missing = [(name, f"{side}: {reason}") for side, each in sides.items() for name, reason in each.items()]
    lines = compare(ours, theirs, limits).unionByName(not_measured(spark, missing, limits), allowMissingColumns=True)
    tables.replace(lines.select(*COLUMNS).coalesce(1), arguments.output, "compare")


def _labelled(spark: SparkSession, lake: str, by: str | None) -> tuple[DataFrame, dict[str, str]]:
    """Return the samples of a lake with their run's scenario. A run without any sample has one line whose measure is null."""
    values, missing = samples(measured_tables(spark, lake), clients=False)
    labels = alignment.scenarios(tables.read(spark, lake, "rows"), tables.read(spark, lake, "runs"), by)
    every = literal_frame(spark, [], SHAPE) if values is None else values
    return labels.join(every, "run", "left"), missing


def compare(ours: DataFrame, theirs: DataFrame, limits: CompareLimits = DEFAULT, measures: Sequence[Measure] = MEASURES) -> DataFrame:
    """Compare the samples (`measures.SHAPE` and `scenario`) of two lakes and return the lines of table `compare`.

    If `measure` is null, the line counts the runs of that scenario without any sample.
    """
    sided = ours.withColumn("side", F.lit(False)).unionByName(theirs.withColumn("side", F.lit(True)))
    runs = per_run(sided, (*KEYS, "side"), measures)
    sides = runs.groupBy(*KEYS).agg(F.count_distinct("side").alias("sides"))
    figures = statistics.compared(runs, (*KEYS, "measure")).join(sides, list(KEYS))
    return _judged(figures.withColumnsRenamed(_sides()), limits, measures).select(*COLUMNS)


def _sides() -> dict[str, str]:
    names = ("runs", "samples", "median", "quartiles", "min", "max")
    return {f"{name}_{old}": f"{name}_{new}" for name in names for old, new in (("before", "ours"), ("after", "theirs"))}


def _judged(figures: DataFrame, limits: CompareLimits, measures: Sequence[Measure]) -> DataFrame:
    units = F.create_map(*[F.lit(each) for one in measures for each in (one.name, one.unit)])
    larger = F.greatest(F.abs("median_ours"), F.abs("median_theirs"))
    agree = F.abs("difference") <= larger * limits.tolerance
    enough = F.least("runs_ours", "runs_theirs") >= limits.least
    apart = (F.col("min_ours") > F.col("max_theirs")) | (F.col("min_theirs") > F.col("max_ours"))
    verdict = F.when(F.col("runs_theirs") == 0, "only ours").when(F.col("runs_ours") == 0, "only theirs")
    verdict = verdict.when(F.col("measure").isNull(), "nothing measured").when(agree, "agree")
    verdict = verdict.when(F.when(enough, F.col("p") <= limits.alpha).otherwise(apart), "differ").otherwise("unclear")
    return figures.withColumns(
        {
            "verdict": verdict,
            "unit": F.try_element_at(units, F.col("measure")),
            "tolerance": F.lit(limits.tolerance),
            "reason": _reason(verdict, enough),
            "p": F.when(F.col("measure").isNotNull(), F.col("p")),
            "delta": F.when(F.col("measure").isNotNull(), F.col("delta")),
        }
    )


def _reason(verdict: Column, enough: Column) -> Column:
    unclear = F.when(enough, "the medians differ by no more than the runs do").otherwise("few runs, and their ranges overlap")
    one_sided = verdict.isin("only ours", "only theirs")
    alone = F.col("sides") == 1
    elsewhere = F.when(alone, "the other side has no such scenario").otherwise("the other side has the scenario without this measure")
    return F.when(verdict == "unclear", unclear).when(one_sided, elsewhere)


def not_measured(spark: SparkSession, missing: Sequence[tuple[str, str]], limits: CompareLimits) -> DataFrame:
    """Return a line with verdict `not measured` and the reason for each measure that a side lacks."""
    lines = [{"measure": name, "verdict": "not measured", "reason": reason, "tolerance": limits.tolerance} for name, reason in missing]
    return literal_frame(spark, lines, "measure string, verdict string, reason string, tolerance double")
