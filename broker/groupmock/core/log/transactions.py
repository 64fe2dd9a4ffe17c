"""The open and aborted transactions of a log decide how far consumers with read_committed may read (KIP-98).

A transaction is open in a log from its first batch there to its marker, a control batch that says commit or abort. Records from the first
batch of the oldest open transaction on are not stable: until the marker comes, a read_committed reader gets none of them, not even plain
records or those of ended transactions (`last stable offset`). Aborted records stay in the log and are returned. The answer lists the
aborted transactions, with producer and first offset, in the order of their markers, so that the reader can drop their batches itself. In
Kafka: ProducerStateManager.firstUnstableOffset, TransactionIndex.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from operator import attrgetter
from typing import NamedTuple

_marker = attrgetter("marker_offset")


class Marker(NamedTuple):
    """A transaction marker, which ends a producer's transaction. `coordinator_epoch` is the leader epoch of the coordinator that
    decided, which an older one may not contradict."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int = 0


class Aborted(NamedTuple):
    """An aborted transaction in one log, with the offsets of its first batch and of its marker. `stable_offset` is the last stable one
    just after that; no transaction that began before it was aborted later."""

    producer_id: int
    first_offset: int
    marker_offset: int
    stable_offset: int


class LogTransactions:
    __slots__ = ("_aborted", "_aborted_by", "_open")

    def __init__(self) -> None:
        self._open: dict[int, int] = {}  # Maps the producer id to the first offset of its open transaction, the oldest first.
        self._aborted: list[Aborted] = []  # `_aborted` has the aborted transactions in the order of their markers.
        # `_aborted_by` has the aborted transactions by producer id, to look up many batches quickly.
        self._aborted_by: dict[int, list[Aborted]] = {}

    def began(self, producer_id: int, offset: int) -> None:
        """Record a batch of a transaction; the first batch opens the transaction."""
        self._open.setdefault(producer_id, offset)

    def ended(self, marker: Marker, offset: int) -> None:
        """Record the marker of a transaction, which ends the transaction in this log. A transaction that wrote nothing here leaves
        nothing."""
        first = self._open.pop(marker.producer_id, None)
        if first is not None and not marker.committed:
            oldest = self.first_open()
            aborted = Aborted(marker.producer_id, first, offset, offset + 1 if oldest is None else oldest)
            self._aborted.append(aborted)
            self._aborted_by.setdefault(marker.producer_id, []).append(aborted)

    def open_from(self, producer_id: int) -> int | None:
        """Return the first offset of the producer's open transaction, or None if there is none."""
        return self._open.get(producer_id)

    def first_open(self) -> int | None:
        """Return the first offset of the oldest open transaction, or None if there is none."""
        return next(iter(self._open.values()), None)

    @property
    def any_aborted(self) -> bool:
        """True if the log knows an aborted transaction."""
        return bool(self._aborted)

    def aborted(self, offset: int, upper: int) -> list[Aborted]:
        """Return the aborted transactions that a reader of the offsets from `offset` to `upper` has to skip
        (TransactionIndex.collectAbortedTxns)."""
        found = []
        for place in range(bisect_left(self._aborted, offset, key=_marker), len(self._aborted)):
            each = self._aborted[place]
            if each.first_offset < upper:
                found.append(each)
            if each.stable_offset >= upper:
                break
        return found

    def trim(self, start: int) -> None:
        """Forget the aborted transactions whose markers are before the log's new start, because no reader meets them any more."""
        gone = self._aborted[: bisect_left(self._aborted, start, key=_marker)]
        del self._aborted[: len(gone)]
        for producer_id, count in Counter(each.producer_id for each in gone).items():
            mine = self._aborted_by[producer_id]
            del mine[:count]
            if not mine:
                del self._aborted_by[producer_id]

    def aborted_batch(self, producer_id: int, offset: int) -> bool:
        """True if the producer's batch at this offset belongs to an aborted transaction."""
        mine = self._aborted_by.get(producer_id, ())
        place = bisect_left(mine, offset, key=_marker)
        return place < len(mine) and mine[place].first_offset <= offset
