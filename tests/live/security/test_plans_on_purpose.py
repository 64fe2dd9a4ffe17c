"""A stock client meets each ready plan about authentication and rights, is told what it is to be told, and goes on afterwards."""

from __future__ import annotations

from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaError
from rights import STANDARD

from groupmock import Broker
from groupmock.faults.kind import for_secured
from groupmock.faults.plan import read_plan, ready_plans

PLANS: Final = [name for name in ready_plans() if for_secured(read_plan(name))]
AUTHENTICATION, SSL = KafkaError._AUTHENTICATION, KafkaError._SSL
TOLD: Final[dict[str, set[int]]] = {
    "authentication-fails": {AUTHENTICATION},
    "certificate-expired": {SSL},
    "certificate-unknown-authority": {SSL},
    "certificate-wrong-host": {SSL},
    "reauthentication-refused": {AUTHENTICATION},
    "right-withdrawn": set(),
    "session-expires": {AUTHENTICATION},
}
"""The errors of librdkafka that its application gets. It says nothing of a heartbeat that is refused for a time."""
POLLS: Final = 150
SETTINGS: Final[dict[str, Any]] = {
    "group.id": "kitchen", "auto.offset.reset": "earliest", "heartbeat.interval.ms": 300, "session.timeout.ms": 6000,
    "reconnect.backoff.max.ms": 500, "log_level": 0,
}  # fmt: skip


def read(consumer: Consumer, wanted: bytes) -> None:
    """Poll until the record has come. Errors on the way are those of `TOLD`."""
    for _ in range(POLLS):
        message = consumer.poll(0.2)
        if message is not None and message.error() is None and message.value() == wanted:
            return
    raise AssertionError(f"the consumer did not get {wanted!r}")


@pytest.mark.parametrize("plan", PLANS)
def test_confluent_kafka_goes_on_after_the_plan(plan: str) -> None:
    settings: dict[str, Any] = {"authorizer.class.name": STANDARD, "group.initial.rebalance.delay.ms": 0}
    if plan == "reauthentication-refused":
        settings["connections.max.reauth.ms"] = 2000
    listeners, users, errors = {"OUT": "SASL_SSL://127.0.0.1:0"}, {"alice": "secret"}, set[int]()
    with Broker({"orders": 1}, listeners=listeners, users=users, settings=settings, plan=plan) as broker:
        for place in ({"group": "kitchen"}, {"topic": "orders"}, {"cluster": True}):
            broker.allow("alice", "ALL", **place)
        broker.produce("orders", b"before")
        ours = broker.security("OUT", user="alice", mechanism="PLAIN").confluent_kafka()
        consumer = Consumer(ours | SETTINGS | {"error_cb": lambda error: errors.add(error.code())})
        consumer.subscribe(["orders"])
        read(consumer, b"before")
        for rule in read_plan(plan).rule:
            for _ in range(POLLS):
                if next(each for each in broker.faults if each.name == rule.name).fired:
                    break
                consumer.poll(0.2)
        broker.produce("orders", b"after")
        read(consumer, b"after")
        for _ in range(POLLS):
            if TOLD[plan] <= errors:
                break
            consumer.poll(0.2)
        consumer.close()
    assert TOLD[plan] <= errors <= TOLD[plan] | {KafkaError._ALL_BROKERS_DOWN}
