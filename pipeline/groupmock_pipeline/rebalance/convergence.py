"""Rebalances that belong together: one cause, and what the cooperative protocol does about it in further rounds."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from .moves import COOPERATIVE
from .summary import REJOINS


def converged(lines: DataFrame) -> DataFrame:
    """With convergence (the number of its first rebalance), round (this one's place in it, from 1), rounds (join phases of all of it).

    A rebalance goes on with the convergence of the one before if that ended Stable under a cooperative protocol and asked members to come
    back (it revoked something, or gave a time), and this one began because a member joined again.
    """
    order = Window.partitionBy("run", "group").orderBy("rebalance")
    asked = (F.col("ended") == "stable") & F.col("design").isin(*COOPERATIVE) & ((F.col("revoked") > 0) | (F.col("again_ms") > 0))
    follows = F.col("trigger").isin(*REJOINS) & F.coalesce(F.lag(asked).over(order), F.lit(False))
    first = F.max(F.when(~F.col("_follows"), F.col("rebalance"))).over(order.rowsBetween(Window.unboundedPreceding, 0))
    one = Window.partitionBy("run", "group", "convergence")
    return (
        lines.withColumn("_follows", follows)
        .withColumn("convergence", first)
        .withColumns({"round": F.row_number().over(one.orderBy("rebalance")), "rounds": F.sum("phases").over(one)})
        .drop("_follows")
    )
