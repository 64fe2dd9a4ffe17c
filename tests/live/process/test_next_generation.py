"""A consumer with group.protocol=consumer (KIP-848) meets what a broker without it gives, and a row that says so."""

from __future__ import annotations

import json
import logging
import socket
import time
from pathlib import Path

import confluent_kafka

from groupmock import Broker
from groupmock_codec import APIS
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

PATIENCE = 20.0


class _Collector(logging.Handler):
    """Keeps what was logged."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


def test_librdkafka_is_told_that_the_feature_is_missing() -> None:
    """As against Kafka 2.8.2, where it was tried: the consumer keeps looking for a coordinator that can, and joins nothing."""
    said: list[str] = []
    logger = logging.Logger("librdkafka")  # noqa: LOG001  # of this test alone
    logger.addHandler(_Collector(said))
    with Broker(topics={"orders": 1}) as broker:
        settings = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "group.protocol": "consumer", "debug": "cgrp"}
        consumer = confluent_kafka.Consumer(settings, logger=logger)
        try:
            consumer.subscribe(["orders"])
            end = time.monotonic() + PATIENCE
            while not any("ConsumerGroupHeartbeatRequest not supported by broker" in line for line in said):
                assert time.monotonic() < end, said[-5:]
                assert consumer.poll(0.1) is None
        finally:
            consumer.close()
        assert broker.groups == {}


def test_a_heartbeat_that_is_sent_all_the_same_closes_its_connection_and_leaves_a_row(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with Broker(journal=str(file)) as broker:
        host, port = broker.bootstrap.split(":")
        body = APIS[68].request.encode(0, ConsumerGroupHeartbeatRequest(group_id="g", member_id="m"))
        frame = bytes.fromhex("0044 0000 00000001 0001 63 00") + body
        with socket.create_connection((host, int(port)), PATIENCE) as link:
            link.sendall(len(frame).to_bytes(4, "big") + frame)
            assert link.recv(1) == b""
    closed = [row for row in map(json.loads, file.read_text().splitlines()[1:]) if row["kind"] == "close"]
    assert [row["by"] for row in closed] == ["server"]
    assert "ConsumerGroupHeartbeat" in closed[0]["reason"]
    assert "group.protocol=classic" in closed[0]["reason"]
