"""The base of the faults that change records in the answers to Fetch, while the log keeps the records as they were written.

A fault changes whole batches or the records in them. Control batches are left alone, because a changed marker would change the outcome of
a transaction. Also left alone are a batch that a Fetch has cut, the message sets of a Fetch before v4, and a batch whose compression is
neither none nor gzip. Only these two are written here, whatever libraries are installed, because the same rules must give the same bytes
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from groupmock_codec.messages.k01_fetch import FetchResponse, PartitionData
from groupmock_codec.records import CHECKED_FROM, LENGTH_ENDS, Batch, Record, RecordsError, iter_batches, iter_records
from groupmock_codec.room import CONVERTED, Room

from .actions import Answer
from .entities import NOBODY, named
from .kind import Fault, Struck, Target

if TYPE_CHECKING:
    from .entities import Entity
    from .facts import Facts, Lookup
    from .plan import When

FETCH: Final = "Fetch"
MOST_BYTES: Final = 100 * 1024 * 1024
MOST_RECORDS: Final = 100_000
"""The largest number of records of one answer that a fault rewrites, because that takes a few microseconds for each."""
MOST_REASONS: Final = 5
CRC_AT: Final = CHECKED_FROM - 4
INVERTED: Final = 0xFFFFFFFF


class RecordFault(Fault, frozen=True, kw_only=True):
    """The base of fault kinds that change records of the partitions that `when` names, or of all partitions."""

    ALTERS: ClassVar[bool] = True
    DECIDES: ClassVar[bool] = False
    MISSED: ClassVar[str] = "one whose answer has such records"

    offset: Annotated[int | list[int] | None, Meta(description="only the records at this offset, or at these; default: all")] = None

    def cannot(self, stage: str, api: str, version: int, when: When) -> str | None:
        """Refuse APIs whose answers have no records."""
        return None if api == FETCH else f"its answer has no records: say api = '{FETCH}'"

    def struck(self, when: When, facts: Facts) -> Struck:
        """Return the partitions that `when` names and whose answer has such records. A Fetch without them does not count as a call."""
        from .decide import picks

        places = {each.at("partition") for each in facts.entities.all if picks(when, each)}
        assert isinstance(facts.response, FetchResponse)
        found = [
            entity
            for entity, row in _rows(facts.response, facts.lookup)
            if entity.at("partition") in places and any(self._concerns(batch) for batch, _ in _batches(row.records))
        ]
        return Struck("partition", tuple(found))

    def act(self, target: Target) -> Answer:
        """Return the answer with changed records. The row of the fault says how many were changed, and which batches were left alone."""
        struck, response = target.struck, target.response
        assert struck is not None and isinstance(response, FetchResponse)
        places = {each.at("partition") for each in struck.entities}
        room, changed, reasons = Room(MOST_BYTES, MOST_RECORDS * CONVERTED), 0, list[str]()
        rows: dict[int, PartitionData] = {}
        for entity, row in _rows(response, target.lookup):
            if entity.at("partition") not in places:
                continue
            parts = []
            for batch, data in _batches(row.records):
                if batch is not None and self._concerns(batch):
                    try:
                        data, count = self.rewritten(batch, room)
                        changed += count
                    except RecordsError as error:
                        reasons.append(f"{entity.shown('partition')} at {batch.base_offset}: {error.reason}")
                parts.append(data)
            rows[id(row)] = msgspec.structs.replace(row, records=b"".join(parts))
        responses = [
            msgspec.structs.replace(topic, partitions=[rows.get(id(row), row) for row in topic.partitions]) for topic in response.responses
        ]
        left = {"left_alone": _listed(reasons)} if reasons else {}
        return Answer(msgspec.structs.replace(response, responses=responses), said={"changed": changed, **left})

    def rewritten(self, batch: Batch, room: Room) -> tuple[bytes, int]:
        """Return the bytes of the changed batch and the number of changed records. Raises RecordsError if it cannot be
        rewritten."""
        payload = room.unpacked(batch)
        room.take(batch.records_count, CONVERTED)
        records, count = list[Record](), 0
        for record in iter_records(batch, payload):
            changed = self.changed(record) if self._wanted(record.offset) else None
            records += (record,) if changed is None else changed
            count += changed is not None
        if not count:
            return batch.data, 0
        rewritten = batch.compacted(records, batch.delete_horizon_ms)
        # An earlier rule may have made the batch's CRC wrong on purpose, which a correct new CRC would undo.
        return rewritten.data if batch.crc_holds else with_wrong_crc(rewritten), count

    def changed(self, record: Record) -> Sequence[Record] | None:
        """Return the records that take the place of this one, or None to keep it."""
        raise NotImplementedError

    def _concerns(self, batch: Batch | None) -> bool:
        """True if the batch has data that this fault changes."""
        if batch is None or batch.control or not batch.records_count:
            return False
        return self.offset is None or any(batch.base_offset <= each <= batch.last_offset for each in _numbers(self.offset))

    def _wanted(self, offset: int) -> bool:
        return self.offset is None or offset in _numbers(self.offset)


def with_wrong_crc(batch: Batch) -> bytes:
    """Return the bytes of the batch with a CRC in which every bit is wrong."""
    return b"".join((batch.data[:CRC_AT], (batch.crc ^ INVERTED).to_bytes(4), batch.data[CHECKED_FROM:]))


def _numbers(offset: int | list[int]) -> list[int]:
    return offset if isinstance(offset, list) else [offset]


def _rows(response: FetchResponse, lookup: Lookup) -> Iterator[tuple[Entity, PartitionData]]:
    """Yield each partition of the answer to a Fetch."""
    for topic in response.responses:
        above = named(NOBODY, "topic", topic, lookup)
        for row in topic.partitions:
            yield named(above, "partition", row, lookup), row


def _batches(records: bytes | None) -> Iterator[tuple[Batch | None, bytes]]:
    """Yield each whole batch with its bytes, and then None with the remaining bytes: a batch that was cut, or data of an older format."""
    data, at = records or b"", 0
    try:
        for batch in iter_batches(data, cut=True):
            yield batch, batch.data
            at += LENGTH_ENDS + batch.batch_length
    except RecordsError:
        pass  # A Fetch before v4 is answered with message sets, and an old log of a real cluster may have them in any version.
    if at < len(data):
        yield None, data[at:]


def _listed(reasons: Iterable[str]) -> list[str]:
    listed = list(reasons)
    more = len(listed) - MOST_REASONS
    return listed if more <= 0 else [*listed[:MOST_REASONS], f"{more} more"]
