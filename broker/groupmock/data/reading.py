"""Reads records from logs, a bounded number at a time; the next reading resumes where the last one ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from groupmock_codec.compression import RecordsError
from groupmock_codec.markers import marker_of
from groupmock_codec.opening import opened
from groupmock_codec.records import COMPRESSION_MASK, Record, iter_records

from ..core.steering import BadArguments
from ..core.steering.find import check_partition, first_not_older
from .log_record import Isolation, Outcome

if TYPE_CHECKING:
    from groupmock_codec.records import Batch

    from ..core.cluster import Cluster
    from ..core.log.partition import Partition
    from ..core.log.topics import Topic

PLACE: Final = re.compile(r"(\d{1,9}):(\d{1,19})")
MOST_PARTITIONS: Final = 200
"""The most partitions of a topic that can be read as a whole, because `next` names each of them and has to fit into a URL."""
SLICE: Final = 200
"""This many records are read between two turns of the loop."""
MOST_OPENED: Final = 16 * 1024 * 1024
"""One batch may be decompressed to at most this many bytes."""
MOST_WORK: Final = 4 * MOST_OPENED
"""One reading of a topic decompresses at most this many bytes, including batches that fail."""


def starts(
    cluster: Cluster, topic: Topic, partition: int | None, offset: int | None, timestamp: int | None, place: str | None
) -> dict[int, int]:
    """Return the offset at which reading begins in each partition. Raises NoSuch, BadArguments, NotNow."""
    if sum(each is not None for each in (offset, timestamp, place)) > 1 or (place is not None and partition is not None):
        raise BadArguments("name one of offset, timestamp and next, and no partition beside next")
    if place is not None:
        return _at_place(cluster, topic, place)
    if partition is not None:
        check_partition(cluster, topic.name, partition)
    logs = topic.partitions if partition is None else [topic.partitions[partition]]
    if len(logs) > MOST_PARTITIONS:
        raise BadArguments(f"topic {topic.name!r} has {len(logs)} partitions, and {MOST_PARTITIONS} are read at once: name one")
    if timestamp is None:
        return {log.index: offset or 0 for log in logs}
    room = cluster.environment.settings.room()
    return {log.index: first_not_older(topic.name, log, timestamp, room) for log in logs}


def _at_place(cluster: Cluster, topic: Topic, place: str) -> dict[int, int]:
    found = PLACE.findall(place)
    if ",".join(":".join(each) for each in found) != place or len(found) > MOST_PARTITIONS:
        raise BadArguments(f"next: {place[:40]!r} is not what an answer had as `next`: PARTITION:OFFSET, comma separated")
    at = {int(partition): int(offset) for partition, offset in found}
    for partition in at:
        check_partition(cluster, topic.name, partition)
    return at


class Unread(msgspec.Struct):
    """Records that could not be read, from `offset` to `last_offset` of `partition`, and the reason."""

    partition: int
    offset: int
    last_offset: int
    reason: str


class Found(NamedTuple):
    """A record that was read, with its transaction's outcome. `transaction` is its transaction's outcome, None without one; `marker` is
    true if it ends a transaction."""

    partition: int
    record: Record
    transaction: Outcome | None
    marker: bool


class Reading:
    """One reading of a topic, which begins at the offsets of `starts`. The fields have what was read so far.

    `next` is where the next reading begins; `more`: records were left out for lack of room. `isolation` is a consumer's: read_committed
    ends where the oldest open transaction begins. `markers`: control records are read too."""

    def __init__(
        self,
        topic: Topic,
        starts: dict[int, int],
        most_records: int,
        most_bytes: int,
        isolation: Isolation = "read_uncommitted",
        markers: bool = False,
    ) -> None:
        self.records: list[Found] = []
        self.unread: list[Unread] = []
        self.next = dict(starts)
        self._topic = topic
        self._most, self._bytes = most_records, most_bytes
        self._committed, self._markers = isolation == "read_committed", markers
        self._work = MOST_WORK
        self._full = False

    @property
    def more(self) -> bool:
        """True if there are records after `next`."""
        return any(offset < self._end(self._topic.partitions[partition]) for partition, offset in self.next.items())

    def place(self) -> str:
        """Return the offsets from which the next reading goes on as a text that `starts` understands: PARTITION:OFFSET, separated by
        commas."""
        return ",".join(f"{partition}:{offset}" for partition, offset in self.next.items())

    def all(self) -> Reading:
        """Read up to the end or the limits without a pause."""
        for _ in self.slices():
            pass
        return self

    def slices(self) -> Iterator[None]:
        """Read up to the end or the limits, with a yield after each SLICE records."""
        for partition in self.next:
            log = self._topic.partitions[partition]
            self.next[partition] = max(self.next[partition], log.start)
            for batch in log.batches(self.next[partition]):
                if batch.base_offset >= self._end(log):
                    break
                yield from self._batch(partition, log, batch)
                if self._full:
                    return

    def _end(self, log: Partition) -> int:
        """Return the offset at which this reading ends."""
        return log.stable() if self._committed else log.end

    def _batch(self, partition: int, log: Partition, batch: Batch) -> Iterator[None]:
        self._full = self._work <= 0
        if self._full:
            return
        try:
            outcome = _outcome(log, batch)
            if self._markers if batch.control else not (self._committed and outcome == "aborted"):
                yield from self._records(partition, batch, outcome)
        except RecordsError as broken:
            self._work -= MOST_OPENED if batch.attributes & COMPRESSION_MASK else 0
            self._skip(Unread(partition, self.next[partition], batch.last_offset, broken.reason))
        if not self._full:
            self.next[partition] = batch.next_offset

    def _records(self, partition: int, batch: Batch, outcome: Outcome | None) -> Iterator[None]:
        data = opened(batch, MOST_OPENED)
        self._work -= len(data)
        for record in iter_records(batch, data, self.next[partition]):
            if not self._take(Found(partition, record, outcome, batch.control)):
                return
            if not len(self.records) % SLICE:
                yield

    def _skip(self, unread: Unread) -> None:
        """Note that a range of records cannot be read. Adjacent batches with the same reason become one entry."""
        last = self.unread[-1] if self.unread else None
        if last is not None and (last.partition, last.last_offset + 1, last.reason) == (unread.partition, unread.offset, unread.reason):
            last.last_offset = unread.last_offset
        else:
            self.unread.append(unread)

    def _take(self, found: Found) -> bool:
        """Keep a record that was read, if there is room. The first record always has room, because a reader could not get past it
        otherwise."""
        record = found.record
        size = len(record.key or b"") + len(record.value or b"") + sum(len(name) + len(value or b"") for name, value in record.headers)
        if self.records and (len(self.records) >= self._most or size > self._bytes):
            self._full = True
            return False
        self._bytes -= size
        self.records.append(found)
        self.next[found.partition] = record.offset + 1
        return True


def _outcome(log: Partition, batch: Batch) -> Outcome | None:
    """Return the present outcome of a batch's transaction, or None without a transaction. A marker's own content has its outcome."""
    if batch.control:
        committed = marker_of(batch)
        return None if committed is None else "committed" if committed else "aborted"
    transactions = log.producers.transactions
    if not batch.transactional or transactions is None:
        return None
    if transactions.aborted_batch(batch.producer_id, batch.base_offset):
        return "aborted"
    begun = transactions.open_from(batch.producer_id)
    return "open" if begun is not None and begun <= batch.base_offset else "committed"
