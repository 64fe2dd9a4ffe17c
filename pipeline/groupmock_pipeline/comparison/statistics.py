"""Compare two samples by Spark's built-in functions only: medians with their intervals, Cliff's delta, Mann-Whitney, Benjamini-Hochberg.

A frame of observations has key columns, `side` (False: before, True: after) and `value`, with one line per run. Windows are partitioned by
key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Z95: Final = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
NEAR: Final = 4.0
"""The greatest z for which `tail` sums a series (60 terms reach 1e-15); beyond it a continued fraction of 80 steps is used."""
TERMS, STEPS = 60, 80


def compared(runs: DataFrame, keys: Sequence[str], *more: Column) -> DataFrame:
    """Return one line per key: n, median and its 95 % interval, quartiles and range of each side, difference, ratio, delta, p, and `more`.

    `delta` is Cliff's: the chance that a run after exceeds one before, minus the chance of the opposite, from -1 to 1. `p` is the two-sided
    Mann-Whitney test in normal approximation with continuity and tie correction. It is null if a side is empty and 1 if all values are
    equal.
    """
    ranked = _ranked(runs, keys)
    sums = ranked.groupBy(*keys).agg(
        *[each for after in (False, True) for each in _side(after)],
        F.sum(F.when(F.col("side"), F.col("mean_rank"))).alias("rank_sum"),
        # A group of t tied values contributes t^3 - t to the sum, which is t^2 - 1 for each of its values.
        F.sum(F.col("ties") * F.col("ties") - 1).cast("double").alias("tied"),
        *more,
    )
    return _tested(sums)


def _ranked(runs: DataFrame, keys: Sequence[str]) -> DataFrame:
    order = Window.partitionBy(*keys).orderBy("value")
    same = Window.partitionBy(*keys, "value")
    own = Window.partitionBy(*keys, "side").orderBy("value", "run")
    counted = runs.withColumns({"ties": F.count("*").over(same), "rank": F.rank().over(order), "place": F.row_number().over(own)})
    sized = counted.withColumn("size", F.count("*").over(Window.partitionBy(*keys, "side")))
    return sized.withColumn("mean_rank", F.col("rank") + (F.col("ties") - 1) / 2)


def _side(after: bool) -> list[Column]:
    """Return the aggregates of the values on one side, before or after. The median's interval lies between two order statistics (about n
    / 2 -+ 0.98 sqrt n), which assumes no distribution."""
    end, here = ("after", F.col("side")) if after else ("before", ~F.col("side"))
    value = F.when(here, F.col("value"))
    half = F.sqrt(F.col("size")) * Z95 / 2
    low = F.greatest(F.lit(1), F.floor(F.col("size") / 2 - half))
    high = F.least(F.col("size"), F.ceil(1 + F.col("size") / 2 + half))
    quartiles = F.percentile(value, F.array(F.lit(0.25), F.lit(0.75)))
    return [
        F.count_if(here).alias(f"runs_{end}"), F.sum(F.when(here, F.col("samples"))).alias(f"samples_{end}"),
        F.median(value).alias(f"median_{end}"),
        F.min(F.when(here & (F.col("place") >= low), F.col("value"))).alias(f"low_{end}"),
        F.max(F.when(here & (F.col("place") <= high), F.col("value"))).alias(f"high_{end}"),
        quartiles.alias(f"quartiles_{end}"), F.min(value).alias(f"min_{end}"), F.max(value).alias(f"max_{end}"),
    ]  # fmt: skip


def _tested(sums: DataFrame) -> DataFrame:
    before, after = F.col("runs_before").cast("double"), F.col("runs_after").cast("double")
    total, pairs = before + after, before * after
    u = F.col("rank_sum") - after * (after + 1) / 2
    spread = F.sqrt(pairs / 12 * (total + 1 - F.col("tied") / F.nullif(total * (total - 1), F.lit(0.0))))
    z = F.greatest(F.lit(0.0), F.abs(u - pairs / 2) - 0.5) / F.nullif(spread, F.lit(0.0))
    both = pairs > 0
    ratio = F.col("median_after") / F.nullif(F.col("median_before"), F.lit(0.0))
    measured = sums.withColumns(
        {
            "difference": F.col("median_after") - F.col("median_before"),
            "ratio": ratio,
            "delta": F.when(both, 2 * u / F.nullif(pairs, F.lit(0.0)) - 1),
            "z": F.when(both, F.coalesce(z, F.lit(0.0))),
        }
    )
    return measured.withColumn("p", F.least(F.lit(1.0), 2 * tail(F.col("z")))).drop("rank_sum", "tied", "z")


def tail(z: Column) -> Column:
    """Return the normal distribution's upper tail at z >= 0, to about 1e-14 relative or 1e-16 absolute error, because Spark has no erfc.

    Near: 1/2 - density * (z + z^3/3 + z^5/(3*5) + ...). Far: density / (z + 1/(z + 2/(z + 3/...))).
    """
    density = F.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    start = F.struct(z.alias("term"), z.alias("sum"))

    def more(so_far: Column, index: Column) -> Column:
        term = so_far["term"] * z * z / (2 * index + 1)
        return F.struct(term.alias("term"), (so_far["sum"] + term).alias("sum"))

    near = F.lit(0.5) - density * F.aggregate(F.sequence(F.lit(1), F.lit(TERMS)), start, more)["sum"]
    deep = F.aggregate(F.sequence(F.lit(STEPS), F.lit(1), F.lit(-1)), z, lambda value, index: z + index / value)
    return F.when(z < NEAR, near).otherwise(density / deep)


def adjusted(lines: DataFrame) -> DataFrame:
    """Add `q` of Benjamini and Hochberg: the share of false findings among all lines with at most this `p`. Lines without a p are not
    counted.

    `lines` are the few lines of a report (measures x clients). They are collected into one array, which needs no global window and computes
    them once.
    """
    gathered = lines.agg(F.collect_list(F.struct(*lines.columns)).alias("lines"))
    chances = F.array_sort(F.filter(F.transform("lines", lambda line: line["p"]), F.isnotnull))
    known = gathered.withColumn("chances", chances)
    size = F.size("chances")
    steps = known.withColumn("steps", F.transform("chances", lambda p, index: F.least(F.lit(1.0), p * size / (index + 1))))
    each = steps.select(F.explode("lines").alias("line"), "chances", "steps")
    place = F.array_position("chances", F.col("line.p"))
    best = F.when(place > 0, F.array_min(F.slice("steps", F.greatest(place, F.lit(1)).cast("int"), F.greatest(size, F.lit(1)))))
    return each.select("line.*", best.alias("q"))
