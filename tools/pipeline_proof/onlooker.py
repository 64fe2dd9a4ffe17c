"""Keep a Spark session open and read a lake on request: `python -m tools.pipeline_proof.onlooker LAKE TABLE ...`.

Requests and answers are lines of JSON on stdin and stdout. `[]` asks for table -> [rows, sum of their hashes], null for a missing table,
`ledger`, the number of files of which `rows` or `quarantine` has another count than `runs`, and `files`, see `by_file`. `["ingest", IN,
OUT]` runs that job here, and answers its error or an empty text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from groupmock_pipeline import command, jobs, schema, tables
from groupmock_pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL: Final = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}


def digest(table: DataFrame) -> list[str]:
    """Return the number of rows and the sum of their hashes, which depend neither on their order nor on the number of files."""
    hashed = table.select(F.xxhash64(*(each for each in table.columns if each != schema.TAKE)).cast("decimal(38,0)").alias("hash"))
    return [str(each) for each in hashed.agg(F.count("*"), F.sum("hash")).first() or ()]


def by_file(spark: SparkSession, lake: str) -> dict[str, dict[str, str]]:
    """Return for each file the digests of its lines in each table of `ingest`. The file of which it is a copy is ignored, because taking
    a better copy changes that for earlier files."""
    found: dict[str, dict[str, str]] = {}
    for name in ("runs", "rows", "quarantine"):
        table = tables.read(spark, lake, name)
        own = [each for each in table.columns if each not in (schema.TAKE, "duplicate_of")]
        hashed = table.select("file", F.xxhash64(*own).cast("decimal(38,0)").alias("hash"))
        for row in hashed.groupBy("file").agg(F.sum("hash").alias("sum")).collect():
            found.setdefault(row["file"], {})[name] = str(row["sum"])
    return found


def astray(spark: SparkSession, lake: str) -> int:
    """Count the files whose rows or quarantined lines are not as many as the lake's ledger says."""
    told = tables.read(spark, lake, "runs").select("run", "file", F.col("rows").alias("r"), F.col("quarantined").alias("q"))
    for name, column in (("rows", "rows_there"), ("quarantine", "quarantine_there")):
        if tables.exists(spark, lake, name):
            found = tables.read(spark, lake, name).groupBy("run", "file").agg(F.count("*").alias(column))
            told = told.join(found, ["run", "file"], "full")
        else:
            told = told.withColumn(column, F.lit(0))
    return told.where("coalesce(r, -1) != coalesce(rows_there, 0) or coalesce(q, -1) != coalesce(quarantine_there, 0)").count()


def look(spark: SparkSession, lake: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the current state of the lake: the content of its tables, and whether the ledger agrees with them."""
    seen: dict[str, Any] = {}
    for name in names:
        seen[name] = digest(tables.read(spark, lake, name)) if tables.exists(spark, lake, name) else None
    there = tables.exists(spark, lake, "runs")
    seen["ledger"], seen["files"] = (astray(spark, lake), by_file(spark, lake)) if there else (0, {})
    return seen


def ran(spark: SparkSession, words: Sequence[str]) -> str:
    jobs.job(words[0]).run(spark, command.parse(words[0], words[1:], words[0]))
    return ""


def main(lake: str, *names: str) -> None:
    """Answer requests until stdin ends."""
    spark = session("onlooker", "local[2]", SMALL)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        words = json.loads(line)
        try:
            answer: Any = ran(spark, words) if words else look(spark, lake, names)
        except Exception as error:  # Every exception is reported, because any failure is a finding.
            told = f"{type(error).__name__}: {error}"[:2000]
            answer = told if words else {"error": told}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
