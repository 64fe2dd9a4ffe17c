"""Find out why a reader does not get records although no error is returned: auto.offset.reset skips them, a transaction is open, or the
log has diverged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from ..journal.rows import ReplyRow
from ..journal.whose import field
from ..rounds import Partition
from .exchanged import ASKED, TopicNames, items, number, said
from .folding import PARTITIONS, Line
from .words import count, listed, partitions_text, text

READ_COMMITTED: Final = 1
REMEMBERED: Final = 100_000
"""At most this many positions and lookups are kept."""
Reader = tuple[str | None, Partition]
"""A client id and a partition."""


class Skipped(Line):
    """Records that a reader skipped before its first position, because it had no committed offset and auto.offset.reset is latest."""

    def __init__(self, at: int, name: str, partition: Partition, records: int | None, who: Iterable[str]) -> None:
        super().__init__(at, "", who, ("skipped", name))
        self._name = name
        self._records: dict[Partition, int | None] = {partition: records}

    def add(self, other: Line) -> None:
        super().add(other)
        if isinstance(other, Skipped) and len(self._records) < PARTITIONS:
            self._records |= other._records

    def told(self) -> str:
        known = [each for each in self._records.values() if each is not None]
        # The text says "up to", because transaction markers have offsets too, and compaction leaves holes.
        many = f"up to {count(sum(known), 'record')}" if len(known) == len(self._records) else "an unknown number of records"
        return f"{self._name} skips {many} of {partitions_text(self._records)} (nothing committed, auto.offset.reset latest)"


class Answered(NamedTuple):
    """The numbers of one partition in an answer to Fetch. A missing number is -1."""

    partition: Partition
    start: int
    stable: int
    end: int
    diverging: tuple[int, int] | None

    @classmethod
    def of(cls, row: ReplyRow, names: TopicNames) -> Iterator[Answered]:
        """Read the partitions of a Fetch answer that have no error."""
        for topic in items(row.message, "responses"):
            name = names.of(topic, "topic")
            for each in items(topic, "partitions") if name is not None else ():
                if not field(each, "error_code"):
                    start, stable, end = (
                        number(each, "log_start_offset"),
                        number(each, "last_stable_offset"),
                        number(each, "high_watermark"),
                    )
                    partition = str(name), number(each, "partition_index")
                    yield cls(partition, start, stable, end, _diverging(field(each, "diverging_epoch")))


class Skip(NamedTuple):
    """Records of one partition that auto.offset.reset skipped; `records` is None if their number is unknown."""

    at: int
    who: str
    partition: Partition
    records: int | None


class Waiting(NamedTuple):
    """A reader that gets no records because a transaction is open, since `since` (ns). `of` has the transactions as far as the rows name
    them, and `told` describes it in a line."""

    since: int
    who: str
    partition: Partition
    position: int
    of: str
    told: str


class Reading:
    """Follows what the readers of one group fetch. `open_on` returns descriptions of the transactions that are open in a partition.
    `skipped` has the records that auto.offset.reset skipped."""

    def __init__(self, names: TopicNames, open_on: Callable[[Partition], list[str]]) -> None:
        self._names, self.open_on = names, open_on
        self._uncommitted: set[Reader] = set()
        self._latest: dict[Reader, int] = {}
        self._positions: dict[Reader, int] = {}
        self._held_up: dict[Reader, Waiting] = {}
        self.skipped: list[Skip] = []

    @property
    def waiting(self) -> list[Waiting]:
        """The readers that wait behind open transactions, as of the last row."""
        return list(self._held_up.values())

    @property
    def held_up(self) -> list[str]:
        """Descriptions of the readers that wait behind open transactions, as of the last row."""
        return [each.told for each in self._held_up.values()]

    def found_committed(self, client_id: str | None, found: Iterable[Partition], nothing: Iterable[Partition]) -> None:
        """Note which partitions have a committed offset and which have none, according to an answer to OffsetFetch."""
        self._uncommitted.difference_update((client_id, each) for each in found)
        if len(self._uncommitted) < REMEMBERED:
            self._uncommitted.update((client_id, each) for each in nothing)

    def looked_up_end(self, client_id: str | None, offsets: dict[Partition, int]) -> None:
        """Note the ends of logs from an answer to ListOffsets."""
        if len(self._latest) < REMEMBERED:
            self._latest |= {(client_id, each): offset for each, offset in offsets.items()}

    def fetched(self, row: ReplyRow, asked: Any, client_id: str | None, who: str, ids: tuple[str, ...]) -> Iterator[Line]:
        """Note the positions in an answer to Fetch, and yield lines about what keeps the reader from records. `asked` is the request's
        message, which within a session names only changed partitions (KIP-227)."""
        wanted = {(client_id, each.partition): each.value for each in said(asked, ASKED["Fetch"], self._names)}
        before = {reader: self._positions.get(reader, 0) for reader in wanted}
        if len(self._positions) < REMEMBERED:
            self._positions |= wanted
        for each in Answered.of(row, self._names):
            reader = client_id, each.partition
            position = self._positions.get(reader)
            if position is None:
                continue
            yield from self._skips(row.t, reader, position, before.get(reader, position), each, who, ids)
            yield from self._diverges(row.t, position, each, who, ids)
            if field(asked, "isolation_level") == READ_COMMITTED:
                yield from self._waits(row.t, reader, position, each, who, ids)

    def _skips(self, t: int, reader: Reader, position: int, before: int, each: Answered, who: str, ids: tuple[str, ...]) -> Iterator[Line]:
        """Yield a line if the reader skipped records at its first position. `before` is a position that the same client reached earlier."""
        if reader not in self._uncommitted:
            return
        # Only the first position was chosen by auto.offset.reset. Later positions equal the end because everything was read.
        self._uncommitted.discard(reader)
        begins = max(each.start, before)
        if self._latest.pop(reader, None) == position and (each.start < 0 or position > begins):
            records = position - begins if each.start >= 0 else None
            if len(self.skipped) < REMEMBERED:
                self.skipped.append(Skip(t, who, each.partition, records))
            yield Skipped(t, who, each.partition, records, ids)

    def _diverges(self, t: int, position: int, each: Answered, who: str, ids: tuple[str, ...]) -> Iterator[Line]:
        if each.diverging is not None:
            epoch, end = each.diverging
            place = f"{who}'s fetch of {partitions_text([each.partition])} from {position}"
            told = f"{place}: the log DIVERGES: leader epoch {epoch} ended at {end}, what follows are other records (diverging_epoch)"
            yield Line(t, told, ids, ("diverges", place, each.diverging))

    def _waits(self, t: int, reader: Reader, position: int, each: Answered, who: str, ids: tuple[str, ...]) -> Iterator[Line]:
        before = self._held_up.pop(reader, None)
        if not 0 <= each.stable < each.end or position < each.stable:
            return
        named = listed(self.open_on(each.partition))
        of = named or "which these rows do not name"
        place = f"{who} waits at {partitions_text([each.partition])} = {position} (read_committed)"
        told = f"{place}: the log goes on to {each.end} behind an open transaction, {text(of, 400)}"
        since = before.since if before is not None and before.position == position else t
        self._held_up[reader] = Waiting(since, who, each.partition, position, named, told)
        yield Line(t, told, ids, ("waits", place))


def _diverging(found: Any) -> tuple[int, int] | None:
    """Return the diverging epoch of a partition in a Fetch answer and its end offset, or None. Both are -1 in a field that was not sent."""
    epoch, end = number(found, "epoch"), number(found, "end_offset")
    return (epoch, end) if epoch >= 0 or end >= 0 else None
