"""`--like` copies topics, ids, configs, offsets and committed offsets from another cluster, here a groupmock server on loopback.
tests/live/kafka/test_like_on_kafka.py copies from real Kafka."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from groupmock import Broker
from groupmock.cli import main
from groupmock.config.resolve import ConfigError
from groupmock.server.running import CannotStart
from groupmock_codec.records import NewRecord, encode_batch


@pytest.fixture(scope="module")
def real() -> Iterator[Broker]:
    """Start three nodes with `orders`, whose log begins at offset 4, `prices`, which is compacted, and a group with two committed
    offsets."""
    with Broker(nodes=3, default_replication_factor=3, seed=1) as broker:
        broker.create_topic("orders", 2)
        broker.create_topic("prices", 1)
        broker.configure_topic("prices", {"cleanup.policy": "compact", "segment.ms": "60000"})
        broker.set_next_offset("orders", 0, 4)
        for at in range(5):
            broker.produce("orders", value=f"v{at}", key=f"k{at}", partition=0, headers=[("n", b"\xff")], timestamp=1000 + at)
            broker.produce("prices", value=f"p{at}", key="k")
        broker.produce("prices", value="q", key="l")
        broker.compact("prices", roll=True)
        broker.commit_offsets("kitchen", {"orders": {0: 6}, "prices": {0: 3}})
        yield broker


def address(broker: Broker) -> str:
    return broker.bootstrap.split(",")[0]


def written(capsysbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, list[dict[str, Any]], str]:
    """Return exit code, output lines and stderr of the verb."""
    code = main(["like", *words])
    told = capsysbinary.readouterr()
    return code, [json.loads(line) for line in told.out.splitlines()], told.err.decode()


def facts(broker: Broker, name: str) -> list[tuple[int, int]]:
    """Return the first and the end offset of each partition's log."""
    return [(each.start_offset, each.end_offset) for each in broker.topics[name].partitions]


def test_without_records_offsets_and_lag_mean_what_they_meant(real: Broker) -> None:
    with Broker(like=address(real), nodes=3) as copy:
        assert [copy.topics[name].topic_id for name in ("orders", "prices")] == [
            real.topics[name].topic_id for name in ("orders", "prices")
        ]
        assert facts(copy, "orders") == facts(real, "orders") == [(4, 9), (0, 0)]
        assert facts(copy, "prices") == [(0, 6)]
        assert copy.topics["prices"].configs == {"cleanup.policy": "compact", "segment.ms": "60000"}
        assert copy.records("orders") == copy.records("prices") == []
        assert copy.lag("kitchen") == real.lag("kitchen")
        assert copy.produce("orders", value="next") == 9
        copy.clear()
        assert facts(copy, "orders") == [(4, 9), (0, 0)], "what was copied comes back"


def test_the_newest_records_come_with_their_offsets(real: Broker) -> None:
    with Broker(like=address(real), like_records=2) as copy:
        assert copy.records("orders") == real.records("orders")[-2:]
        assert copy.records("prices") == real.records("prices")
        assert [each.offset for each in copy.records("prices")] == [4, 5]
        assert (facts(copy, "orders"), facts(copy, "prices")) == ([(4, 9), (0, 0)], [(0, 6)])


