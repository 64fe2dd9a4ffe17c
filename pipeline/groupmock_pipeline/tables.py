"""The tables of a lake: where they are, how they are read and written. Nothing else knows a path."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import schema
from .errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("groupmock_pipeline")

EXPLAIN = "groupmock.explain"
"""Spark setting: print the plan of what is written."""
MADE_BY = {"rows": "ingest", "runs": "ingest", "quarantine": "ingest", "characteristics": "campaign", "rule_drift": "drift"}
"""Table -> the job that makes it, where the names differ."""


def place(lake: str, name: str) -> str:
    """The folder of a table."""
    return f"{lake.rstrip('/')}/{name}"


def job_of(name: str) -> str:
    """The job that makes a table."""
    return MADE_BY.get(name, name)


def exists(spark: SparkSession, lake: str, name: str) -> bool:
    """Is that table in the lake?"""
    path = spark._jvm.org.apache.hadoop.fs.Path(place(lake, name))  # type: ignore[union-attr]  # py4j
    return bool(path.getFileSystem(spark._jsc.hadoopConfiguration()).exists(path))


def read(spark: SparkSession, lake: str, name: str) -> DataFrame:
    """A table. Raises BadInput where the lake does not have it."""
    if not exists(spark, lake, name):
        raise BadInput(f"{lake} has no table {name!r}: make it with `groupmock pipeline {job_of(name)} IN {lake}`")
    return of_files(spark, place(lake, name), name)


def of_files(spark: SparkSession, folder: str, name: str) -> DataFrame:
    """The table `name` as it is in a folder. The three that `ingest` makes have today's columns, whatever version wrote them (null: it had
    none), so that no file needs to be opened to know them."""
    columns = {"rows": schema.ROWS, "runs": schema.RUNS, "quarantine": schema.QUARANTINE}.get(name)
    if columns is None:
        return spark.read.option("mergeSchema", "true").parquet(folder)
    return spark.read.schema(columns).parquet(folder).select(*columns.names)


def write(table: DataFrame, lake: str, name: str, partition_by: Sequence[str] = ()) -> None:
    """Replace a table, or with `partition_by` those of its partitions that `table` has rows of. A partition appears whole."""
    spark, begun = table.sparkSession, time.monotonic()
    if spark.conf.get(EXPLAIN, "false") == "true":
        print(f"== {name} ==")
        table.explain("formatted")
    writer = table.write.mode("overwrite").option("partitionOverwriteMode", "dynamic" if partition_by else "static")
    if partition_by:
        writer = writer.partitionBy(*partition_by)
    writer.parquet(place(lake, name))
    log.info("table %s: written to %s in %.1f s", name, place(lake, name), time.monotonic() - begun)
