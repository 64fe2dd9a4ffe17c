"""Compare the audit's verdicts on each library and version in two sets of runs: rules that became broken, and rules that are kept again.

A verdict does not scatter as measurements do: one run in which a rule is broken is reason enough to look. Hence there is no statistical
test and no minimum of runs, but the number of runs is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from groupmock.audit.verdicts import BROKEN, KEPT, NOT_EXERCISED, UNKNOWN

SIDES: Final = ("before", "after")
EVIDENCE: Final = 5
COLUMNS: Final = (
    "rule", "severity", "library", "version", "change", "verdict_before", "verdict_after", "runs_before", "runs_after",
    "broken_runs_before", "broken_runs_after", "kept_before", "kept_after", "broken_before", "broken_after", "evidence", "before", "after",
)  # fmt: skip
"""The columns of table `rule_drift`."""
KEYS: Final = ("rule", "library", "version")


def rule_verdicts(audit: DataFrame, before: Column, after: Column, with_all: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Make `COLUMNS` except `before` and `after` from table `audit`. A run in both windows counts as after. `with_all` adds a line for
    all versions of a library."""
    sided = audit.withColumn("side", F.when(after, "after").when(before, "before")).where(F.col("side").isNotNull())
    whole = sided.where(F.col("rule").isNotNull())
    judged = with_all(_judged(whole)).unionByName(_crashed(whole), allowMissingColumns=True)
    lines = judged.groupBy(*KEYS).agg(
        F.first("severity").alias("severity"),
        *(each for side in SIDES for each in _figures(side)),
        F.array_sort(F.collect_list("proof")).alias("proofs"),
    )
    verdicts = lines.withColumns({f"verdict_{side}": _verdict(side) for side in SIDES})
    latest = F.filter("proofs", lambda each: each["side"] == "after")
    kept = F.when(F.col("verdict_after") == BROKEN, latest).otherwise(F.col("proofs"))
    shown = F.transform(F.slice(kept, 1, EVIDENCE), lambda each: each.dropFields("side"))
    return verdicts.withColumns({"change": _change(), "evidence": shown}).drop("proofs", *(f"unknown_{side}" for side in SIDES))


def _judged(whole: DataFrame) -> DataFrame:
    """Return one line per run, group, rule, library and version, with the first of its findings."""
    place = ("day", "run", "group", "rule", "severity", "side")
    each = whole.select(*place, "findings", F.explode("libraries").alias("one"))
    version = F.coalesce("one.version", F.lit(""))
    own = F.filter(
        "findings", lambda found: (found["library"] == F.col("one.library")) & (F.coalesce(found["version"], F.lit("")) == version)
    )
    first = F.get(own, F.lit(0))
    proof = F.struct(first["at"].alias("at"), "day", "run", "group", first["sentence"].alias("sentence"), "side")
    return each.select(
        *place, F.col("one.library").alias("library"), version.alias("version"), "one.kept", "one.broken",
        F.when(first.isNotNull(), proof).alias("proof"), F.lit(False).alias("crashed"),
    )  # fmt: skip


def _crashed(whole: DataFrame) -> DataFrame:
    """Return one line per run and group in which a rule crashed. Such a line has no library."""
    none = {name: F.lit(None).cast("string") for name in ("library", "version")} | {"crashed": F.lit(True)}
    return whole.where(F.col("reason").isNotNull()).select("day", "run", "group", "rule", "severity", "side").withColumns(none)


def _figures(side: str) -> list[Column]:
    here = F.col("side") == side
    return [
        F.count_distinct(F.when(here & ~F.col("crashed"), F.col("run"))).alias(f"runs_{side}"),
        F.count_distinct(F.when(here & (F.col("broken") > 0), F.col("run"))).alias(f"broken_runs_{side}"),
        F.coalesce(F.sum(F.when(here, F.col("kept"))), F.lit(0)).alias(f"kept_{side}"),
        F.coalesce(F.sum(F.when(here, F.col("broken"))), F.lit(0)).alias(f"broken_{side}"),
        F.count_if(here & F.col("crashed")).alias(f"unknown_{side}"),
    ]


def _verdict(side: str) -> Column:
    known = F.when(F.col(f"broken_{side}") > 0, BROKEN).when(F.col(f"kept_{side}") > 0, KEPT)
    return known.when(F.col(f"unknown_{side}") > 0, UNKNOWN).otherwise(NOT_EXERCISED)


def _change() -> Column:
    was, now = F.col("verdict_before"), F.col("verdict_after")
    change = F.when(was == now, "none").when(was == NOT_EXERCISED, "only after").when(now == NOT_EXERCISED, "only before")
    return change.when(now == BROKEN, "broke").when((was == BROKEN) & (now == KEPT), "mended").otherwise("unknown")
