"""Which runs of two lakes are the same scenario.

A scenario's journal says what it is in its `client` row `runner` / `begin` (groupmock_clients.scenarios.play): scenario, protocol, client.
A run without one is known by its file's name, without folder, endings, stage and seed.
"""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..errors import BadInput

NAME: Final = r"([^/]*?)(?:[-_.](?:seed|s|run)?[0-9]+)?(?:\.(?:jsonl|json|gz|zst))*$"
"""Of a path: the file's name without a number at its end and without endings."""


def scenarios(rows: DataFrame, runs: DataFrame, by: str | None = None) -> DataFrame:
    """run -> scenario, never null. `by`: a regular expression on the file's path, whose first group (else the whole match) is the scenario.

    Raises BadInput for a bad expression.
    """
    whole = runs.where("duplicate_of is null") if "duplicate_of" in runs.columns else runs
    files = whole.where(F.col("run").isNotNull()).groupBy("run").agg(F.min("file").alias("file"))
    if by is not None:
        return files.select("run", F.coalesce(_matched("file", by), F.lit("")).alias("scenario"))
    begun = rows.where((F.col("kind") == "client") & (F.col("client") == "runner") & (F.col("what") == "begin"))
    names = [F.get_json_object("fields", f"$.{name}") for name in ("scenario", "protocol", "client")]
    told = begun.groupBy("run").agg(F.min(F.concat_ws("/", *names)).alias("told"))
    named = F.regexp_extract("file", NAME, 1)
    return files.join(told, "run", "left").select("run", F.coalesce("told", named).alias("scenario"))


def _matched(column: str, by: str) -> Column:
    try:
        groups = re.compile(by).groups
    except re.error as problem:
        raise BadInput(f"--by {by}: not a regular expression: {problem}") from problem
    return F.nullif(F.regexp_extract(column, by, min(groups, 1)), F.lit(""))
