"""A stock aiokafka member of the group `readers`: prints the partitions it owns, reads MESSAGES records, commits and leaves."""

from __future__ import annotations

import asyncio
import os
import signal

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.structs import TopicPartition

BOOTSTRAP = os.environ.get("KAFKA_BOOTSTRAP", "localhost:9092")
TOPIC = os.environ.get("TOPIC", "orders")
MESSAGES = int(os.environ.get("MESSAGES", "0"))  # 0 means that the program reads until it is asked to stop.


class Teller(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """Prints the partitions that a rebalance gives to the consumer."""

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None: ...

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        print(f"aiokafka owns {sorted(each.partition for each in assigned)}", flush=True)


async def read(consumer: AIOKafkaConsumer) -> None:
    """Print MESSAGES records, or all if MESSAGES is 0."""
    count = 0
    async for record in consumer:
        count += 1
        print(f"aiokafka read {record.topic}-{record.partition} @ {record.offset}: {(record.value or b'').decode()}", flush=True)
        if count == MESSAGES:
            return


async def main() -> None:
    """Join the group, read records, commit and leave. SIGTERM ends it in the same way."""
    consumer = AIOKafkaConsumer(bootstrap_servers=BOOTSTRAP, group_id="readers", auto_offset_reset="earliest")
    consumer.subscribe([TOPIC], listener=Teller())
    await consumer.start()
    reading = asyncio.create_task(read(consumer))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, reading.cancel)
    try:
        await reading
    except asyncio.CancelledError:
        print("aiokafka was told to stop", flush=True)
    finally:
        await consumer.stop()
    print("aiokafka left", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
