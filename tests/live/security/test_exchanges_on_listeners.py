"""The probe keeps the same rows about security on Apache Kafka with listeners, users and an authorizer, and on groupmock. The recorder and
the copy of a cluster reach such a Kafka.

It needs java and the shared folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from recordings import recording, where
from secured_kafka import STANDARD, USERS, secured_kafka

from groupmock import Broker
from groupmock.cli.record import add_arguments
from groupmock.record.settings import settings_of
from groupmock.rig.wire import Client
from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from tools.fidelity.generated.settings_classes import BROKERS

ROWS = {row for row in load_suite().rows if row.startswith("SEC-")}
OF_CONSUMER_GROUPS = {"SEC-100", "SEC-116", "SEC-117", "SEC-118"}
"""Kafka 3.9.1 has consumer groups off, so that these rows are not applicable to it."""
WITHOUT = {"SEC-69"}
"""Only a broker without an authorizer shows this row."""
CLUSTERS: dict[str, tuple[dict[str, str], dict[str, object]]] = {
    "no certificates": ({"SASL": "SASL_PLAINTEXT", "TLS": "SSL", "BOTH": "SASL_SSL"}, {}),
    "short sessions": ({"SASL": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT"}, {"connections.max.reauth.ms": 1500}),
    "requested": ({"REQUESTED": "SSL"}, {"ssl.client.auth": "requested"}),
    "required": ({"REQUIRED": "SSL"}, {"ssl.client.auth": "required"}),
}
"""Listeners and settings of clusters of groupmock, whose listeners all have the same settings."""


def kept(bootstrap: str, release: str, folder: Path, *words: str) -> set[str]:
    """Return the rows that the probe found kept, after it found none broken."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "groupmock_clients.probe", bootstrap, "--release", release, "--patience", "1.5"]
    done = subprocess.run([*command, "--report", "json", "--output", str(report), *words], capture_output=True, text=True, check=False)
    assert report.is_file(), done.stderr
    found = json.loads(report.read_text(encoding="utf-8"))
    assert [f"{each['name']}: {each['detail']}" for each in found["exchanges"] if each["verdict"] == "broken"] == []
    assert found["left_behind"] == []
    return ROWS & {each["row"] for each in found["rows"] if each["verdict"] == "kept"}


@pytest.mark.parametrize("release", ["4.4", "3.9"])
def test_kafka_keeps_every_row_about_security(release: str, tmp_path: Path) -> None:
    with secured_kafka(BROKERS[release], tmp_path / "tls") as (bootstrap, options):
        rows = kept(bootstrap, release, tmp_path, "--only", "SEC-*", *options)
    assert rows == ROWS - WITHOUT - (OF_CONSUMER_GROUPS if release == "3.9" else set())


@pytest.mark.parametrize("release", ["4.4", "3.9"])
def test_groupmock_keeps_every_row_about_security(release: str, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("".join(f"{name}:{password}\n" for name, password in USERS.items()), encoding="utf-8")
    rows: set[str] = set()
    for name, (listeners, settings) in CLUSTERS.items():
        addresses = {each: f"{protocol}://127.0.0.1:0" for each, protocol in listeners.items()}
        secured: dict[str, object] = {
            "authorizer.class.name": STANDARD,
            "super.users": "User:ANONYMOUS",
            "group.initial.rebalance.delay.ms": 400,
        }
        sasl = any("SASL" in protocol for protocol in listeners.values())
        with Broker(
            listeners={"PLAIN": "PLAINTEXT://127.0.0.1:0", **addresses}, users=USERS if sasl else None, profile=f"kafka-{release}",
            settings=secured | settings | {"group.initial.rebalance.delay.ms": 400, "group.min.session.timeout.ms": 100},
        ) as broker:  # fmt: skip
            words = [f"--listener={each}={protocol}://{broker.security(each).bootstrap}" for each, protocol in listeners.items()]
            tls = next((each for each, protocol in listeners.items() if "SSL" in protocol), None)
            if tls is not None:
                files = broker.security(tls, certificate=True)
                words += ["--tls-ca", str(files.ca), "--tls-cert", str(files.certificate), "--tls-key", str(files.key)]
            # The listener SASL of the cluster with short sessions has them too.
            words += ["--only", "SEC-5*" if "SHORT" in listeners else "SEC-*"]
            folder = tmp_path / name
            folder.mkdir()
            rows |= kept(broker.bootstrap, release, folder, "--users", str(users), *words)
    assert rows == ROWS - WITHOUT - (OF_CONSUMER_GROUPS if release == "3.9" else set())


def test_secured_kafka_is_recorded_and_copied(tmp_path: Path) -> None:
    with secured_kafka(BROKERS["4.4"], tmp_path / "tls", authorizer=False) as (bootstrap, options):
        upstream = next(word for word in options if word.startswith("--listener=BOTH=")).rpartition("/")[2]
        password = tmp_path / "password"
        password.write_text(USERS["alice"], encoding="utf-8")
        reach = ["--tls", "--tls-ca", options[options.index("--tls-ca") + 1], "--sasl-user", "alice", "--sasl-password-file", str(password)]
        with Client(*where(bootstrap), seconds=30) as admin:
            topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
            assert admin.ask(19, 5, CreateTopicsRequest(topics=[topic], timeout_ms=9000)).topics[0].error_code == 0
        copied = subprocess.run([sys.executable, "-m", "groupmock", "like", upstream, *reach], capture_output=True, text=True, check=True)
        journal = tmp_path / "journal"
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        asked = settings_of(parser.parse_args(["--upstream", upstream, "--journal", "j", *reach]))
        with recording(upstream, journal, tls=asked.tls, credentials=asked.credentials) as proxy:
            consumer = Consumer({"bootstrap.servers": proxy.bootstrap, "group.id": "kitchen"})
            consumer.subscribe(["orders"])
            end = time.monotonic() + 60
            while not consumer.assignment() and time.monotonic() < end:
                consumer.poll(1)
            consumer.close()
            rows = proxy.close()
    assert '"orders"' in copied.stdout
    assert {"JoinGroup", "SyncGroup", "Heartbeat"} <= {row["api_name"] for row in rows if row["kind"] == "request"}
    assert USERS["alice"] not in journal.read_text(encoding="utf-8")
