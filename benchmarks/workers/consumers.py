"""N stock consumers of one group, all in this process: seconds from creating them until they hold every partition.

    python -m benchmarks.workers.consumers aiokafka|confluent COUNT BOOTSTRAP TOPIC PARTITIONS

One JSON line: {"seconds": ..., "cpu": CPU seconds of this process meanwhile}. Imports are done before the clock starts.
"Hold" means that the assignments handed to the application's callbacks are disjoint, cover the topic, and leave no consumer
empty-handed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

GIVE_UP = 60.0
GROUP = "settle"


class Holdings:
    """Who holds which partitions, as the callbacks tell; knows when everybody is served."""

    def __init__(self, consumers: int, partitions: int) -> None:
        self.consumers, self.partitions = consumers, partitions
        self.held: dict[int, frozenset[int]] = {}

    def assign(self, consumer: int, partitions: Iterable[int]) -> bool:
        """A consumer was given these; True when this completes the picture."""
        self.held[consumer] = frozenset(partitions)
        return self.complete()

    def revoke(self, consumer: int) -> None:
        """A consumer gave up what it had."""
        self.held.pop(consumer, None)

    def complete(self) -> bool:
        """Every partition with exactly one consumer, and nobody without."""
        if len(self.held) < self.consumers or not all(self.held.values()):
            return False
        counted = sum(map(len, self.held.values()))
        return counted == self.partitions == len(frozenset().union(*self.held.values()))


async def with_aiokafka(count: int, bootstrap: str, topic: str, partitions: int) -> dict[str, float]:
    """All consumers on one event loop, started together."""
    from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener

    holdings, settled = Holdings(count, partitions), asyncio.Event()

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
        def __init__(self, index: int) -> None:
            self.index = index

        def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
            holdings.revoke(self.index)

        def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
            if holdings.assign(self.index, (each.partition for each in assigned)):
                settled.set()

    begin, cpu = time.perf_counter(), time.process_time()
    consumers = [AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=GROUP) for _ in range(count)]
    for index, consumer in enumerate(consumers):
        consumer.subscribe([topic], listener=Listener(index))
    starting = asyncio.gather(*(consumer.start() for consumer in consumers))
    await asyncio.wait_for(settled.wait(), GIVE_UP)
    told = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    await starting
    await asyncio.gather(*(consumer.stop() for consumer in consumers))
    return told


def with_confluent(count: int, bootstrap: str, topic: str, partitions: int) -> dict[str, float]:
    """A thread per consumer, each blocked in poll(): that is where librdkafka calls back."""
    from confluent_kafka import Consumer

    holdings, settled, lock = Holdings(count, partitions), threading.Event(), threading.Lock()

    def consume(index: int) -> None:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "log_level": 2})

        def assigned(_consumer: Consumer, given: Iterable[Any]) -> None:
            with lock:
                if holdings.assign(index, (each.partition for each in given)):
                    settled.set()

        def revoked(_consumer: Consumer, _given: Iterable[Any]) -> None:
            with lock:
                holdings.revoke(index)

        consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked)
        while not settled.is_set():
            consumer.poll(0.5)
        consumer.close()

    begin, cpu = time.perf_counter(), time.process_time()
    threads = [threading.Thread(target=consume, args=(index,), daemon=True) for index in range(count)]
    for thread in threads:
        thread.start()
    if not settled.wait(GIVE_UP):
        raise TimeoutError
    told = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    for thread in threads:
        thread.join(10)
    return told


def main() -> None:
    """Runs one group."""
    client, count, bootstrap, topic, partitions = sys.argv[1:]
    arguments = (int(count), bootstrap, topic, int(partitions))
    try:
        told = asyncio.run(with_aiokafka(*arguments)) if client == "aiokafka" else with_confluent(*arguments)
    except TimeoutError:
        sys.exit(f"{count} {client} consumers did not hold {partitions} partitions within {GIVE_UP:.0f} s")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
