"""One partition's log: batches as they came, offsets, leader epochs, producers, segments; bounded by retention.

There is one copy of every record whatever the replication factor says: all replicas are in sync, so the high watermark is the end of
the log. The last stable offset lies before it while transactions are open (transactions.py).
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
PRODUCER_SWEEP_MS: Final = 600_000
_epoch = attrgetter("epoch")
_start = attrgetter("start")
MOST_OFFSETS: Final = 2**31 - 1
"""The largest distance of a batch's last offset from its first."""
OWED: Final = 2
"""The batches that are opened for a request's first look-up whatever they cost, because a request that is alone would never be answered
otherwise."""
_SHARE: Final = 8  # and an eighth of all batches
_SLACK: Final = 64  # dropped batches before the lists are shortened: deleting from a list's front costs its length


class Appended(NamedTuple):
    """The answer of an append to its producer. `log_append_time` is -1 unless the broker stamped the batch or the batch is a duplicate."""

    base_offset: int
    log_append_time: int
    grew: bool


class TimestampAndOffset(NamedTuple):
    """The answer of ListOffsets for a partition; -1, -1 if nothing was found."""

    timestamp: int
    offset: int
    leader_epoch: int


NOTHING: Final = TimestampAndOffset(-1, NO_OFFSET, NO_EPOCH)


