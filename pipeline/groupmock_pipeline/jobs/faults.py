"""Measure the effects of every fault until the affected groups were Stable again with all their members.

The job reads `rows` and writes `faults`: one line per fault that was applied, by a rule or by a steering command
(docs/reference/pipeline/faults.md).
"""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import tables
from ..fault_effects import after, refetched, strikes
from ..literal_frame import literal_frame

STRIKE: Final = (
    "at", "source", "rule", "kind", "stage", "node", "connection", "ticket", "group", "member", "client", "api", "details", "called_off",
)  # fmt: skip
SCHEMA: Final = (
    "day string, run string, seq bigint, at bigint, source string, rule string, kind string, stage string, node bigint, connection bigint, "
    "ticket bigint, group string, member string, client string, api string, details string, called_off string, waited_ns bigint, "
    "groups_disturbed bigint, link string, disturbed_by string, until_stable_ns bigint, until_first_stable_ns bigint, "
    "never_because string, rebalances bigint, generations bigint, members bigint, expelled bigint, rejoined bigint, records_again bigint, "
    "errors map<string,bigint>, replies_lost bigint, connections_closed bigint, errors_elsewhere bigint, faults_in_window bigint, "
    "opens_window boolean"
)
"""The schema of table `faults`."""
COLUMNS: Final = tuple(re.findall(r"(\w+) [\w<>,]+(?:, |$)", SCHEMA))


def run(spark: SparkSession, arguments: Namespace) -> None:
    """Add the lines of new runs to table `faults`."""
    tables.grow(spark, arguments.input, arguments.output, "faults", faults)


def faults(rows: DataFrame) -> DataFrame:
    """Make table `faults` of table `rows` (columns `COLUMNS`, times in ns). If there was no strike, only that question is computed."""
    if strikes.strike_rows(rows).isEmpty():
        return literal_frame(rows.sparkSession, [], SCHEMA)
    return followed(rows)


def followed(rows: DataFrame) -> DataFrame:
    """Compute for each injected fault in these rows what followed."""
    fetched = refetched.refetched(strikes.of_struck_runs(rows, rows))
    lives = strikes.lives(strikes.relevant_rows(rows)).join(fetched, "run", "left")
    return _line(after.around(after.per_strike(after.shared(after.per_group(lives)))))


def _line(lines: DataFrame) -> DataFrame:
    waited = F.nullif(F.col("strike.let_go_at") - F.col("strike.at"), F.lit(0))
    own = {name: F.col(f"strike.{name}") for name in STRIKE}
    return lines.withColumns(own | {"waited_ns": waited}).select(*COLUMNS)
