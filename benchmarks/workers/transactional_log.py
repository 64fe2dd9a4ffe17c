"""Measures how transactions in a partition slow its producers and consumers: CPU of the driver, over a transport that only keeps the
response.

    python -m benchmarks.workers.transactional_log 1000 5000 100     # OPEN ABORTED QUARTETS

It prints JSON: the median, over quartets (with, without, without, with), of the CPU with transactions as a share of the CPU without.

    produce          a plain batch into a partition with OPEN open transactions, against a partition without any
    produce.own      a batch of an open transaction among OPEN others, against a transaction alone
    fetch.open       1 MB of stable records, read_committed, with OPEN transactions open behind it, against none
    fetch.aborted    a log of ABORTED aborted transactions from begin to end, in responses of 1 MB: read_committed against read_uncommitted
    fetch.small      the same with one batch per response, at places all over the log
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from groupmock.core.core import core_of
from groupmock.core.events import Command
from groupmock.core.identity import Identity, Node
from groupmock.core.settings import Settings
from groupmock.journal.journal import Journal
from groupmock.journal.rows import Header
from groupmock.net.clock import VirtualClock
from groupmock.net.driver import Driver
from groupmock.rig.versions import every_version
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k27_write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from groupmock_codec.records import NewRecord, encode_batch, iter_batches

from .hot_work import NO_SLICES, DriverLink, frame

PRODUCE, FETCH, MARKERS = (0, 8), (1, 11), (27, 0)
TRANSACTIONAL: Final = 0x10
MB: Final = 1 << 20
REQUESTS: Final = 20
"""The number of requests that are measured in one turn."""
WARM: Final = 5
PLAIN: Final = 1000
"""The number of plain batches before the first open transaction."""

Turn = Callable[[], int]


class Logs:
    """A driver with topics of one partition each."""

    def __init__(self) -> None:
        identity = Identity("bench", (Node(1, "h", 1),), every_version((0, 1, 18, 27)))
        # No coordinator is asked whether a producer may write (TX-95), because only the logs are measured.
        settings = Settings(transaction_partition_verification_enable=False)
        header = Header(v=1, run="r", product="p", seed=1, epoch_ns=0, profile="p", config={}, complete=False)
        self.driver = Driver(core_of(settings, identity, Random(1), 0), VirtualClock(), Journal(header), NO_SLICES)
        self.link = DriverLink(self.driver, 1)
        self._producers = 1000

    def topic(self, name: str) -> str:
        self.driver.submit(Command("create_topic", {"name": name, "partitions": 1}))
        return name

    def producer(self) -> int:
        self._producers += 1
        return self._producers

    def write(self, topic: str, producer: int = -1, sequence: int = 0) -> None:
        """Write one record to the topic without measuring it. It belongs to a transaction if a producer is named."""
        row = self.link.ask(PRODUCE, produced(topic, producer, sequence)).responses[0].partition_responses[0]
        if row.error_code:
            raise SystemExit(f"Produce was answered with {row.error_code}")

    def abort(self, topic: str, producer: int) -> None:
        topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=[0])]
        marker = WritableTxnMarker(producer_id=producer, producer_epoch=0, transaction_result=False, coordinator_epoch=0, topics=topics)
        self.link.ask(MARKERS, WriteTxnMarkersRequest(markers=[marker]))

    def turn(self, frames: Callable[[], list[bytes]]) -> Turn:
        """Return a turn that measures the CPU nanoseconds of the requests; it makes them before the clock starts."""

        def taken() -> int:
            made = frames()
            begun = time.process_time_ns()
            for each in made:
                self.link.connection.data_received(each)
            return time.process_time_ns() - begun

        return taken


def produced(topic: str, producer: int = -1, sequence: int = 0) -> ProduceRequest:
    """Return a request with one record, which belongs to a transaction if a producer is named."""
    who: dict[str, Any] = {}
    if producer >= 0:
        who = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence, "attributes": TRANSACTIONAL}
    data = PartitionProduceData(index=0, records=encode_batch([NewRecord(value=bytes(100), timestamp=1)], **who))
    name = None if producer < 0 else str(producer)
    return ProduceRequest(transactional_id=name, acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def fetched(topic: str, offset: int, size: int, committed: bool) -> bytes:
    """Return a whole Fetch request of one partition."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=size)
    wanted = [FetchTopic(topic=topic, partitions=[partition])]
    return frame(FETCH, FetchRequest(max_bytes=size, session_epoch=-1, isolation_level=int(committed), topics=wanted))


def plain(logs: Logs, topic: str) -> Turn:
    """Return a turn that measures Produce requests with plain batches."""
    return logs.turn(lambda: [frame(PRODUCE, produced(topic))] * REQUESTS)


def own(logs: Logs, topic: str) -> Turn:
    """Return a turn that measures Produce requests with batches of one open, growing transaction."""
    producer = logs.producer()
    sequences: Iterator[int] = iter(range(1 << 31))
    return logs.turn(lambda: [frame(PRODUCE, produced(topic, producer, next(sequences))) for _ in range(REQUESTS)])


def read(logs: Logs, topic: str, places: list[int], size: int, committed: bool) -> Turn:
    """Return a turn that measures Fetch requests at the same offsets again and again."""
    frames = [fetched(topic, place, size, committed) for place in places]
    return logs.turn(lambda: frames)


def pages(logs: Logs, topic: str) -> list[int]:
    """Return the offsets at which the responses of 1 MB begin when the whole topic is read."""
    found = [0]
    while True:
        logs.link.connection.data_received(fetched(topic, found[-1], MB, False))
        records = logs.link.answer(FETCH).responses[0].partitions[0].records
        if not records:
            return found[:-1]
        found.append(deque(iter_batches(records, cut=True), 1)[0].last_offset + 1)


def share(one: Turn, other: Turn, quartets: int) -> float:
    """Return the median of how much time `one` takes as a share of the time of `other`."""
    for _ in range(WARM):
        one(), other()
    shares = []
    for _ in range(quartets):
        first, second, third, fourth = one(), other(), other(), one()
        shares.append((first + fourth) / (second + third))
    return statistics.median(shares)


def main(opened: int, aborted: int, quartets: int) -> None:
    logs = Logs()
    quiet, busy = logs.topic("quiet"), logs.topic("busy")
    for topic in (quiet, busy):
        for _ in range(PLAIN):
            logs.write(topic)
    for _ in range(opened):
        logs.write(busy, logs.producer())
    over = logs.topic("over")
    for _ in range(aborted):
        producer = logs.producer()
        logs.write(over, producer)
        logs.abort(over, producer)
    places = pages(logs, over)
    small = [2 * Random(1).randrange(aborted) for _ in range(REQUESTS)]
    pairs: dict[str, tuple[Turn, Turn]] = {
        "fetch.open": (read(logs, busy, [0], MB, True), read(logs, quiet, [0], MB, True)),
        "fetch.aborted": (read(logs, over, places, MB, True), read(logs, over, places, MB, False)),
        "fetch.small": (read(logs, over, small, 1, True), read(logs, over, small, 1, False)),
        "produce": (plain(logs, busy), plain(logs, quiet)),
        "produce.own": (own(logs, busy), own(logs, logs.topic("alone"))),
    }
    gc.freeze()
    gc.disable()
    print(json.dumps({kind: share(*pair, quartets) for kind, pair in pairs.items()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
