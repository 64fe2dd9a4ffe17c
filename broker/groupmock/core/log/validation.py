"""Checks produced records before they are appended, with the errors seen on Kafka 4.3.0, 3.9.1 and 2.8.2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from groupmock_codec import error_codes
from groupmock_codec.compression import OverLimit
from groupmock_codec.message_sets import up_convert
from groupmock_codec.records import (
    CHECKED_FROM,
    COMPRESSION_MASK,
    HEADER_BYTES,
    LENGTH_ENDS,
    MAGIC_AT,
    Batch,
    Head,
    RecordsError,
    check_header,
    iter_batches,
    iter_heads,
    read_batches,
)
from groupmock_codec.room import OPENED, Room
from groupmock_codec.varints import read_zigzag

from .limits import LogLimits

ZSTD: Final = 4
LAST_CODEC: Final = 4
ONE_BATCH_SINCE: Final = 3  # Produce versions below this one may contain message sets and several batches.
ZSTD_SINCE: Final = 7
SHOWN_ERRORS: Final = 3
MOST_FAULTS: Final = 1000
"""The largest number of record errors in the answer. Kafka 4.3.0 lists every error, each with a hundred bytes of text (5,000 seen)."""
OLD_BATCH: Final = 50
"""The cost of a batch in a Produce before v3, besides its records: a partition may have many batches, and each takes 5 us."""
VARINT_MORE: Final = 0x80
# Each of the six parts of the smallest record takes one byte: attributes, two deltas, two lengths, and a count of headers.
SMALLEST_RECORD: Final = 6
SMALLEST_BATCH: Final = 14  # A batch of the oldest format has at least this many bytes after its length field.
LARGEST_BATCH: Final = 2**31 - 1 - LENGTH_ENDS
NEWEST_MAGIC: Final = 2
PRODUCER_ID_ENDS: Final = 51
ATTRIBUTES_AT: Final = 22  # The low byte of a batch's attributes is at this position.
TRANSACTIONAL: Final = 0x10
LONG_MAX: Final = 2**63 - 1
KEYLESS: Final = "Compacted topic cannot accept message without key in topic partition"
BAD_STAMPS: Final = "One or more records have been rejected due to invalid timestamp"


class RecordFault(NamedTuple):
    """An error in one record of a refused batch. `place` is its index."""

    place: int
    message: str


class Refused(RecordsError):
    """Records are refused with an error code and details for the answer. `logged`: the log itself refused, so Kafka's answer has its
    start offset."""

    def __init__(
        self, code: int, reason: str, message: str | None = None, faults: tuple[RecordFault, ...] = (), logged: bool = True
    ) -> None:
        super().__init__(code, reason)
        self.message, self.faults, self.logged = message, faults, logged


class HandlerFails(Refused):
    """Kafka's handler meets an unexpected exception, such as an overflow of a length or an unknown compression. The whole request is
    refused then, before anything was written."""


class TooShort(Refused):
    """A batch in a Produce request is shorter than the header of a batch. Only the log refuses it, because earlier checks look at less."""


def is_transactional(data: bytes) -> bool:
    """True if the first batch of a partition is transactional, which Kafka checks before anything else
    (RequestUtils.hasTransactionalRecords).

    A batch that cannot be one raises Refused: the whole request is refused then.
    """
    size = _whole_batch(data, 0)
    return size is not None and data[MAGIC_AT] == NEWEST_MAGIC and bool(data[ATTRIBUTES_AT] & TRANSACTIONAL)


def read_produced(data: bytes, version: int, room: Room) -> list[Batch]:
    """Return the batches in a partition's `records` field, with old formats converted. Raises Refused(logged=False) for what no log needs
    to see, and for what there is no `room` for.

    From Produce v3 on there must be exactly one batch of magic 2; bytes after it that are no whole batch are ignored, as Kafka does.
    """
    if version < ONE_BATCH_SINCE:
        return _read_old(bytes(data), room)
    first = _first_batch(data)
    codec = first.attributes & COMPRESSION_MASK
    # Since Produce v7 the log checks the compression, and refuses only that partition (docs/kafka/differences.md).
    if codec > LAST_CODEC and version < ZSTD_SINCE:
        raise HandlerFails(error_codes.UNKNOWN_SERVER_ERROR, f"compression {codec}", logged=False)
    if codec == ZSTD and version < ZSTD_SINCE:
        raise Refused(error_codes.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce v{ZSTD_SINCE}", logged=False)
    return [first]


def _read_old(data: bytes, room: Room) -> list[Batch]:
    """Read the records of Produce v0 to v2, which are a message set or batches."""
    try:
        if len(data) > MAGIC_AT and data[MAGIC_AT] == 2:
            batches = []
            for batch in iter_batches(data):
                room.take(1, OLD_BATCH)
                batches.append(batch)
            return batches
        return read_batches(up_convert(data, room=room))
    except OverLimit as error:
        raise _over(error) from None


def _over(error: OverLimit) -> Refused:
    return Refused(error_codes.MESSAGE_TOO_LARGE, error.reason, f"More records than one request may bring: {error.reason}.")


def _first_batch(data: bytes) -> Batch:
    size = _whole_batch(data, 0)
    if size is None:
        raise Refused(error_codes.INVALID_RECORD, "no record batch", logged=False)
    magic = data[MAGIC_AT]
    if magic != NEWEST_MAGIC:
        raise Refused(error_codes.INVALID_RECORD, f"magic {magic}", logged=False)
    if _whole_batch(data, size) is not None:
        raise Refused(error_codes.INVALID_RECORD, "more than one batch", logged=False)
    # Kafka reads the producer id before the log sees the batch, so a batch without room for the id makes the whole request fail.
    if size < PRODUCER_ID_ENDS:
        raise HandlerFails(error_codes.UNKNOWN_SERVER_ERROR, f"a batch of {size} bytes", logged=False)
    if size < HEADER_BYTES:
        raise TooShort(error_codes.CORRUPT_MESSAGE, f"a batch of {size} bytes", logged=False)
    return read_batches(data[:size])[0]


def _whole_batch(data: bytes, at: int) -> int | None:
    """Return the size of the batch at position `at`, or None if the batch is missing or incomplete. Raises Refused if no batch can begin
    so."""
    left = len(data) - at
    if left < LENGTH_ENDS:
        return None
    size = int.from_bytes(data[at + 8 : at + LENGTH_ENDS], signed=True)
    if size < SMALLEST_BATCH:
        message = f"Record size {size} is less than the minimum record overhead ({SMALLEST_BATCH})"
        raise Refused(error_codes.CORRUPT_MESSAGE, message, message, logged=False)
    if size > LARGEST_BATCH:
        raise HandlerFails(error_codes.UNKNOWN_SERVER_ERROR, f"a batch of {size} bytes", logged=False)
    if left <= MAGIC_AT:
        return None
    magic = int.from_bytes(data[at + MAGIC_AT : at + MAGIC_AT + 1], signed=True)
    if not 0 <= magic <= NEWEST_MAGIC:
        message = f"Invalid magic found in record: {magic}"
        raise Refused(error_codes.CORRUPT_MESSAGE, message, message, logged=False)
    return size + LENGTH_ENDS if left >= size + LENGTH_ENDS else None


def check(batch: Batch, limits: LogLimits, wall_ms: int, where: str, room: Room) -> None:
    """Check a client's batch as a leader does, except for sequence numbers. `where` is "topic-partition". Raises RecordsError.

    `room`: what may be unpacked for the whole request, else MESSAGE_TOO_LARGE.
    """
    # The checks have the order of UnifiedLog.analyzeAndValidateRecords (base offset, size, CRC), because only the first error is answered.
    if batch.base_offset != 0:
        raise Refused(error_codes.INVALID_RECORD, f"base offset {batch.base_offset}")
    if len(batch.data) > limits.max_message_bytes:
        raise Refused(error_codes.MESSAGE_TOO_LARGE, f"{len(batch.data)} bytes, {limits.max_message_bytes} are allowed", logged=False)
    if not batch.crc_holds:
        raise Refused(error_codes.CORRUPT_MESSAGE, f"the CRC over the bytes from {CHECKED_FROM} on does not fit", logged=False)
    check_header(batch)
    try:
        _check_records(batch, limits, wall_ms, where, room)
    except OverLimit as error:
        raise _over(error) from None


def _check_records(batch: Batch, limits: LogLimits, wall_ms: int, where: str, room: Room) -> None:
    if batch.records_count < 1:
        raise Refused(error_codes.INVALID_RECORD, f"{batch.records_count} records")
    payload = _payload(batch, room)
    if payload is None:
        return
    room.take(batch.records_count)
    _framed(payload, batch.records_count)
    highest = wall_ms + limits.after_max_ms
    # Without a lower bound, which is Kafka's default, the header's timestamps show whether a record can be wrong, so that records are
    # seldom read.
    stamps_suspect = limits.before_max_ms < LONG_MAX or max(batch.base_timestamp, batch.max_timestamp) > highest
    stamps = stamps_suspect and not limits.log_append_time
    for wanted, look in (limits.compact, _keys), (stamps, _timestamps):
        if wanted:
            room.take(batch.records_count, OPENED)
            look(iter_heads(batch, payload), limits, wall_ms, where)


def _payload(batch: Batch, room: Room) -> bytes | None:
    """Return the decompressed records of a batch, or None if the compression is not supported here. Bytes that do not open are
    UNKNOWN_SERVER_ERROR in all three releases."""
    code = batch.attributes & COMPRESSION_MASK
    if code > LAST_CODEC:
        raise Refused(error_codes.UNKNOWN_SERVER_ERROR, f"compression {code}")
    try:
        return room.unpacked(batch)
    except RecordsError as error:
        if error.error_code == error_codes.UNSUPPORTED_COMPRESSION_TYPE:
            return None
        if error.error_code == error_codes.CORRUPT_MESSAGE:
            raise Refused(error_codes.UNKNOWN_SERVER_ERROR, error.reason) from None
        raise


def _framed(payload: bytes, count: int) -> None:
    """Check that the bytes consist of exactly `count` records. Reading each one whole would cost thirty times as much."""
    at, end = 0, len(payload)
    try:
        for _ in range(count):
            first = payload[at]
            # This shortcut is for a record whose length is a single byte and not negative, as nearly always.
            if first < VARINT_MORE and not first & 1:
                size = first >> 1
                at += 1 + size
            else:
                size, at = read_zigzag(payload, at)
                at += size
            if size < SMALLEST_RECORD or at > end:
                raise Refused(error_codes.INVALID_RECORD, f"a record ends at {at} of {end}")
    except (IndexError, ValueError) as error:
        raise Refused(error_codes.INVALID_RECORD, str(error)) from None
    if at != end:
        raise Refused(error_codes.INVALID_RECORD, f"{end - at} bytes left over")


class _Faults:
    """The first MOST_FAULTS wrong records of a batch, and the number of all wrong records."""

    def __init__(self) -> None:
        self.first: list[RecordFault] = []
        self.count = 0

    def add(self, place: int, message: str) -> None:
        self.count += 1
        if self.count <= MOST_FAULTS:
            self.first.append(RecordFault(place, message))


def _keys(heads: Iterable[Head], limits: LogLimits, wall_ms: int, where: str) -> None:
    text, faults = f"{KEYLESS} {where}", _Faults()
    for index, (_, _, keyless) in enumerate(heads):
        if keyless:
            faults.add(index, text)
    if faults.count:
        shown = ", ".join(f"RecordError(batchIndex={fault.place}, message='{fault.message}')" for fault in faults.first[:SHOWN_ERRORS])
        message = (
            f"One or more records have been rejected due to {faults.count} record errors in total, "
            f"and only showing the first three errors at most: [{shown}]"
        )
        raise Refused(error_codes.INVALID_RECORD, "records without key in a compacted topic", message, tuple(faults.first))


def _timestamps(heads: Iterable[Head], limits: LogLimits, wall_ms: int, where: str) -> None:
    lowest, highest = wall_ms - limits.before_max_ms, wall_ms + limits.after_max_ms
    faults: list[RecordFault] = []
    for index, (timestamp, _, _) in enumerate(heads):
        # The timestamp -1 means no timestamp, which is never out of range (LogValidator.validateTimestamp).
        if timestamp != -1 and not lowest <= timestamp <= highest and len(faults) < MOST_FAULTS:
            text = f"Timestamp {timestamp} of message with offset {index} is out of range. "
            faults.append(RecordFault(index, f"{text}The timestamp should be within [{lowest}, {highest}]"))
    if faults:
        raise Refused(error_codes.INVALID_TIMESTAMP, "timestamps out of range", BAD_STAMPS, tuple(faults))
