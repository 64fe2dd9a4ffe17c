"""A Spark Connect server of the pipeline can be started, used and stopped."""

from __future__ import annotations

import signal
import socket
from argparse import Namespace
from contextlib import suppress
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from cases import for_each
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from groupmock_pipeline import command, session
from groupmock_pipeline.errors import BadInput, SparkCannotStart
from groupmock_pipeline.jobs import spark as staying

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def taken() -> Iterator[int]:
    """Yield a port that another socket occupies."""
    with socket.create_server((staying.HOST, 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_is_taken_is_said_before_spark_starts(taken: int) -> None:
    with pytest.raises(SparkCannotStart, match=f"^port {taken} of 127.0.0.1 is taken .*: end what is there, or give --port$"):
        staying.settings(Namespace(port=taken))


def test_any_port_that_is_free_is_one() -> None:
    told = Namespace(port=0)
    assert staying.settings(told)["spark.connect.grpc.binding.port"] == str(told.port) != "0"


@for_each("port", [-1, 80, 65536])
def test_a_port_that_is_none_for_it_is_refused(port: int) -> None:
    with pytest.raises(BadInput, match=f"^--port {port}: give one from 1024 to 65535, or 0$"):
        staying.settings(Namespace(port=port))


@pytest.fixture
def restored() -> Iterator[None]:
    """Restore the handler of SIGTERM."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("restored")
def test_who_kills_java_ends_the_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(staying, "sleep", lambda _: None)
    started = Mock(**{"sparkContext.statusTracker.return_value.getActiveStageIds.side_effect": [[], Py4JNetworkError()]})
    with pytest.raises(SparkCannotStart, match=r"^Java has ended"):
        staying.run(started, Namespace(port=15002))
    assert capsys.readouterr().out == "sc://localhost:15002\n"


@pytest.mark.usefixtures("restored")
@for_each("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    monkeypatch.setattr(staying, "sleep", lambda _: signal.raise_signal(number))
    staying.run(Mock(), Namespace(port=15002))


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
