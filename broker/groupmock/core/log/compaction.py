"""Compaction keeps the newest record of each key (cleanup.policy=compact), like Kafka's log cleaner (LogCleaner, Cleaner, KIP-534).

One round, `compact`, does this:

1. A round may clean up to a border: the beginning of the active segment, of the segment with the last stable offset, or of the first
   segment with a record younger than min.compaction.lag.ms, whichever comes first. The active segment is never touched, so the newest
   records stay.
2. In the part that no earlier round has seen (from `Partition.cleaned_to` on), it notes the last offset of every key.
3. It rewrites everything from the log's start to the border without the records that have a noted later record with the same key.
   Offsets never change: gaps remain, and a Fetch in a gap is answered from the next batch on.
4. It merges small neighbouring segments as long as they fit into segment.bytes.

These parts of a batch remain:

- A batch that loses some records keeps its first and last offset, its producer and its sequence; one that loses none is unchanged.
- A batch that loses all records is removed, with two exceptions: the last one of a producer that the partition remembers, and the last one
  of the round. They stay without records, so that sequences continue and the last offset is not lost.
- A tombstone (a null value) stays at first, and its batch gets a *delete horizon*: the time of the round plus delete.retention.ms, written
  in the place of its base timestamp. A later round after that time removes it. So a consumer that reads from the start has that long to
  see it. (The first round that meets it never removes it, however old it is.)
- Aborted records are removed, and do not count as newer records of their key. Markers stay.
- A record without a key is removed: a compacted topic accepts none, so it was written before the topic was compacted.

A batch that cannot be read here (its compression is snappy, lz4 or zstd, or its gzip is broken) stays whole. A tombstone after such a
batch stays too, because the batch may have an older value of the key, which would become the newest one. Rounds come by command only
(core.steering.logs), whatever the dirty ratio is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from groupmock_codec.records import Batch, Record, RecordsError, iter_records
from groupmock_codec.room import any_room

from .limits import LogLimits
from .partition import Partition
from .segments import Segment

NOWHERE: Final = -1


class Round(NamedTuple):
    """The result of one cleaning round, which read the log up to `cleaned_to`, removed `gone` records, and could not read `opaque`
    batches."""

    cleaned_to: int
    gone: int
    opaque: int


def border(partition: Partition, limits: LogLimits, wall_ms: int) -> int:
    """Return the offset up to which a cleaning round may clean (LogCleanerManager.cleanableOffsets)."""
    active = partition.segments.active
    if active is None:
        return partition.start
    # If a part of a segment belongs to an open transaction, the whole segment is left uncleaned (seen on 4.4.0).
    most = min(active.base_offset, partition.segments.base_at(partition.stable()))
    if limits.min_compaction_lag_ms > 0:
        for segment in partition.segments.kept():
            is_young = segment.newest_ms > wall_ms - limits.min_compaction_lag_ms
            if segment.base_offset >= partition.cleaned_to and is_young:
                return min(segment.base_offset, most)
    return most


def compact(partition: Partition, limits: LogLimits, wall_ms: int) -> Round | None:
    """Run one cleaning round on the log, or return None if there is nothing new to clean."""
    upto, dirty = border(partition, limits, wall_ms), max(partition.cleaned_to, partition.start)
    if upto <= dirty:
        return None
    cleaner = _Cleaner(partition, upto, limits.delete_retention_ms, wall_ms)
    cleaner.note_keys(dirty)
    kept = cleaner.kept()
    before = sum(batch.records_count for batch in _until(partition, upto))
    partition.segments.replace([*_merged(partition, kept, upto, limits.segment_bytes), *_beyond(partition, upto)])
    partition.replace_before(upto, kept)
    partition.cleaned_to = upto
    return Round(upto, before - sum(batch.records_count for batch in kept), cleaner.opaque)


def _until(partition: Partition, upto: int) -> Iterator[Batch]:
    return (batch for batch in partition.batches() if batch.base_offset < upto)


def _beyond(partition: Partition, upto: int) -> list[Segment]:
    return [segment for segment in partition.segments.kept() if segment.base_offset >= upto]


def _merged(partition: Partition, kept: list[Batch], upto: int, most: int) -> list[Segment]:
    """Return the segments before the border, merged where their sizes allow it. Neighbours are merged as long as their sizes before the
    round fit (Cleaner.groupSegmentsBySize)."""
    merged: list[Segment] = []
    sizes: list[int] = []
    for segment in partition.segments.kept():
        if segment.base_offset >= upto:
            break
        if merged and sizes[-1] + segment.size <= most:
            sizes[-1] += segment.size
            merged[-1].newest_ms = segment.newest_ms
        else:
            merged.append(Segment(segment.base_offset, segment.first_ms, segment.newest_ms, 0))
            sizes.append(segment.size)
    ends = [*(segment.base_offset for segment in merged[1:]), upto]
    for segment, end in zip(merged, ends, strict=True):
        inside = [batch for batch in kept if segment.base_offset <= batch.base_offset < end]
        segment.size = sum(len(batch.data) for batch in inside)
        segment.newest_ms = max((batch.max_timestamp for batch in inside), default=segment.newest_ms)
    return merged


class _Cleaner:
    def __init__(self, partition: Partition, upto: int, delete_retention_ms: int, wall_ms: int) -> None:
        self._partition, self._upto, self._wall_ms = partition, upto, wall_ms
        self._horizon_ms = wall_ms + delete_retention_ms
        self._newest: dict[bytes, int] = {}
        self.opaque = 0

    def note_keys(self, dirty: int) -> None:
        """Record the last offset of each key in the log from offset `dirty` on."""
        for batch in _until(self._partition, self._upto):
            if batch.last_offset >= dirty and not batch.control and not self._aborted(batch):
                self._newest.update((record.key, record.offset) for record in self._records(batch) or () if record.key is not None)

    def kept(self) -> list[Batch]:
        """Return the batches before the border that the cleaning round keeps."""
        return [kept for batch in _until(self._partition, self._upto) if (kept := self._cleaned(batch)) is not None]

    def _records(self, batch: Batch) -> list[Record] | None:
        """Return the batch's records, or None if the batch cannot be decoded."""
        try:
            return list(iter_records(batch, any_room().unpacked(batch)))
        except RecordsError:
            return None

    def _aborted(self, batch: Batch) -> bool:
        transactions = self._partition.producers.transactions
        return batch.transactional and transactions is not None and transactions.aborted_batch(batch.producer_id, batch.base_offset)

    def _cleaned(self, batch: Batch) -> Batch | None:
        if batch.control:
            return batch
        records = [] if self._aborted(batch) else self._records(batch)
        if records is None:
            self.opaque += 1
            return batch
        horizon = batch.delete_horizon_ms
        over = horizon is not None and self._wall_ms >= horizon and not self.opaque
        kept = [record for record in records if self._stays(record, over)]
        begins = horizon is None and any(record.value is None for record in kept)
        if kept and len(kept) == len(records) and not begins:
            return batch
        if not kept and not self._holds_a_place(batch):
            return None
        return batch.compacted(kept, self._horizon_ms if begins else horizon)

    def _stays(self, record: Record, tombstones_go: bool) -> bool:
        if record.key is None or record.offset < self._newest.get(record.key, NOWHERE):
            return False
        return record.value is not None or not tombstones_go

    def _holds_a_place(self, batch: Batch) -> bool:
        """True if the batch is kept although it has no records left (BatchRetention.RETAIN_EMPTY)."""
        if batch.next_offset == self._upto:
            return True
        return batch.producer_id >= 0 and self._partition.producers.last_offset(batch.producer_id) == batch.last_offset
