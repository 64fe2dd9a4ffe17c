"""A service with kafka-python that commits served orders, puts aside invalid records, and survives a refused commit."""

from __future__ import annotations

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import CommitFailedError
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


def main() -> None:
    stop_on_sigterm()
    consumer = KafkaConsumer(
        "orders", bootstrap_servers=BOOTSTRAP, group_id="kitchen", client_id=NAME, auto_offset_reset="earliest", enable_auto_commit=False,
        max_poll_records=1, max_poll_interval_ms=POLL_MS, session_timeout_ms=SESSION_MS, heartbeat_interval_ms=100,
    )  # fmt: skip
    aside = KafkaProducer(bootstrap_servers=BOOTSTRAP)
    while not stopping:
        for place, records in consumer.poll(timeout_ms=200).items():
            for record in records:
                serve(aside, record.value)
                commit(consumer, place, record.offset)
    consumer.close(autocommit=False)
    aside.close()


def serve(aside: KafkaProducer, value: bytes | None) -> None:
    """Serve one record, or put it aside if it is not an order."""
    order = order_of(value)
    if order is None:
        aside.send("orders.dead", value or b"").get(10)  # kafka-python refuses to send a record without key and value.
    else:
        cook(order)


def commit(consumer: KafkaConsumer, place: TopicPartition, offset: int) -> None:
    """Commit an offset of the partition. If this is refused, the partition's new owner serves the order again."""
    try:
        consumer.commit({place: OffsetAndMetadata(offset + 1, "", -1)})
    except CommitFailedError:
        note("refused", f"{place.partition}/{offset}")


if __name__ == "__main__":
    main()
