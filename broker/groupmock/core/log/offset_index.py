"""The offset index of a log: where some of its batches lie, an entry for every 4 KiB or so (log.index.interval.bytes).

Nothing is looked up by it here; what it decides is how far a list of aborted transactions reaches. Kafka lists those that begin before the
first entry at or behind the end of what it hands out, before the next segment where there is none, else before the log's end
(OffsetIndex.fetchUpperBoundOffset, UnifiedLog.addAbortedTransactions); its search passes over the first entry of a segment where that lies
exactly at the end (AbstractIndex.binarySearch never looks at the slot that it begins with; seen on 4.3.0). A segment begins with an empty
index; a batch gets an entry when more than the interval was written since the last one (LogSegment.append).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

INTERVAL: Final = 4096


class OffsetIndex:
    """That of one log, all segments together. Places are bytes before a batch since the log began."""

    __slots__ = ("_first", "_firsts", "_offsets", "_places", "_since")

    def __init__(self) -> None:
        self._places: list[int] = []
        self._offsets: list[int] = []
        self._firsts: list[bool] = []  # is it the first of its segment?
        self._first = True  # would the next one be?
        self._since = 0  # bytes

    def wrote(self, place: int, size: int, first: int, last: int, rolled: bool) -> None:
        """A batch was written. `first`, `last`: its offsets; `rolled`: a segment begins with it, which is as good as an entry for who reads
        the one before."""
        if rolled:
            self._add(place, first, False)
            self._first = True
        elif self._since > INTERVAL:
            self._add(place, last, self._first)
            self._first = False
        self._since += size

    def _add(self, place: int, offset: int, is_first: bool) -> None:
        self._places.append(place)
        self._offsets.append(offset)
        self._firsts.append(is_first)
        self._since = 0

    def bound(self, place: int) -> int | None:
        """The offset of the first entry at that place or behind it."""
        found = bisect_left(self._places, place)
        if found < len(self._places) and self._firsts[found] and self._places[found] == place:
            found += 1
        return self._offsets[found] if found < len(self._places) else None

    def trim(self, place: int) -> None:
        """Nobody reads anything before that place any more."""
        gone = bisect_left(self._places, place)
        del self._places[:gone], self._offsets[:gone], self._firsts[:gone]
