"""Stock clients that need a disabled feature end within a second with a clear reason: group.protocol=consumer, SASL, a transactional id."""

from __future__ import annotations

import json
import time
from pathlib import Path

import confluent_kafka

from groupmock import Broker
from groupmock.journal.rows import TLS_HELLO

PATIENCE = 20.0


def consumer_of(broker: Broker, **settings: str) -> tuple[confluent_kafka.Consumer, list[confluent_kafka.KafkaError]]:
    """Return a consumer of `orders` with the errors of its callback."""
    told: list[confluent_kafka.KafkaError] = []
    basics = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "error_cb": told.append, "log_level": 0}
    consumer = confluent_kafka.Consumer(basics | {name.replace("_", "."): value for name, value in settings.items()})
    consumer.subscribe(["orders"])
    return consumer, told


def test_librdkafka_is_fatal_where_the_consumer_protocol_is_off() -> None:
    """Kafka 4.3.0 with group.coordinator.rebalance.protocols=classic and Kafka 3.9.1 answer in the same way."""
    with Broker(topics={"orders": 1}, settings={"group.coordinator.rebalance.protocols": "classic"}) as broker:
        consumer, _ = consumer_of(broker, group_protocol="consumer")
        try:
            message = consumer.poll(PATIENCE)
            error = message.error() if message is not None else None
            assert error is not None and error.code() == confluent_kafka.KafkaError._FATAL
            assert "API version not supported" in error.str()
        finally:
            consumer.close()
        assert broker.groups == {}


def test_librdkafka_hears_that_there_is_no_sasl() -> None:
    with Broker(topics={"orders": 1}) as broker:
        consumer, told = consumer_of(
            broker, security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_username="ann", sasl_password="x"
        )
        try:
            end = time.monotonic() + PATIENCE
            while not told and time.monotonic() < end:
                consumer.poll(0.1)
            assert told[0].code() == confluent_kafka.KafkaError._AUTHENTICATION
            assert "PLAIN mechanism handshake failed" in told[0].str()
        finally:
            consumer.close()


def test_librdkafka_takes_a_refused_transactional_id_as_final() -> None:
    with Broker(topics={"orders": 1}, settings={"groupmock.transactions.enable": False}) as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "tx", "log_level": 0})
        try:
            producer.init_transactions(PATIENCE)
        except confluent_kafka.KafkaException as failure:
            assert failure.args[0].fatal()
        else:
            raise AssertionError("transactions began")


def test_tls_on_the_port_has_its_name_in_the_row(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with Broker(topics={"orders": 1}, journal=str(file)) as broker:
        consumer, told = consumer_of(broker, security_protocol="SSL")
        try:
            end = time.monotonic() + PATIENCE
            while not told and time.monotonic() < end:
                consumer.poll(0.1)
        finally:
            consumer.close()
    rows = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    assert TLS_HELLO in {row.get("reason") for row in rows if row["kind"] == "close"}
