"""Records read from logs, a bounded number at a time, from where the last answer ended."""

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
"""Of a topic that is read as a whole: `next` names each, and it has to fit into an address."""
SLICE: Final = 200
"""So many records are read between two turns of the loop."""
MOST_OPENED: Final = 16 * 1024 * 1024
"""Bytes that one batch may have out of compression."""
MOST_WORK: Final = 4 * MOST_OPENED
"""Bytes that one walk takes out of compression, also in vain."""


def starts(
    cluster: Cluster, topic: Topic, partition: int | None, offset: int | None, timestamp: int | None, place: str | None
) -> dict[int, int]:
    """Where to begin: at `place`, where an earlier walk ended, or in that partition (None: in all), from that offset or time on, else from
    the start. Raises NoSuch, BadArguments, NotNow."""
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
    """Records that could not be read: from `offset` to `last_offset` of `partition`, and why."""

    partition: int
    offset: int
    last_offset: int
    reason: str


class Found(NamedTuple):
    """A record that was read. `transaction`: how its transaction ended so far, None without one; `marker`: does it end a transaction?"""

    partition: int
    record: Record
    transaction: Outcome | None
    marker: bool


class Reading:
    """One walk through a topic: `starts` says from which offset on in which partitions. What was found so far stands in the fields.

    `next`: where the next walk begins; `more`: is there anything left that this one had no room for? `isolation`: as a consumer's, so that
    read_committed ends where the oldest open transaction begins; `markers`: read control records too.
    """

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
        """Do the logs go on behind `next`?"""
        return any(offset < self._end(self._topic.partitions[partition]) for partition, offset in self.next.items())

    def place(self) -> str:
        """`next` as a text, which `starts` reads: PARTITION:OFFSET, comma separated."""
        return ",".join(f"{partition}:{offset}" for partition, offset in self.next.items())

    def all(self) -> Reading:
        """Read to the end or to the bounds at once."""
        for _ in self.slices():
            pass
        return self

    def slices(self) -> Iterator[None]:
        """The same with a stop every SLICE records."""
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
        """The offset at which this walk ends."""
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
        """Batches of one kind one behind the other are told as one."""
        last = self.unread[-1] if self.unread else None
        if last is not None and (last.partition, last.last_offset + 1, last.reason) == (unread.partition, unread.offset, unread.reason):
            last.last_offset = unread.last_offset
        else:
            self.unread.append(unread)

    def _take(self, found: Found) -> bool:
        """A record, unless that would be too much; the first is never too much, or nobody would get beyond it."""
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
    """How the transaction of a batch ended so far; None without one. A marker says it itself."""
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
