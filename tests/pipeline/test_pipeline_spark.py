"""Spark that stays: a server of Spark Connect, and how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from unittest.mock import Mock

import pytest
from cases import for_each
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from groupmock_pipeline import command, session
from groupmock_pipeline.errors import BadInput, SparkCannotStart
from groupmock_pipeline.jobs import spark as staying

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S: Final = 120


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is somebody's."""
    with socket.create_server((staying.HOST, 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free() -> int:
    with socket.create_server((staying.HOST, 0)) as server:
        return server.getsockname()[1]


def test_it_says_where_it_is_and_ends_in_good_order(free: int) -> None:
    words = [sys.executable, "-m", "groupmock_pipeline", "spark", "--port", str(free)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"sc://localhost:{free}\n"
            socket.create_connection((staying.HOST, free)).close()
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, said
            assert "spark: ended\n" in said
        finally:
            process.kill()


def test_a_port_that_is_taken_is_said_before_spark_starts(taken: int) -> None:
    with pytest.raises(SparkCannotStart, match=f"^port {taken} of 127.0.0.1 is taken .*: end what is there, or give --port$"):
        staying.settings(Namespace(port=taken))


@for_each("port", [0, 80, 65536])
def test_a_port_that_is_none_for_it_is_refused(port: int) -> None:
    with pytest.raises(BadInput, match=f"^--port {port}: give one from 1024 to 65535$"):
        staying.settings(Namespace(port=port))


def test_who_kills_java_ends_the_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(staying, "sleep", lambda _: None)
    before = signal.getsignal(signal.SIGTERM)
    started = Mock(**{"sparkContext.statusTracker.return_value.getActiveStageIds.side_effect": [[], Py4JNetworkError()]})
    with pytest.raises(SparkCannotStart, match=r"^Java has ended"):
        staying.run(started, Namespace(port=15002))
    signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().out == "sc://localhost:15002\n"


def test_a_server_that_refuses_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    said = '<_InactiveRpcError of RPC that terminated with:\n\tstatus = UNAUTHENTICATED\n\tdetails = "Invalid authentication token"\n'
    monkeypatch.setattr(session, "_there", lambda _: True)
    refusing = Mock(**{"remote.return_value.appName.return_value.getOrCreate.side_effect": PySparkException(said)})
    monkeypatch.setattr(SparkSession, "builder", refusing)
    with pytest.raises(SparkCannotStart, match=r"^no session on the Spark Connect server sc://localhost: Invalid authentication token$"):
        session.session("any", remote="sc://localhost")


@for_each("words", [["lake"], ["--remote", "sc://here"], ["--ship"]])
def test_it_takes_no_lake_and_runs_nowhere_else(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        command.parse("spark", words, "groupmock pipeline spark")
    assert f"unrecognized arguments: {' '.join(words)}" in capsys.readouterr().err
