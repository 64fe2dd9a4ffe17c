"""A log consists of segments, whose ages decide about retention by time.

A log is a list of files, its segments, and it loses a whole segment at a time: the oldest ones, while the largest timestamp in each is
more than retention.ms ago (UnifiedLog.deleteRetentionMsBreachedSegments). The last one is removed as well and replaced by an empty one, so
that a log without writes ends up empty. A log with writes keeps everything since its last roll. It rolls when a write would exceed
segment.bytes, or when the write's newest timestamp is more than segment.ms after the segment's first (LogSegment.shouldRoll). Seen on
4.3.0 and 3.9.1: docs/kafka/differences.md#records-that-are-too-old.

A segment without bytes is the active one: it was begun by a roll and not yet written to, or compaction removed everything from it.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter

import msgspec

from groupmock_codec.records import Batch

from .limits import LogLimits

_base = attrgetter("base_offset")


class Segment(msgspec.Struct, gc=False):
    """A segment of a log, which begins at `base_offset`. `first_ms` is the largest timestamp of its first write, from which segment.ms
    counts; `newest_ms` is the largest of all."""

    base_offset: int
    first_ms: int
    newest_ms: int
    size: int


class Segments:
    """The segments of one log, the oldest first. Times are ms since 1970 and sizes are bytes."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[Segment] = []

    def wrote(self, base_offset: int, newest_ms: int, size: int, limits: LogLimits) -> None:
        """Record that batches were written at the offset, with the given largest timestamp."""
        last = self._kept[-1] if self._kept else None
        if last is not None and not last.size:
            last.first_ms = last.newest_ms = newest_ms
            last.size = size
        elif last is None or last.size + size > limits.segment_bytes or newest_ms - last.first_ms > limits.segment_ms:
            self._kept.append(Segment(base_offset, newest_ms, newest_ms, size))
        else:
            last.newest_ms = max(last.newest_ms, newest_ms)
            last.size += size

    def roll(self, end: int, wall_ms: int) -> bool:
        """Begin a new segment at offset `end`. Return False if nothing was written to the last one yet."""
        if not self._kept or not self._kept[-1].size:
            return False
        self._kept.append(Segment(end, wall_ms, wall_ms, 0))
        return True

    @property
    def active(self) -> Segment | None:
        """Return the segment that is being written to, or None before the first write."""
        return self._kept[-1] if self._kept else None

    def replace(self, kept: list[Segment]) -> None:
        self._kept = kept

    def kept(self) -> list[Segment]:
        """Return all segments of the log, the oldest first."""
        return list(self._kept)

    def base_at(self, offset: int) -> int:
        """Return the base offset of the segment that contains the offset."""
        found = bisect_right(self._kept, offset, key=_base) - 1
        return self._kept[max(0, found)].base_offset if self._kept else offset

    def holds(self, offset: int) -> bool:
        """True if the offset lies in a segment of the log. Deleted records do until their segment goes."""
        return bool(self._kept) and self._kept[0].base_offset <= offset

    def begins_at(self, offset: int) -> bool:
        """True if the oldest segment begins at this offset."""
        return bool(self._kept) and self._kept[0].base_offset == offset

    def trim(self, start: int) -> None:
        """Drop the segments that end before the log's new start."""
        gone = 0
        while gone + 1 < len(self._kept) and self._kept[gone + 1].base_offset <= start:
            gone += 1
        del self._kept[:gone]

    def truncate(self, end: int, batches: list[Batch]) -> None:
        """Drop the segments from the log's new end on. `batches` are the batches before it."""
        self._kept = [each for each in self._kept if each.base_offset < end]
        if self._kept:
            last = self._kept[-1]
            inside = [batch for batch in batches if batch.base_offset >= last.base_offset]
            last.size = sum(len(batch.data) for batch in inside)
            last.newest_ms = max([last.first_ms, *[batch.max_timestamp for batch in inside]])

    def due_ms(self, retention_ms: int) -> int | None:
        """Return the time at which the oldest segment becomes too old, or None if it never does."""
        return self._kept[0].newest_ms + retention_ms + 1 if self._goes(0) else None

    def _goes(self, place: int) -> bool:
        """True if retention may remove the segment when it is old enough. The active one does not while it is empty
        (UnifiedLog.deletableSegments)."""
        return place < len(self._kept) - 1 or (place < len(self._kept) and self._kept[place].size > 0)

    def expire(self, wall_ms: int, retention_ms: int, end: int) -> int | None:
        """Remove the oldest segments that are too old, and return the new log start offset; `end` is the log's end. Return None if all
        stay."""
        gone = 0
        while self._goes(gone) and wall_ms - self._kept[gone].newest_ms > retention_ms:
            gone += 1
        if not gone:
            return None
        del self._kept[:gone]
        return self._kept[0].base_offset if self._kept else end
