"""One partition's log: batches as they came, offsets, leader epochs, producers, segments; bounded by retention.

There is one copy of every record whatever the replication factor says: all replicas are in sync, so the high watermark and the last
stable offset are the end of the log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from groupmock_codec.errors import ErrorCode
from groupmock_codec.records import Batch, Record, RecordsError, decode_records

from .limits import LogLimits
from .producers import ProducerStates
from .segments import Segments

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
PRODUCER_SWEEP_MS: Final = 600_000
_SLACK: Final = 64  # dropped batches before the lists are shortened: deleting from a list's front costs its length


class Appended(NamedTuple):
    """What an append says to its producer. `log_append_time`: -1 unless the broker stamped it or the batch is a duplicate."""

    base_offset: int
    log_append_time: int
    grew: bool


class TimestampAndOffset(NamedTuple):
    """An answer of ListOffsets; -1, -1 for nothing found."""

    timestamp: int
    offset: int
    leader_epoch: int


NOTHING: Final = TimestampAndOffset(-1, NO_OFFSET, NO_EPOCH)


class EpochStart(NamedTuple):
    """From which offset on a leader epoch wrote."""

    epoch: int
    start: int


class Partition:
    """One log. `start` and `end` are Kafka's log start offset and log end offset (= high watermark here)."""

    def __init__(self, index: int, replicas: list[int], made_ms: int = 0) -> None:
        self.index = index
        self.replicas = replicas
        self.leader = replicas[0]
        self.leader_epoch = 0
        self.start = 0
        self.end = 0
        self.producers = ProducerStates()
        self.segments = Segments()
        self.epochs = [EpochStart(0, 0)]
        self.written_ms = made_ms  # wall clock of the last append
        self._swept_ms = 0
        self._batches: list[Batch] = []
        self._lasts: list[int] = []  # last offset of each batch
        self._places: list[int] = []  # bytes before each batch since the log began
        self._dropped = 0  # leading entries that are gone already
        self._bytes = 0  # bytes ever written: the place of the next batch

    @property
    def size(self) -> int:
        """Bytes kept."""
        return self._bytes - self._places[self._dropped] if len(self._batches) > self._dropped else 0

    def append(self, batches: list[Batch], limits: LogLimits, wall_ms: int) -> Appended:
        """Append checked batches. A batch that repeats one of its producer's last five is not written again: its old offset is the answer.

        Raises RecordsError(INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER).
        """
        for batch in batches:
            if batch.producer_id < 0:
                continue
            written = self.producers.check(batch)
            if written is not None:
                return Appended(written.base_offset, written.timestamp, grew=False)
        base_offset, self.written_ms = self.end, wall_ms
        stamps = (wall_ms if limits.log_append_time or batch.max_timestamp < 0 else batch.max_timestamp for batch in batches)
        self.segments.wrote(base_offset, max(stamps), sum(len(batch.data) for batch in batches), limits)
        for batch in batches:
            if limits.log_append_time:
                batch = batch.appended_at(wall_ms)
            # A producer's claim that the log stamped it does not survive in a log with CreateTime (docs/kafka/differences.md)
            elif batch.log_append_time:
                batch = batch.by_create_time()
            self._write(batch, wall_ms)
        self._retain(limits.retention_bytes)
        self._forget_producers(wall_ms, limits.producer_expiration_ms)
        return Appended(base_offset, wall_ms if limits.log_append_time else -1, grew=True)

    def read(self, offset: int, max_bytes: int, at_least_one: bool) -> bytes:
        """From the batch that holds `offset` on, at most `max_bytes`: the last batch may be cut, as Kafka sends slices of its file.

        `at_least_one` (Fetch v3+): a first batch larger than `max_bytes` comes whole; without it, it comes cut.
        """
        place = self._batch_at(offset)
        if place == len(self._batches):
            return b""
        first = self._batches[place].data
        room = max(max_bytes, len(first)) if at_least_one else max_bytes
        if room <= len(first):
            return first if room == len(first) else first[: max(0, room)]
        parts = []
        for batch in self._batches[place:]:
            if len(batch.data) >= room:
                parts.append(batch.data[:room])
                break
            parts.append(batch.data)
            room -= len(batch.data)
        return b"".join(parts)

    def first_size(self, offset: int) -> int:
        """Bytes of the batch that holds `offset`; 0 at the end of the log."""
        place = self._batch_at(offset)
        return len(self._batches[place].data) if place < len(self._batches) else 0

    def available(self, offset: int) -> int:
        """Bytes that a reader at `offset` could get, from its batch's beginning on."""
        place = self._batch_at(offset)
        return self._bytes - self._places[place] if place < len(self._batches) else 0

    def batches(self, offset: int = 0) -> Iterator[Batch]:
        """Stored batches from the one that holds `offset` on."""
        return iter(self._batches[self._batch_at(max(offset, self.start)) :])

    def delete_before(self, offset: int) -> None:
        """Move the log start offset (DeleteRecords). A batch that holds it stays, its earlier records are just not given out."""
        self.start = max(self.start, offset)
        while self._dropped < len(self._batches) and self._lasts[self._dropped] < self.start:
            self._drop()
        self._trim_epochs()

    def lead(self, node: int) -> None:
        """Another node leads from here on: the leader epoch grows."""
        self.leader = node
        self.leader_epoch += 1
        # The epoch before wrote nothing: LeaderEpochFileCache keeps one entry for a start offset, the newest
        if self.epochs[-1].start == self.end:
            self.epochs.pop()
        self.epochs.append(EpochStart(self.leader_epoch, self.end))

    def epoch_end(self, epoch: int) -> EpochStart:
        """The largest epoch at or below `epoch` that wrote here, and where it ended; (-1, -1) for one not known (KIP-101, KIP-279)."""
        # It is still being written, so it ends where the log does
        if epoch == self.leader_epoch:
            return EpochStart(epoch, self.end)
        later = [known for known in self.epochs if known.epoch > epoch]
        # Newer than what is known here: an end cannot be told (LeaderEpochFileCache.endOffsetFor)
        if epoch == NO_EPOCH or not later:
            return EpochStart(NO_EPOCH, NO_OFFSET)
        earlier = [known for known in self.epochs if known.epoch <= epoch]
        return EpochStart(earlier[-1].epoch if earlier else epoch, later[0].start)

    def epoch_at(self, offset: int) -> int:
        """The leader epoch that wrote, or would write, at `offset`."""
        found = [known.epoch for known in self.epochs if known.start <= offset]
        return found[-1] if found else NO_EPOCH

    def by_timestamp(self, timestamp: int) -> TimestampAndOffset:
        """The first record whose timestamp is not below `timestamp`."""
        for batch in self.batches():
            if batch.max_timestamp >= timestamp:
                for record in records_of(batch):
                    # DeleteRecords may have moved the log start into the batch: its earlier records are there and not given out
                    if record.timestamp >= timestamp and record.offset >= self.start:
                        return TimestampAndOffset(record.timestamp, record.offset, batch.leader_epoch)
        return NOTHING

    def latest_timestamp(self) -> TimestampAndOffset:
        """The first record with the largest timestamp of the log (ListOffsets -3, KIP-734)."""
        newest: Batch | None = None
        for batch in self.batches():
            if newest is None or batch.max_timestamp > newest.max_timestamp:
                newest = batch
        if newest is None:
            return NOTHING
        record = max(records_of(newest), key=lambda each: (each.timestamp, -each.offset))
        return TimestampAndOffset(record.timestamp, record.offset, newest.leader_epoch)

    def _write(self, batch: Batch, wall_ms: int) -> None:
        placed = batch.placed(self.end, self.leader_epoch)
        if placed.producer_id >= 0:
            self.producers.wrote(placed, wall_ms)
        self._batches.append(placed)
        self._lasts.append(placed.last_offset)
        self._places.append(self._bytes)
        self._bytes += len(placed.data)
        self.end = placed.next_offset

    def _batch_at(self, offset: int) -> int:
        return bisect_left(self._lasts, offset, lo=self._dropped)

    def _retain(self, retention_bytes: int) -> None:
        if retention_bytes < 0:
            return
        # A batch goes if retention.bytes are left without it, as Kafka decides of segments
        # (UnifiedLog.deleteRetentionSizeBreachedSegments): a log never shrinks below the limit by its own doing
        while self._dropped + 1 < len(self._batches) and self.size - len(self._batches[self._dropped].data) >= retention_bytes:
            self.start = max(self.start, self._lasts[self._dropped] + 1)
            self._drop()
        self._trim_epochs()

    def _trim_epochs(self) -> None:
        """Epochs and segments that ended before the log start are forgotten; the epoch it lies in begins there."""
        self.segments.trim(self.start)
        while len(self.epochs) > 1 and self.epochs[1].start <= self.start:
            del self.epochs[0]
        if self.epochs[0].start < self.start:
            self.epochs[0] = EpochStart(self.epochs[0].epoch, self.start)

    def _drop(self) -> None:
        self._batches[self._dropped] = self._batches[self._dropped]._replace(data=b"")  # the bytes go at once, the entry later
        self._dropped += 1
        if self._dropped >= _SLACK or self._dropped == len(self._batches):
            del self._batches[: self._dropped], self._lasts[: self._dropped], self._places[: self._dropped]
            self._dropped = 0

    def _forget_producers(self, wall_ms: int, expiration_ms: int) -> None:
        if wall_ms - self._swept_ms >= PRODUCER_SWEEP_MS:
            self._swept_ms = wall_ms
            self.producers.expire(wall_ms - expiration_ms)


def records_of(batch: Batch) -> list[Record]:
    """A batch's records; one whose compression is opaque here is answered for by its first offset and its largest timestamp."""
    try:
        return decode_records(batch)
    except RecordsError as error:
        if error.error_code is not ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
            raise
    return [Record(batch.base_offset, batch.max_timestamp, None, None)]
