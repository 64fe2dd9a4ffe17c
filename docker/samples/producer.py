"""Writes one numbered record to every partition of the topic in each of ROUNDS rounds, or without an end if ROUNDS is 0."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal

from aiokafka import AIOKafkaProducer

BOOTSTRAP = os.environ.get("KAFKA_BOOTSTRAP", "localhost:9092")
TOPIC = os.environ.get("TOPIC", "orders")
ROUNDS = int(os.environ.get("ROUNDS", "0"))
PACE = 1.0


async def write() -> None:
    """Write one record per partition in each round, with a pause between two rounds."""
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP) as producer:
        partitions = sorted(await producer.partitions_for(TOPIC))
        for number in itertools.count(1):
            for partition in partitions:
                await producer.send_and_wait(TOPIC, f"order {number}".encode(), partition=partition)
            if number == ROUNDS:
                return
            await asyncio.sleep(PACE)


async def main() -> None:
    """Write until SIGINT or SIGTERM, which lose nothing because no request is in flight between two records."""
    writing = asyncio.create_task(write())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, writing.cancel)
    try:
        await writing
    except asyncio.CancelledError:
        print("producer was told to stop", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
