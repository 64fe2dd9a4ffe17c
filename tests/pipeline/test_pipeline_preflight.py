"""Mistakes in the arguments are reported in one sentence with the right exit code before Spark starts Java."""

from __future__ import annotations

import os
import socket
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from cases import for_each

from groupmock.cli import main
from groupmock_pipeline import session
from groupmock_pipeline.errors import BadInput, SparkCannotStart
from groupmock_pipeline.preflight import TOKEN, check_master, check_places, check_remote, input_size
from groupmock_pipeline.settings import MUCH


def no_spark(*_: object) -> NoReturn:
    raise AssertionError("Spark was to start")


@pytest.fixture
def refusing() -> Iterator[int]:
    """Yield a port that is bound but does not listen, so that connections are refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@for_each(
    ("words", "code", "said"),
    [
        (["rebalances", "{0}/none", "{0}"], 2, "groupmock pipeline rebalances: {0}/none: no such file or folder\n"),
        (["compare", "{0}", "{0}", "--with", "{0}/none"], 2, "groupmock pipeline compare: --with {0}/none: no such file or folder\n"),
        (["ingest", "file:{0}/none", "{0}"], 2, "groupmock pipeline ingest: file:{0}/none: no such file or folder\n"),
        (["campaign", "-", "{0}/file/lake"], 2, "groupmock pipeline campaign: {0}/file/lake: {0}/file is no folder\n"),
        (
            ["faults", "{0}", "{0}", "--master", "sparc://x:1"],
            2,
            "groupmock pipeline faults: --master sparc://x:1: no such kind of master: local[2], ",
        ),
        (
            ["faults", "{0}", "{0}", "--master", "spark://x"],
            2,
            "groupmock pipeline faults: --master spark://x: no such kind of master: local[2], ",
        ),
        (
            ["faults", "{0}", "{0}", "--master", "spark://127.0.0.1:{1},localhost:{1}"],
            3,
            "groupmock pipeline faults: no Spark master answers at spark://127.0.0.1:{1},localhost:{1} (Connection refused): start one",
        ),
        (["faults", "{0}", "{0}", "--remote", "127.0.0.1"], 2, "groupmock pipeline faults: --remote 127.0.0.1: a Spark Connect server is "),
        (
            ["faults", "{0}", "{0}", "--remote", "sc://127.0.0.1:{1}/;user_id=a"],
            3,
            "groupmock pipeline faults: no Spark Connect server answers at 127.0.0.1:{1} (Connection refused): start one",
        ),
        (
            ["faults", "{0}", "{0}", "--remote", "sc://[::1]:{1}/;token=secret"],
            2,
            "groupmock pipeline faults: --remote sc://[::1]:{1}: with a token PySpark speaks TLS to every host but localhost: say sc://local",
        ),
    ],
)
def test_it_is_said_in_one_sentence_without_spark(
    tmp_path: Path,
    refusing: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr(session, "session", no_spark)
    monkeypatch.delenv(TOKEN, raising=False)
    (tmp_path / "file").touch()
    assert main(["pipeline", *(word.format(tmp_path, refusing) for word in words)]) == code
    err = capsys.readouterr().err
    assert err.startswith(said.format(tmp_path, refusing)) and err.count("\n") == 1


def test_one_master_that_answers_is_enough(refusing: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        check_master(f"spark://127.0.0.1:{refusing},127.0.0.1:{master.getsockname()[1]}")
        check_remote(f"sc://127.0.0.1:{master.getsockname()[1]}", {})
    for elsewhere in (None, "local", "local[*]", "local[2,3]", "local-cluster[2,1,1024]", "yarn", "k8s://https://127.0.0.1:1"):
        check_master(elsewhere)


def test_with_a_token_a_loopback_address_is_asked_by_the_name_that_needs_no_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        port = master.getsockname()[1]
        check_remote(f"sc://127.0.0.1:{port}/;use_ssl=true", {TOKEN: "secret"})
        with pytest.raises(BadInput, match=rf"with a token PySpark speaks TLS .*: say sc://localhost:{port}$"):
            check_remote(f"sc://127.0.0.1:{port}", {TOKEN: "secret"})


def test_a_name_that_nobody_has_is_no_master() -> None:
    with pytest.raises(SparkCannotStart, match=r"no Spark master answers at spark://nobody\.invalid:7077 \("):
        check_master("spark://nobody.invalid:7077")


@for_each(
    ("path", "master", "settings", "environment"),
    [
        ("hdfs://name/lake", None, {}, {}),
        ("s3a://bucket/lake", None, {}, {}),
        ("/nowhere/*.jsonl", None, {}, {}),
        ("-", None, {}, {}),
        ("/nowhere", "yarn", {}, {}),
        ("/nowhere", None, {}, {"HADOOP_CONF_DIR": "/etc/hadoop"}),
        ("/nowhere", None, {}, {"PYSPARK_GATEWAY_PORT": "1"}),
        ("/nowhere", "spark://name:7077", {"spark.hadoop.fs.defaultFS": "hdfs://name"}, {}),
    ],
)
def test_what_spark_may_see_otherwise_is_left_to_spark(
    tmp_path: Path, path: str, master: str | None, settings: dict[str, str], environment: dict[str, str]
) -> None:
    check_places(Namespace(input=path, output=str(tmp_path / "a" / "lake"), master=master, remote=None), settings, environment)


def test_what_a_server_reads_is_left_to_it() -> None:
    check_places(Namespace(input="/nowhere", output="/nowhere", master=None, remote="sc://name"), {}, {})


def test_how_much_there_is_to_read_is_told_where_it_is_seen(tmp_path: Path) -> None:
    def told(settings: dict[str, str], environment: dict[str, str], **more: str | None) -> int | None:
        return input_size(Namespace(**{"input": str(tmp_path), "output": "", "master": None, "remote": None} | more), settings, environment)

    (tmp_path / "one.jsonl").write_bytes(b"x" * 100)
    assert told({}, {}) == told({}, {}, input=f"file:{tmp_path}/*") == 100
    assert told({}, {}, other=str(tmp_path)) == 200 and told({}, {}, input="-") == 0
    with (tmp_path / "much.jsonl").open("wb") as file:
        file.truncate(MUCH)
    assert (told({}, {}) or 0) >= MUCH
    for unseen in (told({}, {}, input="s3a://bucket/lake"), told({}, {}, remote="sc://name"), told({}, {"PYSPARK_GATEWAY_PORT": "1"})):
        assert unseen is None


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Pretend that the path is not writable, because root, who may run the tests, can write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(BadInput, match=rf"nothing can be written to {tmp_path}"):
        check_places(Namespace(input="-", output=str(tmp_path / "lake"), master=None, remote=None), {}, {})
