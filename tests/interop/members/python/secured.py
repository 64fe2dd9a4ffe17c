"""A consumer of a secured listener: `secured.py aiokafka|kafka-python|confluent-kafka`. It runs in an environment that has groupmock, whose
settings for clients it uses. The protocol is told in ../../README.md."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from groupmock.security.client_settings import ClientSecurity

WISH: dict[str, Any] = json.loads(os.environ["MEMBER"])
SECONDS = float(WISH["seconds"])
SECURITY = ClientSecurity(**{name: WISH[name] for name in ClientSecurity.__struct_fields__})


def say(event: str, **facts: object) -> None:
    sys.stdout.write(json.dumps(dict(facts, event=event)) + "\n")
    sys.stdout.flush()


async def with_aiokafka() -> None:
    import aiokafka

    say("ready", client=f"aiokafka {aiokafka.__version__}")
    consumer = aiokafka.AIOKafkaConsumer(
        WISH["topic"], group_id=WISH["group"], client_id=WISH["name"], auto_offset_reset="earliest", enable_auto_commit=False,
        **SECURITY.aiokafka())
    try:
        await consumer.start()
        record = await asyncio.wait_for(consumer.getone(), SECONDS)
        say("record", offset=record.offset)
        await consumer.commit()
        say("committed")
    finally:
        await consumer.stop()


def with_kafka_python() -> None:
    import kafka

    say("ready", client=f"kafka-python {kafka.__version__}")
    consumer = kafka.KafkaConsumer(
        WISH["topic"], group_id=WISH["group"], client_id=WISH["name"], auto_offset_reset="earliest", enable_auto_commit=False,
        consumer_timeout_ms=1000 * SECONDS, bootstrap_timeout_ms=500 * SECONDS, **SECURITY.kafka_python())
    try:
        say("record", offset=next(consumer).offset)
        consumer.commit()
        say("committed")
    finally:
        consumer.close()


def with_confluent_kafka() -> None:
    import confluent_kafka

    say("ready", client=f"confluent-kafka {confluent_kafka.version()} (librdkafka {confluent_kafka.libversion()[0]})")
    options = {"group.id": WISH["group"], "client.id": WISH["name"], "auto.offset.reset": "earliest", "enable.auto.commit": False,
               "error_cb": lambda error: say("raised", error=error.name(), text=error.str()), "log_level": 0}
    consumer: Any = confluent_kafka.Consumer(SECURITY.confluent_kafka() | options)
    consumer.subscribe([WISH["topic"]])
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                say("record", offset=message.offset())
                consumer.commit(message=message, asynchronous=False)
                return say("committed")
            if message is not None:
                say("raised", error=message.error().name(), text=message.error().str())
    finally:
        consumer.close()


LIBRARIES: dict[str, Callable[[], None]] = {
    "aiokafka": lambda: asyncio.run(with_aiokafka()), "kafka-python": with_kafka_python, "confluent-kafka": with_confluent_kafka,
}

if __name__ == "__main__":
    try:
        LIBRARIES[sys.argv[1]]()
    except (TimeoutError, StopIteration):
        pass  # Nothing came in time, which the harness sees.
    except Exception as error:
        say("raised", error=type(error).__name__, text=str(error))
    say("left")
