"""Run a Spark Connect server on this machine, for jobs with --remote, which wait neither for Java nor for Spark.

The job prints `sc://localhost:PORT` on stdout when the server is ready, and ends with Ctrl-C or SIGTERM. The settings of the server are
those for small inputs unless --set says otherwise. Every process that reaches the port of the server can do what you can
(docs/reference/pipeline/spark.md).
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
from time import sleep
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

from .. import interrupts
from ..errors import BadInput, SparkCannotStart
from ..preflight import CONNECT_PORT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INPUT: Final = None
OUTPUT: Final = None
"""The job has no output, because the jobs on the server name theirs."""
HOST: Final = "127.0.0.1"
LOOK_S: Final = 1.0

log = logging.getLogger("groupmock_pipeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=CONNECT_PORT, help=f"where jobs find it (default {CONNECT_PORT}; 0: any that is free)")


def settings(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the settings that make a session a server (Spark's docs: "Configuration", Spark Connect). Port 0 is replaced by a free port.

    Raises BadInput for a bad port and SparkCannotStart for a taken one, because Spark would report either in forty lines.
    """
    if arguments.port and not 1024 <= arguments.port <= 65535:
        raise BadInput(f"--port {arguments.port}: give one from 1024 to 65535, or 0")
    try:
        # A free port is chosen here, because for port 0 Spark would choose one and not tell which.
        with socket.create_server((HOST, arguments.port)) as free:
            arguments.port = free.getsockname()[1]
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise SparkCannotStart(f"port {arguments.port} of {HOST} is taken ({why}): end what is there, or give --port") from error
    return {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(arguments.port),
    }


def run(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Wait until the Spark server is ended. Raises SparkCannotStart if Java ended by itself."""
    status = spark.sparkContext.statusTracker()
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    print(f"sc://localhost:{arguments.port}", flush=True)
    try:
        while True:
            interrupts.check()
            sleep(LOOK_S)
            status.getActiveStageIds()
    except KeyboardInterrupt:
        log.info("spark: ended")
    except (Py4JError, OSError) as error:
        raise SparkCannotStart("Java has ended, and the server with it") from error
