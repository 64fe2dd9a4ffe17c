"""A stock kafka-python member of the group `readers`: prints the partitions it owns, reads MESSAGES records, commits and leaves."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition

BOOTSTRAP = os.environ.get("KAFKA_BOOTSTRAP", "localhost:9092")
TOPIC = os.environ.get("TOPIC", "orders")
MESSAGES = int(os.environ.get("MESSAGES", "0"))  # 0 means that the program reads until it is asked to stop.


class Teller(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types
    """Prints the partitions that a rebalance gives to the consumer."""

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None: ...

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        print(f"kafka-python owns {sorted(each.partition for each in assigned)}", flush=True)


def stop(number: int, frame: object) -> NoReturn:
    """Turn a signal into the exception that ends the loop."""
    raise KeyboardInterrupt


def main() -> None:
    """Join the group, read records, commit and leave. SIGTERM ends it in the same way."""
    signal.signal(signal.SIGTERM, stop)
    consumer = KafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id="readers", auto_offset_reset="earliest")
    consumer.subscribe([TOPIC], listener=Teller())
    try:
        for count, record in enumerate(consumer, 1):
            print(f"kafka-python read {record.topic}-{record.partition} @ {record.offset}: {(record.value or b'').decode()}", flush=True)
            if count == MESSAGES:
                break
    except KeyboardInterrupt:
        print("kafka-python was told to stop", flush=True)
    finally:
        consumer.close()
    print("kafka-python left", flush=True)


if __name__ == "__main__":
    main()
