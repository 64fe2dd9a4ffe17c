"""The offset index of a log maps positions to offsets, with an entry about every 4096 bytes, as in Kafka. It has one visible effect: a
read_committed Fetch lists the aborted transactions that begin before the first index entry after the returned records (TX-86).

Each segment has its own index. A batch gets an entry, its last offset and its position, when more than index.interval.bytes were written
since the last entry; here that is always 4096, the default. In Kafka: LogSegment.append, LogSegment.fetchUpperBoundOffset.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import Final

import msgspec

INTERVAL: Final = 4096
_place = attrgetter("place")


class Indexed(msgspec.Struct):
    """The offset index of one segment. `place` is the position where the segment begins, `places` and `offsets` are its entries. `first`
    is the position of the first entry ever, -1 before there is one, and `since` counts the bytes since the last one."""

    base_offset: int
    place: int
    places: list[int]
    offsets: list[int]
    first: int = -1
    since: int = 0


class OffsetIndex:
    __slots__ = ("_segments",)

    def __init__(self) -> None:
        self._segments: list[Indexed] = []

    def wrote(self, segment: int, last_offset: int, place: int, size: int) -> None:
        """Record that a batch was written at position `place` to the segment with the base offset `segment`."""
        if not self._segments or self._segments[-1].base_offset != segment:
            self._segments.append(Indexed(segment, place, [], []))
        last = self._segments[-1]
        if last.since > INTERVAL:
            last.places.append(place)
            last.offsets.append(last_offset)
            if last.first < 0:
                last.first = place
            last.since = 0
        last.since += size

    def behind(self, place: int) -> int | None:
        """Return the offset of the first index entry at or after the position in the segment where the read ends, or else the next
        segment's base offset. Return None if there is neither. (The very first entry is not found by its own position:
        AbstractIndex.indexSlotRangeFor.)"""
        at = bisect_left(self._segments, place, key=_place) - 1
        if at < 0:
            return None
        inside = self._segments[at]
        entry = bisect_left(inside.places, place)
        if entry < len(inside.places) and inside.places[entry] == place == inside.first:
            entry += 1
        if entry < len(inside.offsets):
            return inside.offsets[entry]
        return self._segments[at + 1].base_offset if at + 1 < len(self._segments) else None

    def trim(self, place: int) -> None:
        """Forget the index entries before the position."""
        gone = max(0, bisect_left(self._segments, place + 1, key=_place) - 1)
        del self._segments[:gone]
        if self._segments:
            oldest = self._segments[0]
            count = bisect_left(oldest.places, place)
            del oldest.places[:count], oldest.offsets[:count]
