"""Write records from lines: all batches are prepared first and then written by one command, or nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from groupmock_codec.records import HEADER_BYTES, NewRecord, encode_batch

from ..core.events import Command
from ..core.steering.records import RecordRefused
from .lines import BadLine, Form, Numbered, RecordLine, new_record, numbered, read_line
from .placing import Placing

if TYPE_CHECKING:
    from ..core.log.topics import Topic
    from .target import Target

LOOKED_AT_ONCE: Final = 10_000
LARGEST_BATCH: Final = 512 * 1024
MOST_IN_A_BATCH: Final = 500
AROUND: Final = 40
"""The most bytes that a record or header takes besides key, value and headers: lengths, times and offsets."""
SLICE: Final = 200
MOST_RECORDS: Final = 50_000
"""One HTTP request has at most this many records, because they are checked and written in one turn of the loop, at a microsecond each."""


class Written(msgspec.Struct):
    """The records written to one partition, as the offset of the first and their number."""

    partition: int
    first_offset: int
    records: int


class Line(NamedTuple):
    """A record with its partition and the number of its line."""

    number: int
    record: NewRecord
    partition: int


class Reader:
    """Reads lines with records for one topic; `lines` has the lines read so far. BadLine is raised for the first line that is wrong or
    has no partition."""

    def __init__(self, target: Target, topic: str, partitions: int, key_as: Form | None = None, value_as: Form | None = None) -> None:
        self.topic = topic
        self.lines: list[Line] = []
        self._partitions = partitions
        self._forms = key_as, value_as
        self._placing = Placing(partitions)
        self._now_ms = target.cluster.environment.wall_ms(target.clock.now())

    def read(self, data: bytes, partition: int | None = None, first_line: int = 1) -> Iterator[None]:
        """Read the lines, with a yield after each SLICE lines. `partition` is used for lines that name none."""
        for count, line in enumerate(numbered(data, first_line)):
            if count == MOST_RECORDS:
                raise BadLine(line.number, f"more than {MOST_RECORDS} records: write those from this line on in another request")
            self.add(line, read_line(line, RecordLine), partition)
            if not count % SLICE:
                yield

    def add(self, line: Numbered, given: RecordLine, partition: int | None = None) -> None:
        """Add the record that a line describes. Raises BadLine."""
        if given.topic not in (None, self.topic):
            raise BadLine(line.number, f"topic: {given.topic!r} is not {self.topic!r}, to which these records are written")
        record = new_record(line.number, given, *self._forms, self._now_ms)
        at = partition if given.partition is None else given.partition
        if at is None:
            at = self._placing.choose(record.key)
        if at >= self._partitions:
            raise BadLine(line.number, f"partition: {at}: topic {self.topic!r} has 0 to {self._partitions - 1}: grow it first")
        self.lines.append(Line(line.number, record, at))


class Writing:
    """Writes lines into a log: all batches are made first, and then they are written at once."""

    def __init__(self, target: Target, topic: Topic, lines: Sequence[Line]) -> None:
        self._target, self._topic = target, topic
        self._lines = lines
        self._batches: list[list[Line]] = []
        self._data: list[bytes] = []

    def slices(self) -> Iterator[None]:
        """Make the batches, with a yield after each, and also after some lines that fill no batch."""
        for batch in _batches(self._topic, self._target, self._lines):
            if batch:
                self._batches.append(batch)
                self._data.append(encode_batch([line.record for line in batch]))
            yield

    def submit(self) -> list[Written]:
        """Write the batches and return their offsets by partition. If a log refuses a record, BadLine or CannotSteer is raised and no
        record is written."""
        if not self._batches:
            return []
        logs, places = self._topic.partitions, [batch[0].partition for batch in self._batches]
        before = {partition: logs[partition].end for partition in sorted(set(places))}
        arguments = {"topic": self._topic.name, "partitions": places, "batches": b"".join(self._data)}
        try:
            self._target.submit(Command("produce", arguments))
        except RecordRefused as refused:
            raise BadLine(self._batches[refused.batch][refused.place].number, f"{refused}: nothing was written") from None
        return [Written(partition, first, logs[partition].end - first) for partition, first in before.items()]


def write(target: Target, topic: Topic, lines: Sequence[Line]) -> list[Written]:
    """Write the records of lines without a pause. Raises the errors of `Writing.submit`."""
    writing = Writing(target, topic, lines)
    for _ in writing.slices():
        pass
    return writing.submit()


def _batches(topic: Topic, target: Target, lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield batches of records for each partition in the order of the lines, each small enough for the topic. An empty batch is yielded
    now and then, to let other work run."""
    by_partition: dict[int, list[Line]] = {}
    for count, line in enumerate(lines):
        by_partition.setdefault(line.partition, []).append(line)
        if count % LOOKED_AT_ONCE == LOOKED_AT_ONCE - 1:
            yield []
    for partition, records in by_partition.items():
        most = min(LARGEST_BATCH, target.cluster.topics.limits(topic, topic.partitions[partition].leader).max_message_bytes)
        batch: list[Line] = []
        size = HEADER_BYTES
        for line in records:
            more = _size(line.record)
            if batch and (size + more > most or len(batch) == MOST_IN_A_BATCH):
                yield batch
                batch, size = [], HEADER_BYTES
            batch.append(line)
            size += more
        yield batch


def _size(record: NewRecord) -> int:
    headers = sum(AROUND + len(name.encode()) + len(value or b"") for name, value in record.headers)
    return AROUND + len(record.key or b"") + len(record.value or b"") + headers
