"""Find the runs of two lakes that play the same scenario.

The journal of a scenario names it in the `client` row `runner` / `begin` (groupmock_clients.scenarios.play): scenario, protocol, client.
Any other run is identified by its file's name, without folder, endings, stage and seed.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..errors import BadInput

NAME: Final = r"([^/]*?)(?:[-_.](?:seed|s|run)?[0-9]+)?(?:\.(?:jsonl|json|gz|zst))*$"
"""Matches the name of a file in a path, without its endings and a number before them."""


def scenarios(rows: DataFrame, runs: DataFrame, by: str | None = None) -> DataFrame:
    """Return columns run and scenario, which is never null. `by` is a regular expression for the file's path, whose first group (else the
    whole match) is the scenario.

    Raises BadInput for a bad expression.
    """
    whole = runs.where("duplicate_of is null") if "duplicate_of" in runs.columns else runs
    files = whole.where(F.col("run").isNotNull()).groupBy("run").agg(F.min("file").alias("file"))
    if by is not None:
        return files.select("run", F.coalesce(_matched("file", by), F.lit("")).alias("scenario"))
    begun = rows.where((F.col("kind") == "client") & (F.col("client") == "runner") & (F.col("what") == "begin"))
    names = [F.get_json_object("fields", f"$.{name}") for name in ("scenario", "protocol", "client")]
    named_by_runner = begun.groupBy("run").agg(F.min(F.concat_ws("/", *names)).alias("told"))
    named = F.regexp_extract("file", NAME, 1)
    return files.join(named_by_runner, "run", "left").select("run", F.coalesce("told", named).alias("scenario"))


def _matched(column: str, by: str) -> Column:
    try:
        groups = re.compile(by).groups
    except re.error as problem:
        raise BadInput(f"--by {by}: not a regular expression: {problem}") from problem
    return F.nullif(F.regexp_extract(column, by, min(groups, 1)), F.lit(""))
