"""Starts Spark in separate processes on loopback: a cluster, a Spark Connect server, and an S3 server for the data."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from groupmock_pipeline import java

from .environments import Environment

HERE: Final = "127.0.0.1"
PATIENCE_S: Final = 300
GRACE_S: Final = 60
WORKERS: Final = 2
MASTER: Final = r"Starting Spark master at (spark://\S+).*I have been elected leader! New state: ALIVE"
WORKER: Final = r"(Successfully registered with master)"
CONNECT: Final = r"Spark Connect server started at: (\S+)"
URL: Final = r"(sc://localhost:\d+)"
S3: Final = r"Running on (http://\S+)"


@contextmanager
def standalone(spark: Environment, folder: Path) -> Iterator[str]:
    """Yield the master URL of a cluster with `WORKERS` workers of one core each."""
    with ExitStack() as stack:
        master = _class(spark, "master.Master", "--host", HERE, "--port", "0", "--webui-port", "0")
        daemon = _here(spark) | {"SPARK_DAEMON_MEMORY": "256m"}
        url = stack.enter_context(_saying(master, MASTER, daemon))
        for number in range(WORKERS):
            words = ("--host", HERE, "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / str(number)), url)
            stack.enter_context(_saying(_class(spark, "worker.Worker", *words), WORKER, daemon))
        yield url


@contextmanager
def connect(spark: Environment, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the URL of a Spark Connect server that runs Spark in its own process."""
    here = {"spark.connect.grpc.binding.address": HERE, "spark.connect.grpc.binding.port": "0", "spark.ui.enabled": "false"}
    flags = [word for key, value in (here | dict(settings)).items() for word in ("--conf", f"{key}={value}")]
    server = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]", *flags, "spark-internal")
    with _saying([str(spark.spark / "bin" / "spark-submit"), *server], CONNECT, _here(spark)) as address:
        yield f"sc://{address}"


@contextmanager
def staying(spark: Environment) -> Iterator[str]:
    """Yield the URL of `groupmock pipeline spark`."""
    with _saying([str(spark.python), "-m", "groupmock_pipeline", "spark", "--master", "local[2]", "--port", "0"], URL, {}) as remote:
        yield remote


@contextmanager
def s3(spark: Environment) -> Iterator[str]:
    """Yield the endpoint of moto's server, which keeps everything in its memory."""
    with _saying([str(spark.python), "-m", "moto.server", "-H", HERE, "-p", "0"], S3, {}) as endpoint:
        yield endpoint


def _class(spark: Environment, name: str, *words: str) -> list[str]:
    return [str(spark.spark / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words]


def _here(spark: Environment) -> dict[str, str]:
    home = java.home()
    where = {} if home is None else {"JAVA_HOME": home}
    return where | {"SPARK_HOME": str(spark.spark), "SPARK_LOCAL_IP": HERE, "PYSPARK_PYTHON": str(spark.python)}


@contextmanager
def _saying(words: Sequence[str], ready: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Start a process and yield the regex group of `ready` in its output. The process ends with the block."""
    with subprocess.Popen(
        words, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield _said(process, ready)
        finally:
            process.terminate()
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _said(process: subprocess.Popen[str], ready: str) -> str:
    assert process.stdout is not None
    text = ""
    impatience = threading.Timer(PATIENCE_S, process.kill)
    impatience.start()
    try:
        for line in process.stdout:
            text += line
            if found := re.search(ready, text, re.DOTALL):
                # Keep reading the output, because a full pipe would block the process.
                threading.Thread(target=deque, args=(process.stdout, 0), daemon=True).start()
                return found[1]
    finally:
        impatience.cancel()
    raise AssertionError(f"{process.args!r} ended, or was ended after {PATIENCE_S} s, before it said {ready!r}: {text}")
