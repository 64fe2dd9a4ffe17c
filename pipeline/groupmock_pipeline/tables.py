"""The tables of a lake: where they are, how they are read and written. Nothing else knows a path."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from . import schema
from .errors import BadInput, NoColumns
from .storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("groupmock_pipeline")

EXPLAIN = "groupmock.explain"
"""Spark setting: print the plan of what is written."""
COLUMNS = "_columns.json"
"""Beside the files of a table: its columns, as Spark writes them as JSON. Readers of Parquet skip names that begin so."""
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
        return _of_any_columns(spark, folder, name)
    return spark.read.schema(columns).parquet(folder).select(*columns.names)


def _of_any_columns(spark: SparkSession, folder: str, name: str) -> DataFrame:
    """A table that has no line has no file to tell its columns, if it is partitioned: they are beside it."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.option("mergeSchema", "true").parquet(folder)
    except AnalysisException as error:
        if error.getCondition() != "UNABLE_TO_INFER_SCHEMA":
            raise
        beside = Storage(spark, folder)
        if not beside.exists(COLUMNS):
            raise NoColumns(f"{folder} has no line, and no columns either: make it anew with `groupmock pipeline {job_of(name)}`") from None
        return spark.createDataFrame([], StructType.fromJson(json.loads(beside.read(COLUMNS))))


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
    beside = Storage(spark, place(lake, name))
    beside.remove(COLUMNS)
    beside.write(COLUMNS, table.schema.json())
    log.info("table %s: written to %s in %.1f s", name, place(lake, name), time.monotonic() - begun)
