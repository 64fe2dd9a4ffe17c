"""Combine the rebalances that have one cause, because the cooperative protocol follows a rebalance by further ones."""

from __future__ import annotations

from pyspark.sql import DataFrame

from ..windows import OF_GROUP, SO_FAR
from .moves import COOPERATIVE
from .summary import REJOINS


def converged(lines: DataFrame) -> DataFrame:
    """Add to each rebalance `convergence` (the number of the first rebalance with its cause), `round` (its number among those, from 1) and
    `rounds` (join phases in all of them).

    A rebalance continues the convergence of the previous one under two conditions. The previous one ended Stable under a cooperative
    protocol and asked members to come back (it revoked something, or gave a time). And this one began because a member joined again.
    """
    order = f"{OF_GROUP} order by rebalance"
    asked = f"ended = 'stable' and design in {COOPERATIVE} and (revoked > 0 or again_ms > 0)"
    follows = f"trigger in {REJOINS} and coalesce(lag({asked}) over ({order}), false)"
    first = f"max(case when not _follows then rebalance end) over ({order} {SO_FAR})"
    one = f"{OF_GROUP}, convergence"
    return (
        lines.selectExpr("*", f"{follows} as _follows")
        .selectExpr("* except (_follows)", f"{first} as convergence")
        .selectExpr("*", f"row_number() over ({one} order by rebalance) as round", f"sum(phases) over ({one}) as rounds")
    )
