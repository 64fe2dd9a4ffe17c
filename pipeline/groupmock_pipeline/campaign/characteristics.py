"""Make table `characteristics`: the costs of each combination of scenario, protocol and sizes over all its seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from .table_row import FIGURES, WHAT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PERCENTILES: Final = {"median": 0.5, "p99": 0.99}
"""The percentiles in table `characteristics`, exact and interpolated linearly."""
COUNTS: Final = ("plays", "failed", "broken", "rebalances", "first_seed", "last_seed")


def characteristics(campaign: DataFrame) -> DataFrame:
    """Return one line per combination of scenario, protocol and sizes, over all its seeds. The columns are the count of `plays`, of
    those that `failed` and those that had a `broken` invariant, `rebalances` (completed generations of all plays), the first and last
    seed, and for every figure `_min`, `_median`, `_p99` and `_max` over the measured plays."""
    return campaign.groupBy(*WHAT).agg(
        F.count("*").alias("plays"),
        F.count("trouble").alias("failed"),
        F.count_if(F.size("broken") > 0).alias("broken"),
        F.coalesce(F.sum("generations"), F.lit(0)).alias("rebalances"),
        F.min("seed").alias("first_seed"),
        F.max("seed").alias("last_seed"),
        *(column for name in FIGURES for column in _spread(name)),
    )


def _spread(name: str) -> list[Column]:
    middle = [F.percentile(name, share).alias(f"{name}_{told}") for told, share in PERCENTILES.items()]
    return [F.min(name).alias(f"{name}_min"), *middle, F.max(name).alias(f"{name}_max")]
