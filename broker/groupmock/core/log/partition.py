"""The log of one partition stores batches, offsets, leader epochs, producers and segments, and is bounded by retention.

There is one copy of every record whatever the replication factor is: all replicas are in sync, so the high watermark is the end of the
log. The last stable offset is before it while transactions are open (transactions.py).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.markers import marker_batch
from groupmock_codec.records import NO_TIMESTAMP, Batch, Head, RecordsError, empty_batch, iter_heads
from groupmock_codec.room import OPENED, Room

from .limits import LogLimits
from .offset_index import OffsetIndex
from .producers import Origin, ProducerStates
from .segments import Segments
from .transactions import Aborted, Marker

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
_epoch = attrgetter("epoch")
_start = attrgetter("start")
MOST_OFFSETS: Final = 2**31 - 1
"""The largest difference between the last and the first offset of a batch."""
OWED: Final = 2
"""The number of batches that the first look-up of a request may open at any cost, so that a single look-up never fails for its cost."""
_SHARE: Final = 8
# Entries of dropped batches stay in the lists until there are this many, because deleting from the front of a list takes time in proportion
# to its length.
_SLACK: Final = 64


class Appended(NamedTuple):
    """The result that an append has for the producer. `log_append_time` is -1 unless the broker stamped the batch or the batch is a
    duplicate."""

    base_offset: int
    log_append_time: int
    grew: bool


class TimestampAndOffset(NamedTuple):
    """The result of a look-up in ListOffsets, with offset and timestamp -1 if nothing was found."""

    timestamp: int
    offset: int
    leader_epoch: int


NOTHING: Final = TimestampAndOffset(-1, NO_OFFSET, NO_EPOCH)


class EpochStart(NamedTuple):
    """A leader epoch and the first offset that was written in it."""

    epoch: int
    start: int


class Partition:
    """The log of one partition. `start` and `end` are Kafka's log start offset and log end offset, which is the high watermark here."""

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
        self.lagging: dict[int, int] = {}
        """Maps the id of a replica that a command keeps behind to the end of the replica's log."""
        self.cleaned_to = 0
        """Compaction has covered everything before this offset (Kafka's cleaner checkpoint)."""
        self.written_ms = made_ms  # `written_ms` is the wall clock time of the last append.
        self._swept_ms = 0
        self._batches: list[Batch] = []
        self._lasts: list[int] = []  # `_lasts` has the last offset of each batch.
        self._places: list[int] = []  # `_places` has the position of each batch, which is the number of bytes written before it.
        # `_newest` has the largest timestamp up to each batch. A dropped batch may have had that timestamp: see `_settle_newest`.
        self._newest: list[int] = []
        self._dropped = 0  # `_dropped` is the number of leading list entries whose batches are dropped.
        self._deleted: Batch | None = None  # Of the batches that DeleteRecords removed, `_deleted` is the one with the largest timestamp.
        self._bytes = 0  # `_bytes` is the number of bytes ever written, which is the position of the next batch.
        # The offset index is built when the first transaction is aborted, because nothing reads the index before.
        self._index: OffsetIndex | None = None

    @property
    def size(self) -> int:
        return self._bytes - self._places[self._dropped] if len(self._batches) > self._dropped else 0

    def end_at(self, node: int) -> int:
        """Return the log end offset of the replica on that node."""
        return max(self.start, self.lagging.get(node, self.end)) if self.lagging else self.end

    def stable(self, pinned: bool = False) -> int:
        """Return the last stable offset of the log. With `pinned` it is never before the log's start (quirk `stable_offset_within_log`)."""
        transactions = self.producers.transactions
        first = None if transactions is None else transactions.first_open()
        if first is None:
            return self.end
        return first if first >= self.start else self._stable_start(pinned)

    def _stable_start(self, pinned: bool) -> int:
        """Return the last stable offset after records of an open transaction were deleted: the log start offset. If that is in the
        middle of a batch, 4.3.0 returns the offset of that batch, and 3.9.1 and 2.8.2 return the log's start (TX-90)."""
        place = self._batch_at(self.start)
        return self.start if pinned or place == len(self._batches) else self._batches[place].base_offset

    def aborted(self, offset: int, size: int, end: int) -> list[Aborted]:
        """Return the aborted transactions whose batches a reader of `size` bytes from `offset` on has to skip. `end` is the end of the
        replica's log."""
        transactions = self.producers.transactions
        if transactions is None or not transactions.any_aborted:
            return []
        if self._index is None:
            self._index = self._indexed()
        place = self._batch_at(offset)
        upper = self._index.behind((self._places[place] if place < len(self._places) else self._bytes) + size)
        return transactions.aborted(offset, end if upper is None else upper)

    def _indexed(self) -> OffsetIndex:
        """Build the offset index of the present batches. Dropped ones have left no entries."""
        index = OffsetIndex()
        for place in range(self._dropped, len(self._batches)):
            self._enter(index, self._batches[place], self._places[place])
        return index

    def _enter(self, index: OffsetIndex, batch: Batch, place: int) -> None:
        index.wrote(self.segments.base_at(batch.base_offset), batch.last_offset, place, len(batch.data))

    def append(self, batches: list[Batch], limits: LogLimits, wall_ms: int, origin: Origin = Origin.CLIENT) -> Appended:
        """Append batches that were checked before, and return the result for the producer. A batch that repeats one of its producer's
        last five is not written again: its old offset is returned. Raises RecordsError(INVALID_PRODUCER_EPOCH,
        OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE)."""
        self._forget_producers(wall_ms, limits)
        for batch in batches:
            if batch.producer_id < 0:
                continue
            written = self.producers.check(batch, origin)
            if written is not None:
                return Appended(written.base_offset, written.timestamp, grew=False)
        base_offset, self.written_ms = self.end, wall_ms
        stamps = (wall_ms if limits.log_append_time or batch.max_timestamp < 0 else batch.max_timestamp for batch in batches)
        self.segments.wrote(base_offset, max(stamps), sum(len(batch.data) for batch in batches), limits)
        for batch in batches:
            if limits.log_append_time:
                batch = batch.appended_at(wall_ms)
            # The attributes of a batch may say that a log set its timestamps (LogAppendTime); a log with CreateTime clears that bit
            # (docs/kafka/differences.md).
            elif batch.log_append_time:
                batch = batch.by_create_time()
            self._write(batch, wall_ms)
        self.retain(limits.retention_bytes)
        return Appended(base_offset, wall_ms if limits.log_append_time else -1, grew=True)

    def mark(self, marker: Marker, limits: LogLimits, wall_ms: int) -> int:
        """Append the control batch that ends a producer's transaction, and return its offset. Raises
        RecordsError(INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED)."""
        self.producers.check_marker(marker)
        batch = marker_batch(marker.committed, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch, wall_ms)
        if limits.log_append_time:
            batch = batch.appended_at(wall_ms)
        self.written_ms = wall_ms
        self.segments.wrote(self.end, wall_ms, len(batch.data), limits)
        placed = batch.placed(self.end, self.leader_epoch)
        self.producers.marked(marker, placed.base_offset, wall_ms)
        self._keep(placed)
        self.end = placed.next_offset
        self.retain(limits.retention_bytes)
        return placed.base_offset

    def read(self, offset: int, max_bytes: int, at_least_one: bool, end: int | None = None) -> bytes:
        """Return at most `max_bytes` of batches, from the batch with `offset` up to the offset `end` (None: the log's end). The last batch
        may be cut, because Kafka sends slices of its file.

        With `at_least_one` (Fetch v3+), a first batch larger than `max_bytes` is returned whole, otherwise cut."""
        place = self._batch_at(offset)
        stop = len(self._batches) if end is None or end >= self.end else self._batch_at(end)
        if place >= stop:
            return b""
        first = self._whole(place)
        room = max(max_bytes, len(first)) if at_least_one else max_bytes
        if room <= len(first):
            return first if room == len(first) else first[: max(0, room)]
        parts = []
        for at in range(place, stop):  # The loop uses a range and not a slice, which would copy the list of a whole log.
            data = self._whole(at)
            if len(data) >= room:
                parts.append(data[:room])
                break
            parts.append(data)
            room -= len(data)
        return b"".join(parts)

    def _whole(self, place: int) -> bytes:
        """Return the bytes of a whole batch for a reader. A batch that is still a view of its request's frame is copied at the first
        read, so that the frame is released."""
        data = self._batches[place].data
        if type(data) is bytes:
            return data
        batch = self._batches[place] = self._batches[place].whole()
        return batch.data

    def whole_batches(self, offset: int, end: int, max_bytes: int, at_least_one: bool, most: int) -> list[Batch]:
        """Return at most `most` batches that `read` returns whole, from the batch with `offset` up to the offset `end`."""
        place, stop = self._batch_at(offset), self._batch_at(end) if end < self.end else len(self._batches)
        limit = self._bytes if place == len(self._places) else self._places[place] + max_bytes
        fit = len(self._batches) if self._bytes <= limit else bisect_right(self._places, limit, lo=place) - 1
        return self._batches[place : min(stop, place + most, max(fit, place + at_least_one))]

    def first_size(self, offset: int) -> int:
        """Return the size of the batch that contains `offset`, or 0 at the end of the log."""
        place = self._batch_at(offset)
        return len(self._batches[place].data) if place < len(self._batches) else 0

    def first_offset(self, offset: int) -> int:
        """Return the first offset of the batch that contains `offset`, or `offset` itself at the end of the log."""
        place = self._batch_at(offset)
        return self._batches[place].base_offset if place < len(self._batches) else offset

    def available(self, offset: int, end: int | None = None) -> int:
        """Return the number of bytes from the start of the batch that contains `offset` up to `end` (None: the log's end)."""
        place = self._batch_at(offset)
        if place == len(self._batches) or (end is not None and offset >= end):
            return 0
        behind = len(self._batches) if end is None else self._batch_at(end)
        return (self._places[behind] if behind < len(self._batches) else self._bytes) - self._places[place]

    def batches(self, offset: int = 0) -> Iterator[Batch]:
        """Iterate over the stored batches, starting with the batch that contains `offset`."""
        return map(Batch.whole, self._batches[self._batch_at(max(offset, self.start)) :])

    def go_on_at(self, offset: int, start: int | None = None) -> None:
        """Set the offset that the next record gets. A batch without records fills the gap, as after compaction, so that readers get past
        it. A log without records begins at `start`, or at that offset if `start` is None."""
        if self.start == self.end:
            self.start = self.end = offset if start is None else start
            self._trim_epochs()
        while self.end < offset:
            hole = empty_batch(self.end, min(offset - 1, self.end + MOST_OFFSETS))
            if self.segments.active is not None:
                self.segments.active.size += len(hole.data)
            self._write(hole, self.written_ms)

    def delete_before(self, offset: int) -> None:
        """Move the log start offset, as DeleteRecords does. A batch that holds it stays, but its earlier records are not returned."""
        self.start = max(self.start, offset)
        place = self._batch_at(self.start)
        gone = ([] if self._deleted is None else [self._deleted]) + self._batches[self._dropped : place]
        self._deleted = max(gone, key=_stamp, default=None)
        self._drop_to(place)
        self._trim_epochs()

    def truncate(self, offset: int) -> None:
        """Remove all batches that end at `offset` or later; the next record gets this offset (UnifiedLog.truncateTo). The leader's epoch
        begins there at the latest."""
        place = self._batch_at(offset)
        if place < len(self._batches):
            self._bytes = self._places[place]
        for entries in self._batches, self._lasts, self._places, self._newest:
            del entries[place:]
        kept = self._batches[self._dropped :]
        self._index, self.end, self.cleaned_to = None, offset, min(self.cleaned_to, offset)
        self.lagging = {node: min(end, offset) for node, end in self.lagging.items()}
        self.segments.truncate(offset, kept)
        self.producers.reload(kept)
        self.epochs = [each for each in self.epochs if each.start < offset]
        if not self.epochs or self.epochs[-1].epoch != self.leader_epoch:
            self.epochs.append(EpochStart(self.leader_epoch, offset))

    def replace_before(self, offset: int, batches: list[Batch]) -> None:
        """Replace all batches that end before the offset, because compaction has removed records. Offsets do not change; there are only
        fewer records."""
        kept = [*batches, *self.batches(offset)]
        self._batches, self._lasts, self._places, self._newest = [], [], [], []
        self._dropped = self._bytes = 0
        self._index = self._deleted = None
        for batch in kept:
            self._keep(batch)

    def lead(self, node: int) -> None:
        """Make the node the leader, which raises the leader epoch. The node then has the whole log, even if its replica was kept behind."""
        self.leader = node
        self.lagging.pop(node, None)
        self.leader_epoch += 1
        # LeaderEpochFileCache keeps only the newest epoch for a start offset, so an epoch without records is replaced.
        if self.epochs[-1].start == self.end:
            self.epochs.pop()
        self.epochs.append(EpochStart(self.leader_epoch, self.end))

    def epoch_end(self, epoch: int) -> EpochStart:
        """Return the largest epoch at or below `epoch` that has records in this log, and its end offset, or (-1, -1) for an unknown
        epoch (KIP-101, KIP-279)."""
        # The current epoch ends at the end of the log.
        if epoch == self.leader_epoch:
            return EpochStart(epoch, self.end)
        later = bisect_right(self.epochs, epoch, key=_epoch)
        # The requested epoch is newer than all known epochs, so its end is unknown (LeaderEpochFileCache.endOffsetFor).
        if epoch == NO_EPOCH or later == len(self.epochs):
            return EpochStart(NO_EPOCH, NO_OFFSET)
        return EpochStart(self.epochs[later - 1].epoch if later else epoch, self.epochs[later].start)

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch that wrote, or would write, the record at `offset`."""
        found = bisect_right(self.epochs, offset, key=_start)
        return self.epochs[found - 1].epoch if found else NO_EPOCH

    def by_timestamp(self, timestamp: int, room: Room) -> TimestampAndOffset:
        """Return the first record whose timestamp is at least `timestamp`.

        One batch is opened, two if the log begins inside the first, and more only if headers claim a later timestamp than any of their
        records has. Raises OverLimit if there is no `room` for that."""
        self._settle_newest()
        owed = 0 if room.spent else OWED
        for place in range(bisect_left(self._newest, timestamp, lo=self._dropped), len(self._batches)):
            batch = self._batches[place]
            if not owed:
                room.take(1)
            if batch.max_timestamp >= timestamp:
                heads, owed = heads_of(batch, room, owed > 0), max(0, owed - 1)
                for stamp, offset, _ in heads:
                    # The log start may be in the middle of the batch, whose earlier records were deleted by DeleteRecords.
                    if stamp >= timestamp and offset >= self.start:
                        return TimestampAndOffset(stamp, offset, batch.leader_epoch)
        return NOTHING

    def latest_timestamp(self, room: Room) -> TimestampAndOffset:
        """Return the first record that has the largest timestamp of the log (ListOffsets -3, KIP-734). Raises OverLimit."""
        newest = self._newest_batch()
        if newest is None:
            return NOTHING
        found = NOTHING
        for stamp, offset, _ in heads_of(newest, room, owed=not room.spent):
            if found is NOTHING or stamp > found.timestamp or (stamp == found.timestamp and offset < found.offset):
                found = TimestampAndOffset(stamp, offset, newest.leader_epoch)
        return found

    def _newest_batch(self) -> Batch | None:
        """Return the first batch that has the largest timestamp of the log. Deleted records count as long as their segment stays
        (UnifiedLog.fetchOffsetByTimestamp asks the segments)."""
        deleted = self._deleted if self._deleted is not None and self.segments.holds(self._deleted.base_offset) else None
        if self._dropped == len(self._batches):
            return deleted
        self._settle_newest()
        newest = self._batches[bisect_left(self._newest, self._newest[-1], lo=self._dropped)]
        return newest if deleted is None or _stamp(deleted) < _stamp(newest) else deleted

    def _settle_newest(self) -> None:
        """Recompute the largest timestamps up to each batch, because dropped batches may have had them."""
        newest = _stamp(self._batches[self._dropped]) if self._dropped < len(self._batches) else 0
        for place in range(self._dropped, len(self._batches)):
            newest = max(newest, _stamp(self._batches[place]))
            if self._newest[place] == newest:
                break  # The largest timestamps of later batches are correct, because they were compared with this one.
            self._newest[place] = newest

    def _write(self, batch: Batch, wall_ms: int) -> None:
        placed = batch.placed(self.end, self.leader_epoch)
        if placed.producer_id >= 0:
            self.producers.wrote(placed, wall_ms)
        self._keep(placed)
        self.end = placed.next_offset

    def _keep(self, placed: Batch) -> None:
        self._batches.append(placed)
        self._lasts.append(placed.last_offset)
        self._places.append(self._bytes)
        self._newest.append(max(_stamp(placed), self._newest[-1]) if self._newest else _stamp(placed))
        if self._index is not None:
            self._enter(self._index, placed, self._bytes)
        self._bytes += len(placed.data)

    def _batch_at(self, offset: int) -> int:
        return bisect_left(self._lasts, offset, lo=self._dropped)

    def retain(self, retention_bytes: int) -> None:
        """Drop the oldest batches, as long as the rest has at least `retention_bytes`. A negative number drops none."""
        if retention_bytes < 0:
            return
        # The log never shrinks below retention.bytes, because Kafka decides in the same way for segments
        # (UnifiedLog.deleteRetentionSizeBreachedSegments).
        first = bisect_right(self._places, self._bytes - retention_bytes, lo=self._dropped) - 1
        if first > self._dropped:
            self.start = max(self.start, self._lasts[first - 1] + 1)
            self._drop_to(first)
        self._trim_epochs()

    def _trim_epochs(self) -> None:
        """Forget the epochs and segments that ended before the log start. The epoch that contains it begins there."""
        self.segments.trim(self.start)
        if self.producers.transactions is not None:
            self.producers.transactions.trim(self.start)
        while len(self.epochs) > 1 and self.epochs[1].start <= self.start:
            del self.epochs[0]
        if self.epochs[0].start < self.start:
            self.epochs[0] = EpochStart(self.epochs[0].epoch, self.start)

    def _drop_to(self, place: int) -> None:
        """Drop the batches before the list index `place`. Their bytes are released at once, the list entries when there are many."""
        if self._index is not None:
            self._index.trim(self._places[place] if place < len(self._places) else self._bytes)
        if place >= max(_SLACK, len(self._batches) // _SHARE) or place == len(self._batches):
            for entries in self._batches, self._lasts, self._places, self._newest:
                del entries[:place]
            self._dropped = 0
            return
        for at in range(self._dropped, place):
            self._batches[at] = self._batches[at]._replace(data=b"")
        self._dropped = place

    def _forget_producers(self, wall_ms: int, limits: LogLimits) -> None:
        if wall_ms - self._swept_ms >= limits.producer_check_ms:
            self._swept_ms = wall_ms
            self.producers.expire(wall_ms - limits.producer_expiration_ms)


def _stamp(batch: Batch) -> int:
    """Return the largest timestamp of the batch's records. Compaction may have left none, but the header still has one."""
    return batch.max_timestamp if batch.records_count else NO_TIMESTAMP


def heads_of(batch: Batch, room: Room, owed: bool) -> Iterable[Head]:
    """Iterate over the offsets and timestamps of a batch's records. A batch whose compression cannot be opened here counts as one record,
    with its first offset and its largest timestamp.

    With `owed`, the batch is opened even if there is no room for it. Otherwise raises OverLimit."""
    try:
        payload = room.unpacked(batch)
    except RecordsError as error:
        if error.error_code != error_codes.UNSUPPORTED_COMPRESSION_TYPE:
            raise
        return [(batch.max_timestamp, batch.base_offset, False)]
    room.take(0 if owed else batch.records_count, OPENED)
    room.records -= batch.records_count * OPENED if owed else 0
    return iter_heads(batch, payload)