def test_a_file_says_the_same_and_what_was_left_out(real: Broker, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    code, lines, said = written(capsysbinary, address(real), "--records", "2")
    assert code == 0
    assert lines[0]["replication_factor"] == 1
    assert said.splitlines() == [
        "groupmock like: not copied: topics with 1 replica(s) instead of 3 (--nodes 3 keeps them): orders, prices",
        "groupmock like: not copied: records left out, older than the newest 2 of their partition: orders/0, prices/0",
    ]
    path = tmp_path / "seed.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    with Broker(seed_data=str(path)) as copy:
        assert written(capsysbinary, address(copy), "--records", "2")[1] == lines


def test_a_copy_of_a_copy_is_the_same(real: Broker, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    _, lines, said = written(capsysbinary, address(real), "--nodes", "3", "--records", "100")
    with Broker(like=address(real), like_records=100, nodes=3) as copy:
        assert written(capsysbinary, address(copy), "--nodes", "3", "--records", "100")[:2] == (0, lines)
    assert said == ""


def test_a_config_that_the_profile_does_not_know_is_said_and_left(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with Broker(profile="kafka-3.9", topics=["t"]) as older:
        older.configure_topic("t", {"message.downconversion.enable": "false", "segment.bytes": "100", "retention.ms": "7"})
        code, lines, said = written(capsysbinary, address(older))
    assert (code, lines[0]["configs"]) == (0, {"retention.ms": "7"})
    assert "configs left out, message.downconversion.enable is not known to this profile: t" in said
    assert "configs left out, Invalid value 100 for configuration segment.bytes" in said


def test_what_cannot_be_read_is_a_hole(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with Broker(topics=["t"]) as broken:
        batch = bytearray(encode_batch([NewRecord(value=b"v")] * 3))
        batch[22] |= 1  # Set the compression bits of the batch header to gzip although the records are not compressed.
        broken.produce("t", value="before")
        broken._command("append", topic="t", partition=0, batch=bytes(batch))
        broken.produce("t", value="after")
        code, lines, said = written(capsysbinary, address(broken), "--records", "9")
    assert code == 0 and "records left out, bad gzip" in said
    assert [line.get("next_offset", line.get("offset")) for line in lines[1:]] == [0, 4, 4]


# -- what cannot be asked ----------------------------------------------------------------------------------------------


@contextmanager
def listener(answer: bytes | None) -> Iterator[str]:
    """Start a TCP server that sends `answer` to any request, or hangs up if `answer` is None."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            link, _ = server.accept()
            with link:
                link.recv(4096)
                if answer is not None:
                    link.sendall(answer)
                    link.recv(4096)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_each_error_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
    assert main(["like", nobody]) == 3
    assert capsys.readouterr().err == (
        f"groupmock like: cannot reach the cluster {nobody}: Connection refused: start it, or name another one in HOST:PORT\n"
    )
    for answer, sentence in (
        (b"\x15\x03\x03\0\x02\x02\x46", "the cluster {} speaks TLS: add --tls"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what listens at {} does not answer as a Kafka broker does: is it the right address"),
        (None, "what listens at {} does not answer as a Kafka broker does: is it the right address"),
    ):
        with listener(answer) as where:
            assert main(["like", where]) == 3
        said = capsys.readouterr().err
        assert said.startswith("groupmock like: " + sentence.format(where)) and said.count("\n") == 1
    for words in (["like", "nowhere"], ["like", "127.0.0.1:1", "--records", "many"], ["like", "h:1", "--tls-ca", "/nowhere"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_listener_that_wants_credentials_is_called_that(capsys: pytest.CaptureFixture[str]) -> None:
    rows = b"".join(key.to_bytes(2, "big") + b"\0\0" + b"\0\x05" for key in (3, 18))
    body = b"\0\0\0\1" + b"\0\0" + (2).to_bytes(4, "big") + rows
    with listener(len(body).to_bytes(4, "big") + body) as where:
        assert main(["like", where]) == 3
    assert "closed the connection when it was asked for Metadata: it may want credentials: see --sasl-user" in capsys.readouterr().err


def test_the_server_says_the_same_with_its_own_flags(capsys: pytest.CaptureFixture[str], real: Broker) -> None:
    assert main(["serve", "--port", "0", "--like", "127.0.0.1:x"]) == 2
    assert capsys.readouterr().err == "groupmock serve: --like: '127.0.0.1:x' is no HOST:PORT\n"
    assert main(["serve", "--port", "0", "--like", "h:1", "--seed-data", "x"]) == 2
    assert "seed data comes from a file or from a cluster" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="not from both"):
        Broker(like="h:1", seed_data=[])
    with pytest.raises(CannotStart, match="cannot reach the cluster"):
        Broker(like="127.0.0.1:1").start()


def test_a_group_that_may_not_be_read_is_said(real: Broker, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    with real.fault({"api": "OffsetFetch"}, {"kind": "error", "code": "GROUP_AUTHORIZATION_FAILED"}):
        code, lines, said = written(capsysbinary, address(real), "--nodes", "3")
    assert code == 0 and not [line for line in lines if "group" in line]
    assert "groups left out, GROUP_AUTHORIZATION_FAILED: kitchen" in said
