"""Read the newest records of a real cluster's partitions as lines of seed data, with a limit for each partition and for all together.

Offsets stay: a hole (compacted records, a transaction's marker, unreadable records) becomes a line with the next offset of the log. Only
committed transactions are copied (isolation level read_committed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from groupmock_codec.api_keys import FETCH
from groupmock_codec.error_codes import error_name
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.opening import opened
from groupmock_codec.records import Batch, Record, RecordsError, iter_batches, iter_records

from ..config.resolve import MAX_COPIED
from ..data.lines import shown
from .copied import CONSUMER, Bounds, Copy, Line, Place

if TYPE_CHECKING:
    from .source import Source

READ_COMMITTED: Final = 1
FETCH_BYTES: Final = 1024 * 1024
MOST_OPENED: Final = 64 * 1024 * 1024
"""A batch may be decompressed to at most this many bytes."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""The most bytes that the keys and values of all copied records may have together."""


class Records:
    """Reads records until its limits are used up."""

    def __init__(self, source: Source, copy: Copy, most_each: int) -> None:
        self._source, self._copy, self._most_each = source, copy, most_each
        self._records, self._bytes = MAX_COPIED, MOST_BYTES

    async def lines(self) -> list[Line]:
        """Return the lines of every partition: its start, its newest records, and its end."""
        found: list[Line] = []
        for place in self._copy.places():
            bounds = self._copy.bounds.get(place)
            if bounds is not None and bounds.end:
                found += await self._of(place, bounds)
        return found

    async def _of(self, place: Place, bounds: Bounds) -> list[Line]:
        first = max(bounds.start, bounds.end - self._most_each)
        records = await self._read(place, bounds, first) if first < bounds.end else []
        if records and first > bounds.start:
            self._copy.leave(f"records left out, older than the newest {self._most_each} of their partition", _named(place))
        at = records[0].offset if records else bounds.end
        lines: list[Line] = [{**_where(place), "start_offset": bounds.start, "next_offset": at}] if at else []
        for record in records:
            if record.offset > at:
                lines.append({**_where(place), "next_offset": record.offset})
            lines.append({"topic": place[0], **msgspec.to_builtins(shown(place[1], record, None, None))})
            at = record.offset + 1
        if records and at < bounds.end:
            lines.append({**_where(place), "next_offset": bounds.end})
        return lines

    async def _read(self, place: Place, bounds: Bounds, offset: int) -> list[Record]:
        found: list[Record] = []
        open_aborts = _Aborted()
        while offset < bounds.end:
            row = await self._fetch(place, bounds, offset)
            if row.error_code:
                self._copy.leave(f"records left out, {error_name(row.error_code)}", _named(place))
                break
            after = offset
            open_aborts.note(row.aborted_transactions or [])
            for batch in iter_batches(row.records or b"", cut=True):
                after = batch.next_offset
                if not open_aborts.drops(batch) and not self._take(place, batch, offset, bounds, found):
                    return found
            if after == offset:  # The log ends with an unfinished transaction.
                break
            offset = after
        return found

    def _take(self, place: Place, batch: Batch, offset: int, bounds: Bounds, found: list[Record]) -> bool:
        """Add the records of a batch to those found. Returns False once the limit is reached."""
        try:
            records = list(iter_records(batch, opened(batch, MOST_OPENED)))
        except RecordsError as error:
            self._copy.leave(f"records left out, {error.reason}", _named(place))
            return True
        for record in _within(records, offset, bounds.end):
            self._records -= 1
            self._bytes -= len(record.key or b"") + len(record.value or b"")
            if self._records < 0 or self._bytes < 0:
                self._copy.leave(f"records left out, more than {MAX_COPIED} or {MOST_BYTES} bytes in total", _named(place))
                return False
            found.append(record)
        return True

    async def _fetch(self, place: Place, bounds: Bounds, offset: int) -> Any:
        name, index = place
        partition = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        topics = [FetchTopic(topic=name, partitions=[partition])]
        asked = FetchRequest(
            replica_id=CONSUMER, max_wait_ms=0, max_bytes=FETCH_BYTES, isolation_level=READ_COMMITTED, session_epoch=-1, topics=topics
        )
        answer = await self._source.ask(FETCH, asked, 11, bounds.leader)
        return answer.responses[0].partitions[0]


class _Aborted:
    """The aborted transactions of a partition (KIP-98), each of which lasts from the first offset that a Fetch response names to the
    producer's marker."""

    def __init__(self) -> None:
        self._open: set[tuple[int, int]] = set()

    def note(self, transactions: Iterable[Any]) -> None:
        """Note the aborted transactions in a Fetch response. A later response may name some of them again."""
        self._open |= {(each.producer_id, each.first_offset) for each in transactions}

    def drops(self, batch: Batch) -> bool:
        """True for a marker and for an aborted batch. Batches have to be passed in order."""
        mine = {each for each in self._open if each[0] == batch.producer_id and each[1] <= batch.last_offset}
        if batch.control:  # The marker ends the producer's transaction.
            self._open -= mine
        return batch.control or (batch.transactional and bool(mine))


def _within(records: Iterable[Record], first: int, end: int) -> Iterator[Record]:
    return (record for record in records if first <= record.offset < end)


def _where(place: Place) -> Line:
    return {"topic": place[0], "partition": place[1]}


def _named(place: Place) -> str:
    return f"{place[0]}/{place[1]}"
