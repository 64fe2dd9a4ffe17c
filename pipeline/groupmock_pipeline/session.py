"""A Spark session for a job."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from . import java
from .errors import SparkCannotStart, lacks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a run called 007 stays one
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.driver.memory": "4g",  # local: the driver is the executor
    "spark.log.level": "ERROR",
    "spark.sql.files.ignoreCorruptFiles": "false",
}


PARTITIONS_PER_CORE: Final = 4
"""Of a shuffle on one machine."""
HERE: Final = re.compile(r"local|spark://(localhost|127\.|\[::1\])")
"""Masters whose workers are on this machine."""


def session(name: str, master: str | None = None, settings: dict[str, str] | None = None) -> SparkSession:
    """A session of that name; `master`: where spark-submit or the caller says, else local[*]. Raises SparkCannotStart."""
    if find_spec("pyspark") is None:
        raise lacks("Spark")
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    java_home = java.home()
    if java_home is not None:
        os.environ["JAVA_HOME"] = java_home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    where = master or (None if submitted() else "local[*]")
    if where is not None and HERE.match(where):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # nothing of ours listens elsewhere unless it is told to
    builder = SparkSession.builder.appName(f"groupmock {name}")
    for key, value in (SETTINGS | _here(where) | (settings or {})).items():
        builder = builder.config(key, value)
    if where is not None:
        builder = builder.master(where)
    try:
        spark = builder.getOrCreate()
    except (PySparkRuntimeError, Py4JError) as error:
        # Spark itself asks for about a minute whether somebody takes its application, and then says no more than that it has stopped.
        doubt = f" (is it a Spark master of this version that listens at {where}?)" if where and where.startswith("spark:") else ""
        raise SparkCannotStart(f"Spark does not start: {_reason(error)}{doubt}") from error
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def submitted(environment: Mapping[str, str] = os.environ) -> bool:
    """By spark-submit, which then says where Spark runs?"""
    return "PYSPARK_GATEWAY_PORT" in environment


def _reason(error: Exception) -> str:
    """One line: of what Java threw, its own words."""
    thrown = getattr(error, "java_exception", None)
    return str(thrown.getMessage() if thrown is not None else error).partition("\n")[0]


def _here(master: str | None) -> dict[str, str]:
    """What suits this terminal and, where Spark runs in this process, this machine: 200 partitions, Spark's default, suit a cluster."""
    found = {"spark.ui.showConsoleProgress": "true" if sys.stderr.isatty() else "false"}
    if master is not None and master.startswith("local"):
        found["spark.sql.shuffle.partitions"] = str(PARTITIONS_PER_CORE * (os.cpu_count() or 1))
    return found
