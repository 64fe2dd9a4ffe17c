"""Checks before Spark starts, because Spark takes seconds to fail: does a master answer, do folders exist?

Paths are checked only if this process and Spark see the same file system. Paths on other file systems, and paths for a cluster whose
settings may name another file system, are left to Spark.
"""

from __future__ import annotations

import os
import re
import socket
from argparse import Namespace
from collections.abc import Mapping
from glob import has_magic
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from .errors import BadInput, SparkCannotStart
from .input_size import size
from .session import submitted, without_parameters
from .settings import MUCH

PATIENCE_S: Final = 2.0
"""Time for looking up the names of a master's addresses and for one of them to answer."""
LOCAL: Final = re.compile(r"local(\[(\*|\d+)(,\s*(\*|\d+))?\])?|local-cluster\[.+\]")
STANDALONE: Final = re.compile(r"spark://[^,/\s]+:\d+(,[^,/\s]+:\d+)*")
MANAGED: Final = re.compile(r"yarn|k8s://.+")
CONNECT: Final = re.compile(r"sc://(?P<host>\[[^]]+\]|[^/:;\s]+)(:(?P<port>\d+))?(/(;[^=;]+=[^;]*)*)?")
"""The URL of a Spark Connect server, with parameters after `/;` (Spark's docs: "Spark Connect", connection string)."""
CONNECT_PORT: Final = 15002
TOKEN: Final = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
LOOPBACK: Final = re.compile(r"127\..+|\[::1\]")
SCHEME: Final = re.compile(r"^(?!file:)[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
FILES: Final = re.compile(r"^file:(//(?=/))?", re.IGNORECASE)
STANDARD: Final = "-"


def check_master(master: str | None) -> None:
    """Check the value of --master. Raises BadInput for a malformed URL, and SparkCannotStart if a standalone master does not answer."""
    if master is None or LOCAL.fullmatch(master) or MANAGED.fullmatch(master):
        return
    if not STANDALONE.fullmatch(master):
        raise BadInput(f"--master {master}: no such kind of master: local[2], spark://HOST:PORT[,HOST:PORT...], yarn or k8s://HOST:PORT")
    addresses = [(host, int(port)) for host, _, port in (each.rpartition(":") for each in master.removeprefix("spark://").split(","))]
    failures = _unreachable(addresses)
    if failures is not None:
        raise SparkCannotStart(
            f"no Spark master answers at {master} ({failures}): start one and its workers"
            " (docs/how-to/pipeline.md#a-cluster-of-your-own), or leave --master out to use this machine"
        )


def check_remote(remote: str | None, environment: Mapping[str, str] = os.environ) -> None:
    """Check the value of --remote. Raises BadInput for a malformed URL, and SparkCannotStart if the Spark Connect server does not
    answer."""
    if remote is None:
        return
    match = CONNECT.fullmatch(remote)
    if match is None:
        raise BadInput(
            f"--remote {without_parameters(remote)}: a Spark Connect server is sc://HOST, sc://HOST:PORT or sc://HOST:PORT/;KEY=VALUE"
        )
    has_token, speaks_tls = TOKEN in environment or ";token=" in remote, ";use_ssl=true" in remote.lower()
    # This is checked first, because PySpark with a token would retry TLS for ten minutes against a server without TLS.
    if has_token and not speaks_tls and LOOPBACK.fullmatch(match["host"]):
        here = f"sc://localhost:{match['port'] or CONNECT_PORT}"
        raise BadInput(f"--remote {without_parameters(remote)}: with a token PySpark speaks TLS to every host but localhost: say {here}")
    failure = _unreachable([(match["host"], int(match["port"] or CONNECT_PORT))])
    if failure is not None:
        raise SparkCannotStart(
            f"no Spark Connect server answers at {match['host']}:{match['port'] or CONNECT_PORT} ({failure}): start one"
            " (groupmock pipeline spark; docs/how-to/pipeline.md#spark-connect), or leave --remote out to use this machine"
        )


def input_size(arguments: Namespace, settings: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> int | None:
    """Count the bytes of JSON that the job will read, up to settings.MUCH. Returns None if the files cannot be seen from here."""
    paths = [_local(path) for path in (arguments.input, getattr(arguments, "other", None)) if path not in (None, STANDARD)]
    if not _sees_our_files(arguments, settings, environment) or None in paths:
        return None
    return sum(size(path, MUCH) for path in paths if path is not None)


def check_places(arguments: Namespace, settings: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> None:
    """Check that the input exists and that the output folder can be written. Raises BadInput."""
    if not _sees_our_files(arguments, settings, environment):
        return
    read = {"": arguments.input, "--with ": getattr(arguments, "other", None)}
    for flag, path in read.items():
        local = _local(path)
        if local is not None and not has_magic(local) and not os.path.exists(local):
            raise BadInput(f"{flag}{path}: no such file or folder")
    local = _local(arguments.output)
    if local is not None:
        _check_output(arguments.output, local)


def _check_output(name: str, path: str) -> None:
    ancestor = os.path.abspath(path)
    while not os.path.lexists(ancestor):
        ancestor = os.path.dirname(ancestor)
    if not os.path.isdir(ancestor):
        raise BadInput(f"{name}: {ancestor} is no folder")
    if not os.access(ancestor, os.W_OK | os.X_OK):
        raise BadInput(f"{name}: nothing can be written to {ancestor}: name a folder that can be written")


def _sees_our_files(arguments: Namespace, settings: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    elsewhere = submitted(environment) or "HADOOP_CONF_DIR" in environment or "SPARK_CONF_DIR" in environment
    named = any("defaultFS" in key for key in settings)
    managed = arguments.master is not None and MANAGED.fullmatch(arguments.master)
    return not (elsewhere or named or managed or arguments.remote)


def _local(path: str | None) -> str | None:
    """Return a path of this machine, or None if the path is stdin or on another file system."""
    return None if path is None or path == STANDARD or SCHEME.match(path) else FILES.sub("", path)


def _unreachable(addresses: list[tuple[str, int]]) -> str | None:
    """Return None if one of the addresses answers, else why none does. Each address is tried in a daemon thread, because looking up a
    name may take longer than the caller waits."""
    answers: SimpleQueue[str | None] = SimpleQueue()

    def ask(host: str, port: int) -> None:
        try:
            socket.create_connection((host.strip("[]"), port), timeout=PATIENCE_S).close()
            answers.put(None)
        except (OSError, UnicodeError) as failure:
            answers.put(getattr(failure, "strerror", None) or str(failure))

    for address in addresses:
        Thread(target=ask, args=address, daemon=True).start()
    why = f"no answer within {PATIENCE_S:g} s"
    for _ in addresses:
        try:
            failure = answers.get(timeout=PATIENCE_S)
        except Empty:
            break
        if failure is None:
            return None
        why = failure
    return why
