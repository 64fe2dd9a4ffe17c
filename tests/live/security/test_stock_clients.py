"""Stock clients join a group, consume and commit over every protocol and mechanism that they offer, and fail as they do with Kafka."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import Consumer, KafkaError

from groupmock import Broker, ClientSecurity

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function.
    from kafka import KafkaConsumer
    from kafka.errors import KafkaTimeoutError

LISTENERS = {
    "PLAIN": "PLAINTEXT://127.0.0.1:0", "SASL": "SASL_PLAINTEXT://127.0.0.1:0", "TLS": "SSL://127.0.0.1:0", "BOTH": "SASL_SSL://127.0.0.1:0",
}  # fmt: skip
WAYS = [
    ("PLAIN", ""), ("TLS", ""),
    *((name, mechanism) for name in ("SASL", "BOTH") for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
]  # fmt: skip
USERS = {"alice": "open sesame"}
PATIENCE_S = 60.0


def with_aiokafka(security: ClientSecurity) -> int:
    async def consume() -> int:
        consumer = AIOKafkaConsumer("orders", group_id="kitchen", auto_offset_reset="earliest", **security.aiokafka())
        try:
            await consumer.start()
            record = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
            await consumer.commit()
        finally:
            await consumer.stop()
        return int(record.offset)

    return asyncio.run(consume())


def with_kafka_python(security: ClientSecurity) -> int:
    consumer = KafkaConsumer(
        "orders", group_id="kitchen", auto_offset_reset="earliest", consumer_timeout_ms=1000 * PATIENCE_S, **security.kafka_python()
    )
    try:
        record = next(consumer)
        consumer.commit()
    finally:
        consumer.close()
    return int(record.offset)


def with_confluent_kafka(security: ClientSecurity) -> int:
    consumer = Consumer(security.confluent_kafka() | {"group.id": "kitchen", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["orders"])
        message = consumer.poll(PATIENCE_S)
        assert message is not None and message.error() is None, message and message.error()
        consumer.commit(message=message, asynchronous=False)
    finally:
        consumer.close()
    return int(message.offset())


CLIENTS: dict[str, Callable[[ClientSecurity], int]] = {
    "aiokafka": with_aiokafka, "confluent-kafka": with_confluent_kafka, "kafka-python": with_kafka_python,
}  # fmt: skip


@pytest.mark.parametrize("library", list(CLIENTS))
@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_client_consumes_and_commits(library: str, listener: str, mechanism: str) -> None:
    with Broker("orders:1", listeners=LISTENERS, users=USERS, group_initial_rebalance_delay_ms=0) as broker:
        broker.produce("orders", b"one")
        security = broker.security(listener, **({"mechanism": mechanism} if mechanism else {}))
        assert CLIENTS[library](security) == 0
        assert broker.lag("kitchen").lag == 0


@pytest.mark.parametrize("library", list(CLIENTS))
def test_client_with_a_certificate_is_known_by_its_name(library: str) -> None:
    settings = {"ssl.client.auth": "required"}
    with Broker("orders:1", listeners={"TLS": LISTENERS["TLS"]}, settings=settings, group_initial_rebalance_delay_ms=0) as broker:
        broker.produce("orders", b"one")
        assert CLIENTS[library](broker.security(certificate=True)) == 0


def wrong(security: ClientSecurity, what: str, elsewhere: str) -> ClientSecurity:
    """Return settings of which one is wrong."""
    import msgspec

    changes: dict[str, dict[str, Any]] = {
        "password": {"password": "wrong"},
        "user": {"user": "nobody"},
        "authority": {"ca": elsewhere},
        "plain client at the TLS port": {"protocol": "PLAINTEXT"},
    }
    return msgspec.structs.replace(security, **changes[what])


def fails_with_kafka_python(security: ClientSecurity) -> None:
    """Expect that kafka-python finds no broker. It leaves the sockets of refused handshakes to the garbage collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(KafkaTimeoutError):
            KafkaConsumer("orders", bootstrap_timeout_ms=3000, **security.kafka_python())
        gc.collect()


@pytest.mark.parametrize("what", ["password", "user", "authority", "plain client at the TLS port"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_mistakes_give_the_errors_that_kafka_causes(what: str, mechanism: str) -> None:
    with Broker("orders:1", listeners=LISTENERS, users=USERS) as broker, Broker(listeners={"TLS": LISTENERS["TLS"]}) as other:
        security = wrong(broker.security("BOTH", mechanism=mechanism), what, str(other.security().ca))
        with pytest.raises(KafkaConnectionError):
            with_aiokafka(security)
        fails_with_kafka_python(security)
        errors: list[KafkaError] = []
        consumer = Consumer(security.confluent_kafka() | {"group.id": "kitchen", "error_cb": errors.append})
        consumer.subscribe(["orders"])
        while not any(error.code() == KafkaError._ALL_BROKERS_DOWN for error in errors):
            consumer.poll(1)
        consumer.close()
        codes = {"authority": KafkaError._SSL, "plain client at the TLS port": KafkaError._ALL_BROKERS_DOWN}
        assert codes.get(what, KafkaError._AUTHENTICATION) in [error.code() for error in errors]
        story = broker.story()
    told = {"authority": "does not trust this listener's certificate", "plain client at the TLS port": "plain bytes instead of a TLS"}
    assert told.get(what, f"SASL authentication ({mechanism}) failed: user") in story
