"""Blast radius: what followed every fault, until the groups it was about were Stable again with all their members.

Reads `rows`, writes `faults`: one line per fault that struck, by a rule or by a steering command (docs/reference/pipeline/faults.md).
"""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import tables
from ..blast import after, refetched, strikes

STRIKE: Final = (
    "at", "source", "rule", "kind", "stage", "node", "connection", "ticket", "group", "member", "client", "api", "details", "called_off",
)  # fmt: skip
AROUND: Final = ("errors", "replies_lost", "connections_closed", "errors_elsewhere")
COLUMNS: Final = (
    *strikes.PLACE, *STRIKE, "waited_ns", "groups_disturbed", "link", "disturbed_by", "until_stable_ns", "until_first_stable_ns",
    "never_because", "rebalances", "generations", "members", "expelled", "rejoined", "records_again", *AROUND,
    "faults_in_window", "opens_window",
)  # fmt: skip
"""Table `faults`."""


def run(spark: SparkSession, arguments: Namespace) -> None:
    """The lines of the runs that are new."""
    tables.grow(spark, arguments.input, arguments.output, "faults", faults)


def faults(rows: DataFrame) -> DataFrame:
    """Table `faults` from table `rows`: columns `COLUMNS`, times in ns."""
    return from_told(strikes.told(rows), rows)


def from_told(told: DataFrame, rows: DataFrame) -> DataFrame:
    """The same with what `strikes.told` keeps of the rows."""
    stories = strikes.stories(told).join(refetched.refetched(rows, told), ["run", "group"], "left")
    groups = after.per_group(strikes.strikes(told), stories)
    lines = after.around(after.per_strike(after.shared(groups)), after.happenings(told))
    return _line(lines)


def _line(lines: DataFrame) -> DataFrame:
    waited = F.nullif(F.col("strike.let_go_at") - F.col("strike.at"), F.lit(0))
    told = lines.select(*strikes.PLACE, "line.*", *AROUND)
    own = {name: F.col(f"strike.{name}") for name in STRIKE}
    return told.withColumns(own | {"waited_ns": waited}).select(*COLUMNS)
