"""A service with confluent-kafka that commits served orders, puts aside invalid records, and survives a refused commit."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, Message, Producer
from receipts import (  # type: ignore[import-not-found]  # a folder by itself, as a user has it
    BOOTSTRAP,
    NAME,
    POLL_MS,
    SESSION_MS,
    cook,
    note,
    order_of,
    stop_on_sigterm,
    stopping,
)

SETTINGS = {
    "bootstrap.servers": BOOTSTRAP, "group.id": "kitchen", "client.id": NAME, "auto.offset.reset": "earliest", "enable.auto.commit": False,
    "max.poll.interval.ms": POLL_MS, "session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 100,
}  # fmt: skip


def main() -> None:
    stop_on_sigterm()
    consumer, aside = Consumer(SETTINGS), Producer({"bootstrap.servers": BOOTSTRAP})
    consumer.subscribe(["orders"])
    while not stopping:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            serve(aside, message.value())
            commit(consumer, message)
    consumer.close()


def serve(aside: Producer, value: bytes | None) -> None:
    """Serve one record, or put it aside if it is not an order."""
    order = order_of(value)
    if order is None:
        aside.produce("orders.dead", value or b"")
        aside.flush(10)
    else:
        cook(order)


def commit(consumer: Consumer, message: Message) -> None:
    """Commit the offset of a message. If this is refused, the partition's new owner serves the order again."""
    try:
        consumer.commit(message=message, asynchronous=False)
    except KafkaException:
        note("refused", f"{message.partition()}/{message.offset()}")


if __name__ == "__main__":
    main()
