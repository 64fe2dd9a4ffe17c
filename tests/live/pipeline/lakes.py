"""Creates lakes with `groupmock pipeline all` in a separate process and compares two lakes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import spark_events
from pyspark.sql import functions as F

from groupmock_pipeline import tables

from .environments import Environment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES: Final = ("rows", "runs", "quarantine", "rebalances", "heartbeats", "shares", "faults")
PLACED: Final = {"file": "^.*/", "duplicate_of": "^.*/", "run": "-[0-9a-f]{12}$"}
"""Columns that depend on the journal's folder and file system, with a pattern for the part that differs. `run` ends with a digest of the
file's whole name."""
CHANGED: Final = "modified"
"""Name of the column that always differs, because an upload to S3 changes the time of modification."""
PATIENCE_S: Final = 900
SMALL: Final = {
    "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g",
    "spark.executor.memory": "1g", "spark.executor.cores": "1",
}  # fmt: skip


def played(python: Environment, journals: str, lake: str, *where: str, settings: Mapping[str, str] = SMALL) -> str:
    """Compute every table of the journals on the Spark that `where` names, and return the output."""
    words = [str(python.python), "-m", "groupmock", "pipeline", "all", journals, lake, *where, *spark_events.flags(dict(settings))]
    here = {key: value for key, value in os.environ.items() if key not in ("SPARK_HOME", "PYTHONPATH")}
    done = subprocess.run(words, env=here, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def differing(spark: SparkSession, lake: Path, other: Path, moved: bool = False) -> dict[str, list[str]]:
    """Return by table the lines, as JSON, that one lake has more often than the other. With `moved` the journals lay in different
    places."""
    found = {}
    for name in TABLES:
        one, two = (_lines(tables.read(spark, str(each), name), moved) for each in (lake, other))
        odd = one.exceptAll(two).unionByName(two.exceptAll(one))
        if lines := [row.line for row in odd.take(4)]:
            found[name] = lines
    return found


def _lines(table: DataFrame, moved: bool) -> DataFrame:
    if moved:
        table = table.drop(CHANGED).withColumns(
            {name: F.regexp_replace(name, what, "") for name, what in PLACED.items() if name in table.columns}
        )
    return table.select(F.to_json(F.struct(*table.columns), {"ignoreNullFields": "false"}).alias("line"))
