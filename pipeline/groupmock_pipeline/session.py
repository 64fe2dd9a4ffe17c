"""Make the Spark session of a job: started here, by spark-submit, or on a Spark Connect server."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from . import class_archive, java
from .errors import SparkCannotStart, lacks
from .interrupts import delayed_sigint
from .settings import LOCAL, NEEDED, suiting, this_machine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: Final = re.compile(r"local|spark://(localhost|127\.|\[::1\])")
"""Matches masters whose workers are on this machine."""
JAVA_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
JAVA_SETTING: Final = "spark.driver.defaultJavaOptions"
"""The setting of Spark and the environment variables that hold options for Java. Java itself reads the first three variables, and
Spark's launcher adds the others."""
CONNECT_NEEDS: Final = ("grpc", "grpc_status", "google.rpc", "pandas", "zstandard")
"""The modules that PySpark's client of Spark Connect imports."""
DETAILS: Final = re.compile(r'^\s*details = "(.+)"$', re.MULTILINE)
"""Matches the informative line of a gRPC error."""


def session(
    name: str, master: str | None = None, settings: dict[str, str] | None = None, size: int | None = None, remote: str | None = None
) -> SparkSession:
    """Return a Spark session of that name, which is started if necessary. It runs at `master` (default: as spark-submit says, else
    local[*]), or on the Spark Connect server `remote`.

    `size` is the number of bytes of JSON to read (input_size.py), or None if unknown. `settings` override ours. Raises SparkCannotStart.
    """
    if find_spec("pyspark") is None:
        raise lacks("Spark")
    if remote is not None:
        return _on_server(name, remote, settings or {})
    return _submitted(name, master, settings or {}) if submitted() else _started(name, master or "local[*]", settings or {}, size)


def submitted(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether spark-submit started this process and hence decides where Spark runs."""
    return "PYSPARK_GATEWAY_PORT" in environment


def _started(name: str, where: str, settings: dict[str, str], size: int | None) -> SparkSession:
    java_home = java.home()
    if java_home is not None:
        os.environ["JAVA_HOME"] = java_home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if HERE.match(where):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # Spark listens on loopback only, unless the user says otherwise.
    archive = class_archive.options(java.found(), name == "all") if LOCAL.fullmatch(where) else []
    told = " ".join([settings.get(JAVA_SETTING, ""), *(os.environ.get(each, "") for each in JAVA_VARIABLES)])
    return _got(name, where, NEEDED | suiting(where, size, this_machine(), archive, told) | settings)


def _submitted(name: str, master: str | None, settings: dict[str, str]) -> SparkSession:
    """Return a session with the settings of spark-submit."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return _with_needed(_got(name, master, settings))


def _on_server(name: str, remote: str, settings: dict[str, str]) -> SparkSession:
    """Open a session on a Spark Connect server. The server may refuse settings, of which PySpark warns."""
    missing = [module for module in CONNECT_NEEDS if not _there(module)]
    if missing:
        raise lacks(f"{missing[0]} for Spark Connect", "pipeline,pipeline-connect")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        spark = SparkSession.builder.remote(remote).appName(f"groupmock {name}").getOrCreate()
        for key, value in (NEEDED | settings).items():
            spark.conf.set(key, value)
    except PySparkException as error:
        details = DETAILS.search(str(error))
        reason = details[1] if details else str(error).partition("\n")[0]
        raise SparkCannotStart(f"no session on the Spark Connect server {without_parameters(remote)}: {reason}") from error
    return spark


def without_parameters(remote: str) -> str:
    """Return a Spark Connect server's URL for messages, without parameters, because one may be a token."""
    return remote.partition(";")[0].rstrip("/")


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # `find_spec` raises ModuleNotFoundError if the parent package is missing.
        return False


def _got(name: str, where: str | None, settings: dict[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(f"groupmock {name}").config(map=dict(settings))
    if where is not None:
        builder = builder.master(where)
    try:
        with delayed_sigint():
            return builder.getOrCreate()
    except (PySparkRuntimeError, Py4JError) as error:
        # Spark tries for about a minute to register with the master, and then only says that it has stopped. So the message adds a guess.
        doubt = f" (is it a Spark master of this version that listens at {where}?)" if where and where.startswith("spark:") else ""
        raise SparkCannotStart(f"Spark does not start: {_reason(error)}{doubt}") from error


def _with_needed(spark: SparkSession) -> SparkSession:
    given = {row["key"] for row in spark.sql("SET").collect()}
    for key in NEEDED.keys() - given:
        spark.conf.set(key, NEEDED[key])
    return spark


def _reason(error: Exception) -> str:
    """Return one line of the error: Java's own message, which py4j puts after its own line."""
    first, *others = str(error).splitlines() or [""]
    return others[0].removeprefix(": ").partition(": ")[2] or others[0] if others and first.startswith("An error occurred") else first
