"""Routes that read and write records. A read is bounded, and a write is all or nothing. Between slices of the work the loop serves Kafka's
clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from ..core.steering import NotNow
from ..core.steering.find import topic_of
from ..data.lines import Form, ShownRecord, shown
from ..data.log_record import Isolation
from ..data.reading import Reading, Unread, starts
from ..data.seed import SeedData, Seeded
from ..data.writing import Reader, Writing, Written
from .context import ControlContext
from .route import ControlCall

if TYPE_CHECKING:
    from ..server.running import Running

MOST_BYTES: Final = 4 * 1024 * 1024
MOST_RECORDS: Final = 10_000
Count = Annotated[int, Meta(ge=0)]
AS: Final = "text, json or base64"


class ReadRecords(msgspec.Struct, forbid_unknown_fields=True):
    """The records to read, their number and their form."""

    partition: Annotated[Count | None, Meta(description="of this partition; null: of all")] = None
    offset: Annotated[Count | None, Meta(description="from this offset on; null: from the start")] = None
    timestamp: Annotated[Count | None, Meta(description="from the first record on that is not older, ms since 1970")] = None
    next: Annotated[str | None, Meta(description="from where an earlier answer ended: its `next`")] = None
    limit: Annotated[int, Meta(description="at most so many", ge=1, le=MOST_RECORDS)] = 100
    bytes: Annotated[int, Meta(description="at most so many bytes of keys, values, headers, but one record", ge=1, le=MOST_BYTES)] = 2**20
    key_as: Annotated[Form | None, Meta(description=f"{AS}, where the bytes can be shown so; null: text, else base64")] = None
    value_as: Annotated[Form | None, Meta(description=f"{AS}, where the bytes can be shown so; null: text, else base64")] = None
    isolation: Annotated[
        Isolation, Meta(description="read_committed: without aborted records, up to where the oldest open transaction begins")
    ] = "read_uncommitted"
    markers: Annotated[bool, Meta(description="also the control records that end transactions")] = False


class RecordsPage(msgspec.Struct):
    """Records by partition and offset. `next` is the position to go on from, now or later; `more` says whether there are records after
    it now; `unread` has the records that cannot be shown, and why."""

    topic: str
    records: list[ShownRecord]
    next: str
    more: bool
    unread: list[Unread]


class WriteRecords(msgspec.Struct, forbid_unknown_fields=True):
    """The defaults for lines that do not name a partition or a form."""

    partition: Annotated[Count | None, Meta(description="where they go; null: by key, as Kafka's producers choose, else in turn")] = None
    key_as: Annotated[Form | None, Meta(description=f"{AS}; null: a string is a text, all else JSON")] = None
    value_as: Annotated[Form | None, Meta(description=f"{AS}; null: a string is a text, all else JSON")] = None
    first_line: Annotated[int, Meta(description="number of the first line, for errors about part of a file", ge=1)] = 1


class RecordsWritten(msgspec.Struct):
    """The number of written records and their offsets by partition."""

    records: int
    partitions: list[Written]


async def read(context: ControlContext, call: ControlCall) -> RecordsPage:
    """Read one page of records. Raises NoSuch, BadArguments."""
    wanted: ReadRecords = call.query
    cluster = context.running.cluster
    topic = topic_of(cluster, call.path.name)
    begin = starts(cluster, topic, wanted.partition, wanted.offset, wanted.timestamp, wanted.next)
    reading = Reading(topic, begin, wanted.limit, wanted.bytes, wanted.isolation, wanted.markers)
    await _sliced(reading.slices())
    records = [
        shown(found.partition, found.record, wanted.key_as, wanted.value_as, found.transaction, found.marker) for found in reading.records
    ]
    return RecordsPage(topic.name, records, reading.place(), reading.more, reading.unread)


async def write(context: ControlContext, call: ControlCall) -> RecordsWritten:
    """Write all records or none. Raises NoSuch, BadLine, CannotSteer."""
    wanted: WriteRecords = call.query
    running = context.running
    topic = topic_of(running.cluster, call.path.name)
    reader = Reader(running, topic.name, len(topic.partitions), wanted.key_as, wanted.value_as)
    await _sliced(reader.read(call.raw, wanted.partition, wanted.first_line))
    writing = Writing(running, topic, reader.lines)
    await _sliced(writing.slices())
    _same(context, running)
    return RecordsWritten(len(reader.lines), writing.submit())


async def seed_data(context: ControlContext, call: ControlCall) -> Seeded:
    """Apply the seed data in the body. Raises BadSeedData, which says what was done before."""
    running = context.running
    data = SeedData("body")
    await _sliced(data.read(call.raw))
    _same(context, running)
    await _sliced(data.slices(running))
    return data.done


async def _sliced(work: Iterator[None]) -> None:
    for _ in work:
        await asyncio.sleep(0)


def _same(context: ControlContext, running: Running) -> None:
    if running.closed or context.running is not running:
        raise NotNow("the cluster was reset meanwhile: nothing was written")
