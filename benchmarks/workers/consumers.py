"""Runs N stock consumers of one group in this process and reports the seconds from their creation until they hold every partition.

    python -m benchmarks.workers.consumers aiokafka|confluent COUNT BOOTSTRAP TOPIC PARTITIONS

It prints one JSON line: {"seconds": ..., "cpu": CPU seconds of this process meanwhile}. Imports are done before the clock starts. The
consumers hold every partition when the assignments in their callbacks are disjoint, cover the topic, and leave no consumer empty-handed.
The consumers are the live stage's member programs with the defaults of their libraries.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from groupmock_clients.scenarios.live.member_spec import RANGE, ROUND_ROBIN, MemberSpec
from groupmock_clients.scenarios.live.members.channel import Channel

GIVE_UP = 60.0
DEFAULTS: dict[str, dict[str, Any]] = {
    "aiokafka": {"library": "aiokafka", "assignors": (ROUND_ROBIN,), "session_ms": 10_000, "options": {"fetch_max_wait_ms": 500}},
    "confluent": {
        "library": "confluent-kafka", "assignors": (RANGE, ROUND_ROBIN), "session_ms": 45_000,
        "options": {"fetch.wait.max.ms": 500, "log_level": 2},
    },
}  # fmt: skip


def specs(client: str, count: int, bootstrap: str, topic: str) -> list[MemberSpec]:
    """Return the settings with which each consumer starts."""
    alike: dict[str, Any] = {"heartbeat_ms": 3000, "commit_ms": 5000, "metadata_ms": 300_000, "group": "settle", "topics": (topic,)}
    return [MemberSpec(name=f"{client}-{number}", bootstrap=bootstrap, **alike, **DEFAULTS[client]) for number in range(count)]


class Holdings:
    """The partitions that every consumer holds, as the callbacks report them. Calls `settled` when everybody has some."""

    def __init__(self, consumers: int, partitions: int, settled: Callable[[], object]) -> None:
        self.consumers, self.partitions, self._settled = consumers, partitions, settled
        self.held: dict[int, frozenset[int]] = {}
        self._lock = threading.Lock()

    def assign(self, consumer: int, partitions: Iterable[int]) -> None:
        with self._lock:
            self.held[consumer] = frozenset(partitions)
            if self.complete():
                self._settled()

    def revoke(self, consumer: int) -> None:
        with self._lock:
            self.held.pop(consumer, None)

    def complete(self) -> bool:
        """Return whether every partition has exactly one consumer and every consumer has a partition."""
        if len(self.held) < self.consumers or not all(self.held.values()):
            return False
        counted = sum(map(len, self.held.values()))
        return counted == self.partitions == len(frozenset().union(*self.held.values()))


class Holding(Channel):
    """Passes the rebalance callbacks of one consumer to the holdings."""

    def __init__(self, number: int, holdings: Holdings) -> None:
        self._number, self._holdings = number, holdings

    def callback(self, event: str, partitions: Iterable[Any]) -> None:
        if event == "assigned":
            self._holdings.assign(self._number, [each.partition for each in partitions])
        else:
            self._holdings.revoke(self._number)


async def with_aiokafka(wanted: list[MemberSpec], partitions: int) -> dict[str, float]:
    """Run all consumers with aiokafka on one event loop, started together."""
    from groupmock_clients.scenarios.live.members.aiokafka import consume

    settled = asyncio.Event()
    holdings = Holdings(len(wanted), partitions, settled.set)
    channels = [Holding(number, holdings) for number in range(len(wanted))]
    begin, cpu = time.perf_counter(), time.process_time()
    consuming = asyncio.gather(*map(consume, wanted, channels))
    await asyncio.wait_for(settled.wait(), GIVE_UP)
    readings = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    for each in channels:
        each.ended = True
    await consuming
    return readings


def with_confluent(wanted: list[MemberSpec], partitions: int) -> dict[str, float]:
    """Run all consumers with confluent-kafka, each in a thread of its own. Each is blocked in poll(), in which librdkafka calls back."""
    from groupmock_clients.scenarios.live.members.confluent_kafka import run

    settled = threading.Event()
    holdings = Holdings(len(wanted), partitions, settled.set)
    channels = [Holding(number, holdings) for number in range(len(wanted))]
    begin, cpu = time.perf_counter(), time.process_time()
    threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in zip(wanted, channels, strict=True)]
    for thread in threads:
        thread.start()
    if not settled.wait(GIVE_UP):
        raise TimeoutError
    readings = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    for each in channels:
        each.ended = True
    for thread in threads:
        thread.join(10)
    return readings


def main() -> None:
    client, count, bootstrap, topic, partitions = sys.argv[1:]
    wanted = specs(client, int(count), bootstrap, topic)
    try:
        readings = asyncio.run(with_aiokafka(wanted, int(partitions))) if client == "aiokafka" else with_confluent(wanted, int(partitions))
    except TimeoutError:
        sys.exit(f"{count} {client} consumers did not hold {partitions} partitions within {GIVE_UP:.0f} s")
    print(json.dumps(readings))


if __name__ == "__main__":
    main()