class EpochStart(NamedTuple):
    """A leader epoch and the first offset that it wrote."""

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
        """Maps replicas that get nothing more, by an operator's order, to the end of their log."""
        self.cleaned_to = 0
        """Compaction has looked at everything before this offset (Kafka's cleaner checkpoint)."""
        self.written_ms = made_ms  # Wall clock of the last append
        self._swept_ms = 0
        self._batches: list[Batch] = []
        self._lasts: list[int] = []  # Last offset of each batch
        self._places: list[int] = []  # Bytes before each batch since the log began
        self._newest: list[int] = []  # The largest timestamp up to each batch, perhaps that of a batch that is gone: `_settle_newest`
        self._dropped = 0  # Leading entries that are gone already
        self._deleted: Batch | None = None  # The batch with the largest timestamp of those that DeleteRecords took
        self._bytes = 0  # Bytes ever written: the place of the next batch
        self._index: OffsetIndex | None = None  # Kept from the first abort on, because nothing asks for it before

    @property
    def size(self) -> int:
        return self._bytes - self._places[self._dropped] if len(self._batches) > self._dropped else 0

    def end_at(self, node: int) -> int:
        """Return the log end offset on that replica."""
        return max(self.start, self.lagging.get(node, self.end)) if self.lagging else self.end

    def stable(self, pinned: bool = False) -> int:
        """Return the last stable offset. With `pinned` it never lies before the log's start (quirk `stable_offset_within_log`)."""
        transactions = self.producers.transactions
        first = None if transactions is None else transactions.first_open()
        if first is None:
            return self.end
        return first if first >= self.start else self._stable_start(pinned)

    def _stable_start(self, pinned: bool) -> int:
        """Return the stable offset after records of an open transaction were deleted: where the log begins. If that is in the middle of
        a batch, 4.3.0 answers the offset of that batch, 3.9.1 and 2.8.2 the log's start (TX-90)."""
        place = self._batch_at(self.start)
        return self.start if pinned or place == len(self._batches) else self._batches[place].base_offset

    def aborted(self, offset: int, size: int, end: int) -> list[Aborted]:
        """Return the aborted transactions that a reader of `size` bytes from `offset` on is told of, because it must leave out their
        batches. `end` is that of the replica's log."""
        transactions = self.producers.transactions
        if transactions is None or not transactions.any_aborted:
            return []
        if self._index is None:
            self._index = self._indexed()
        place = self._batch_at(offset)
        upper = self._index.behind((self._places[place] if place < len(self._places) else self._bytes) + size)
        return transactions.aborted(offset, end if upper is None else upper)

    def _indexed(self) -> OffsetIndex:
        """Return the index of the present batches. Batches that are gone by then leave no entries."""
        index = OffsetIndex()
        for place in range(self._dropped, len(self._batches)):
            self._enter(index, self._batches[place], self._places[place])
        return index

    def _enter(self, index: OffsetIndex, batch: Batch, place: int) -> None:
        index.wrote(self.segments.base_at(batch.base_offset), batch.last_offset, place, len(batch.data))

    def append(self, batches: list[Batch], limits: LogLimits, wall_ms: int, origin: Origin = Origin.CLIENT) -> Appended:
        """Append checked batches. A batch that repeats one of its producer's last five is not written again: its old offset is the
        answer. Raises RecordsError(INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE)."""
        self._forget_producers(wall_ms, limits.producer_expiration_ms)
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
            # In a log with CreateTime a producer's claim that the log stamped the batch is dropped (docs/kafka/differences.md)
            elif batch.log_append_time:
                batch = batch.by_create_time()
            self._write(batch, wall_ms)
        self.retain(limits.retention_bytes)
        return Appended(base_offset, wall_ms if limits.log_append_time else -1, grew=True)

    def mark(self, marker: Marker, limits: LogLimits, wall_ms: int) -> int:
        """Append the marker that ends a producer's transaction, and return its offset. Raises RecordsError(INVALID_PRODUCER_EPOCH,
        TRANSACTION_COORDINATOR_FENCED)."""
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
        """From the batch that holds `offset` on up to `end` (None: the log's), at most `max_bytes`: the last batch may be cut, as Kafka
        sends slices of its file.

        `at_least_one` (Fetch v3+): a first batch larger than `max_bytes` comes whole; without it, it comes cut.
        """
        place = self._batch_at(offset)
        stop = len(self._batches) if end is None or end >= self.end else self._batch_at(end)
        if place >= stop:
            return b""
        first = self._whole(place)
        room = max(max_bytes, len(first)) if at_least_one else max_bytes
        if room <= len(first):
            return first if room == len(first) else first[: max(0, room)]
        parts = []
        for at in range(place, stop):  # A slice would copy the list of a whole log
            data = self._whole(at)
            if len(data) >= room:
                parts.append(data[:room])
                break
            parts.append(data)
            room -= len(data)
        return b"".join(parts)

    def _whole(self, place: int) -> bytes:
        """Return the batch as a reader gets it. A batch that was left in its frame is copied for its first reader, so that the frame can
        be freed."""
        data = self._batches[place].data
        if type(data) is bytes:
            return data
        batch = self._batches[place] = self._batches[place].whole()
        return batch.data

    def first_size(self, offset: int) -> int:
        """Return the bytes of the batch that holds `offset`; 0 at the end of the log."""
        place = self._batch_at(offset)
        return len(self._batches[place].data) if place < len(self._batches) else 0

    def first_offset(self, offset: int) -> int:
        """Return the offset of the first record of the batch that holds `offset`; at the end of the log, `offset`."""
        place = self._batch_at(offset)
        return self._batches[place].base_offset if place < len(self._batches) else offset

    def available(self, offset: int, end: int | None = None) -> int:
        """Return the bytes that a reader at `offset` could get, from its batch's beginning up to `end` (None: the log's)."""
        place = self._batch_at(offset)
        if place == len(self._batches) or (end is not None and offset >= end):
            return 0
        behind = len(self._batches) if end is None else self._batch_at(end)
        return (self._places[behind] if behind < len(self._batches) else self._bytes) - self._places[place]

    def batches(self, offset: int = 0) -> Iterator[Batch]:
        """Yield stored batches from the one that holds `offset` on."""
        return map(Batch.whole, self._batches[self._batch_at(max(offset, self.start)) :])

    def go_on_at(self, offset: int, start: int | None = None) -> None:
        """Give the next record that offset. A batch without records fills the gap, so that a reader gets past it, as after compaction. A
        log without records begins at `start`, or at that offset for None."""
        if self.start == self.end:
            self.start = self.end = offset if start is None else start
            self._trim_epochs()
        while self.end < offset:
            hole = empty_batch(self.end, min(offset - 1, self.end + MOST_OFFSETS))
            if self.segments.active is not None:
                self.segments.active.size += len(hole.data)
            self._write(hole, self.written_ms)

    def delete_before(self, offset: int) -> None:
        """Move the log start offset (DeleteRecords). A batch that holds it stays, its earlier records are just not given out."""
        self.start = max(self.start, offset)
        place = self._batch_at(self.start)
        gone = ([] if self._deleted is None else [self._deleted]) + self._batches[self._dropped : place]
        self._deleted = max(gone, key=_stamp, default=None)
        self._drop_to(place)
        self._trim_epochs()

    def replace_before(self, offset: int, batches: list[Batch]) -> None:
        """Replace all batches that end before that offset. No record moves; there are only fewer."""
        kept = [*batches, *self.batches(offset)]
        self._batches, self._lasts, self._places, self._newest = [], [], [], []
        self._dropped = self._bytes = 0
        self._index = self._deleted = None
        for batch in kept:
            self._keep(batch)

    def lead(self, node: int) -> None:
        """Let another node lead: the leader epoch grows. The node has all of the log, also if it was kept behind."""
        self.leader = node
        self.lagging.pop(node, None)
        self.leader_epoch += 1
        # The epoch before wrote nothing: LeaderEpochFileCache keeps one entry for a start offset, the newest
        if self.epochs[-1].start == self.end:
            self.epochs.pop()
        self.epochs.append(EpochStart(self.leader_epoch, self.end))

    def epoch_end(self, epoch: int) -> EpochStart:
        """Return the largest epoch at or below `epoch` that wrote here, and where it ended; (-1, -1) for an unknown one (KIP-101,
        KIP-279)."""
        # This epoch is still being written, so it ends where the log does
        if epoch == self.leader_epoch:
            return EpochStart(epoch, self.end)
        later = bisect_right(self.epochs, epoch, key=_epoch)
        # The epoch is newer than the known ones, so it has no end (LeaderEpochFileCache.endOffsetFor)
        if epoch == NO_EPOCH or later == len(self.epochs):
            return EpochStart(NO_EPOCH, NO_OFFSET)
        return EpochStart(self.epochs[later - 1].epoch if later else epoch, self.epochs[later].start)

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch that wrote, or would write, at `offset`."""
        found = bisect_right(self.epochs, offset, key=_start)
        return self.epochs[found - 1].epoch if found else NO_EPOCH

    def by_timestamp(self, timestamp: int, room: Room) -> TimestampAndOffset:
        """Return the first record whose timestamp is not below `timestamp`. One batch is opened, two where the log begins inside the
        first, and more only where headers claim a later timestamp than any of their records has. Raises OverLimit when there is no
        `room` for that."""
        self._settle_newest()
        owed = 0 if room.spent else OWED
        for place in range(bisect_left(self._newest, timestamp, lo=self._dropped), len(self._batches)):
            batch = self._batches[place]
            if not owed:
                room.take(1)
            if batch.max_timestamp >= timestamp:
                heads, owed = heads_of(batch, room, owed > 0), max(0, owed - 1)
                for stamp, offset, _ in heads:
                    # DeleteRecords may have moved the log start into the batch: its earlier records are present and not answered
                    if stamp >= timestamp and offset >= self.start:
                        return TimestampAndOffset(stamp, offset, batch.leader_epoch)
        return NOTHING

    def latest_timestamp(self, room: Room) -> TimestampAndOffset:
        """Return the first record with the largest timestamp of the log (ListOffsets -3, KIP-734). Raises OverLimit."""
        newest = self._newest_batch()
        if newest is None:
            return NOTHING
        found = NOTHING
        for stamp, offset, _ in heads_of(newest, room, owed=not room.spent):
            if found is NOTHING or stamp > found.timestamp or (stamp == found.timestamp and offset < found.offset):
                found = TimestampAndOffset(stamp, offset, newest.leader_epoch)
        return found

    def _newest_batch(self) -> Batch | None:
        """Return the first batch with the largest timestamp: a deleted one too, as long as its segment stays
        (UnifiedLog.fetchOffsetByTimestamp asks the segments)."""
        deleted = self._deleted if self._deleted is not None and self.segments.holds(self._deleted.base_offset) else None
        if self._dropped == len(self._batches):
            return deleted
        self._settle_newest()
        newest = self._batches[bisect_left(self._newest, self._newest[-1], lo=self._dropped)]
        return newest if deleted is None or _stamp(deleted) < _stamp(newest) else deleted

    def _settle_newest(self) -> None:
        """Let go of the timestamps of batches that are gone: as far as theirs were the largest."""
        newest = _stamp(self._batches[self._dropped]) if self._dropped < len(self._batches) else 0
        for place in range(self._dropped, len(self._batches)):
            newest = max(newest, _stamp(self._batches[place]))
            if self._newest[place] == newest:
                break  # The following entries are right, because they were compared with this one
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
        """Drop the oldest batches while that many bytes are left without them; negative: drop none."""
        if retention_bytes < 0:
            return
        # A batch goes if retention.bytes remain without it, as Kafka decides for segments
        # (UnifiedLog.deleteRetentionSizeBreachedSegments): a log never shrinks below the limit by itself
        first = bisect_right(self._places, self._bytes - retention_bytes, lo=self._dropped) - 1
        if first > self._dropped:
            self.start = max(self.start, self._lasts[first - 1] + 1)
            self._drop_to(first)
        self._trim_epochs()

    def _trim_epochs(self) -> None:
        """Forget epochs and segments that ended before the log start. The epoch in which the log starts begins there."""
        self.segments.trim(self.start)
        if self.producers.transactions is not None:
            self.producers.transactions.trim(self.start)
        while len(self.epochs) > 1 and self.epochs[1].start <= self.start:
            del self.epochs[0]
        if self.epochs[0].start < self.start:
            self.epochs[0] = EpochStart(self.epochs[0].epoch, self.start)

    def _drop_to(self, place: int) -> None:
        """Let go of the batches before that one: their bytes at once, the entries when there are many."""
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

    def _forget_producers(self, wall_ms: int, expiration_ms: int) -> None:
        if wall_ms - self._swept_ms >= PRODUCER_SWEEP_MS:
            self._swept_ms = wall_ms
            self.producers.expire(wall_ms - expiration_ms)


def _stamp(batch: Batch) -> int:
    """Return the largest timestamp of the batch's records. Compaction may have removed all, and the header still has one."""
    return batch.max_timestamp if batch.records_count else NO_TIMESTAMP


def heads_of(batch: Batch, room: Room, owed: bool) -> Iterable[Head]:
    """Return a batch's records. For a batch whose compression is opaque here, its first offset and its largest timestamp stand in.
    `owed`: it is opened even without room for it, instead of raising OverLimit."""
    try:
        payload = room.unpacked(batch)
    except RecordsError as error:
        if error.error_code != error_codes.UNSUPPORTED_COMPRESSION_TYPE:
            raise
        return [(batch.max_timestamp, batch.base_offset, False)]
    room.take(0 if owed else batch.records_count, OPENED)
    room.records -= batch.records_count * OPENED if owed else 0
    return iter_heads(batch, payload)
