"""The recorder, the copy of a cluster and the probe authenticate themselves to a secured cluster, and write no secret anywhere."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from confluent_kafka import Consumer
from recordings import Recording, of_kind, recording, where

from groupmock import Broker
from groupmock.cli import main
from groupmock.cli.record import add_arguments
from groupmock.config.resolve import ConfigError, resolve
from groupmock.like.fetch import copied_for
from groupmock.record.settings import Settings, settings_of
from groupmock.rig.wire import Client
from groupmock.security.client_settings import ClientSecurity
from groupmock.server.running import CannotStart
from groupmock_codec.messages.k03_metadata import MetadataRequest

SECRET = "open sesame: nobody may read this"
LISTENERS = {"BOTH": "SASL_SSL://127.0.0.1:0"}
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@pytest.fixture(scope="module")
def cluster() -> Any:
    with Broker("orders:2", listeners=LISTENERS, users={"alice": SECRET}) as broker:
        broker.produce("orders", b"one coffee")
        yield broker


def flags(cluster: Any, folder: Path, mechanism: str, secret: str = SECRET) -> list[str]:
    """Return the flags of TLS and SASL, with the password in a file."""
    file = folder / "password"
    file.write_text(f"{secret}\n", encoding="utf-8")
    ca = str(cluster.security().ca)
    return ["--tls", "--tls-ca", ca, "--sasl-user", "alice", "--sasl-mechanism", mechanism, "--sasl-password-file", str(file)]


def settings(cluster: Any, folder: Path, mechanism: str, secret: str = SECRET) -> Settings:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    words = ["--upstream", cluster.security().bootstrap, "--journal", "j", *flags(cluster, folder, mechanism, secret)]
    return settings_of(parser.parse_args(words))


@for_each("mechanism", MECHANISMS)
def test_recorder_authenticates_for_plain_clients_and_writes_no_secret(
    mechanism: str, cluster: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("recorder")
    known, journal = settings(cluster, folder, mechanism), folder / "journal"
    with recording(cluster.security().bootstrap, journal, tls=known.tls, credentials=known.credentials) as proxy:
        address = where(proxy.bootstrap)
        with Client(address.host, address.port, seconds=60) as client:
            assert [topic.name for topic in client.ask(3, 9, MetadataRequest(topics=None)).topics] == ["orders"]
            assert [each.port for each in client.ask(3, 9, MetadataRequest(topics=None)).brokers] == [address.port]
        rows = proxy.close()
    assert {row["api_key"] for row in of_kind(rows, "request")} == {3}
    assert SECRET not in journal.read_text(encoding="utf-8") and SECRET not in repr(known)


def test_recorder_whose_password_is_wrong_says_so_without_it(cluster: Any, tmp_path: Path) -> None:
    known = settings(cluster, tmp_path, "SCRAM-SHA-256", "sesame")
    with pytest.raises(CannotStart) as caught:
        Recording(cluster.security().bootstrap, tmp_path / "j", tls=known.tls, credentials=known.credentials)
    assert "refuses the credentials: SCRAM-SHA-256 of user alice is refused: Authentication failed" in str(caught.value)
    assert "see --sasl-user" in str(caught.value) and "sesame" not in str(caught.value)


def test_copy_of_a_secured_cluster_has_its_topics(cluster: Any, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["like", cluster.security().bootstrap, "--records", "1", *flags(cluster, tmp_path, "SCRAM-SHA-512")]) == 0
    assert b'"orders"' in capfdbinary.readouterr().out


def test_served_copy_authenticates_by_its_environment(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUPMOCK_LIKE_SASL_PASSWORD", SECRET)
    security = cluster.security()
    config = resolve({"like": security.bootstrap, "like-tls": True, "like-tls-ca": security.ca, "like-sasl-user": "alice"})
    assert config.like is not None
    assert b'"orders"' in asyncio.run(copied_for(config, config.like)).lines


def test_probe_judges_a_broker_behind_tls_and_sasl(cluster: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["probe", cluster.security().bootstrap, "--only", "SERVER-04", "--quick", *flags(cluster, tmp_path, "PLAIN")]
    assert main(words) == 0
    assert "0 broken" in capsys.readouterr().out


@for_each(("words", "text"), [
    (["--sasl-mechanism", "PLAIN"], "--sasl-mechanism, --sasl-password-file: they need --sasl-user NAME"),
    (["--sasl-user", "a", "--sasl-mechanism", "GSSAPI"], "--sasl-mechanism: 'GSSAPI' is not spoken"),
    (["--sasl-user", "a"], "put it into a file (--sasl-password-file FILE) or into GROUPMOCK_SASL_PASSWORD"),
    (["--sasl-user", "a", "--sasl-password-file", "/nowhere"], "--sasl-password-file: cannot read /nowhere"),
])  # fmt: skip
def test_credentials_that_are_incomplete_are_one_sentence(words: list[str], text: str) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(ConfigError) as caught:
        settings_of(parser.parse_args(["--upstream", "h:1", "--journal", "j", *words]))
    assert text in str(caught.value)


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_client_goes_through_with_its_own_security(protocol: str, cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(SECRET, encoding="utf-8")
    words = ["--upstream", cluster.security().bootstrap, "--journal", "j", "--tls", "--tls-ca", str(cluster.security().ca)]
    words += ["--listener", f"OUTSIDE={protocol}://127.0.0.1:0", "--listener-dir", str(tmp_path / "tls")]
    words += ["--sasl-user", "alice", "--sasl-password-file", str(file)] if protocol == "SSL" else []
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    asked, journal = settings_of(parser.parse_args(words)), tmp_path / "journal"
    assert asked.listener is not None
    how = {"tls": asked.tls, "credentials": asked.credentials, "listener": asked.listener}
    with recording(cluster.security().bootstrap, journal, **how) as proxy:
        security = ClientSecurity(
            bootstrap=proxy.bootstrap, protocol=protocol, ca=asked.listener.ca, user="alice", password=SECRET, mechanism="SCRAM-SHA-256"
        )
        consumer = Consumer(security.confluent_kafka() | {"group.id": f"kitchen-{protocol}", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        message = consumer.poll(60)
        consumer.close()
        rows = proxy.close()
    assert message is not None and message.value() == b"one coffee", message and message.error()
    assert {3, 11, 14} <= {row["api_key"] for row in of_kind(rows, "request")}
    assert SECRET not in journal.read_text(encoding="utf-8")


def test_recorder_with_a_user_of_its_own_listens_without_sasl(cluster: Any, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    words = ["--upstream", "h:1", "--journal", "j", *flags(cluster, tmp_path, "PLAIN"), "--listener", "X=SASL_PLAINTEXT://127.0.0.1:0"]
    with pytest.raises(ConfigError, match="leave --sasl-user out, or listen without SASL"):
        settings_of(parser.parse_args(words))
