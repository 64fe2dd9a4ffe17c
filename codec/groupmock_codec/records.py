"""Implements RecordBatch v2 (KIP-98) as far as a log needs it: header fields, CRC-32C, moving a batch to its offset, and encoding and
decoding records.

A batch is kept as the bytes that came (`Batch.data`); offset and leader epoch lie before the checksummed part and are rewritten
without touching the payload. Compression is opaque but for none and gzip, which `decode_records` reads. The formats before v2
are in `message_sets.py`.

    batches = read_batches(data)                       # produced bytes -> [Batch], lengths and magic checked
    check_produced(batches[0])                         # what Kafka checks of a client's batch, CRC included
    stored = batches[0].placed(base_offset=42, leader_epoch=0)
    data = encode_batch([NewRecord(value=b"v")], base_offset=0)
    decode_records(batch)                              # -> [Record(offset=..., timestamp=..., key=..., value=..., headers=...)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

from . import error_codes
from .compression import COMPRESSIONS, compress, decompress
from .compression import RecordsError as RecordsError
from .crc import checksum
from .runtime import fills_frame
from .varints import read_zigzag, zigzag

HEADER: Final = Struct(">qiibIhiqqqhii")
HEADER_BYTES: Final = HEADER.size  # The header of a batch has 61 bytes.
LENGTH_ENDS: Final = 12  # The field batch_length counts the bytes after this position.
CHECKED_FROM: Final = 21  # The CRC covers all bytes from the attributes on.
MAGIC_AT: Final = 16
NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_OFFSET: Final = -1

COMPRESSION_MASK: Final = 0x07
KNOWN_ATTRIBUTES: Final = 0x7F
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40
"""With this attribute bit, the base timestamp is the time from which on the batch's tombstones may be removed (KIP-534)."""

Headers = Sequence[tuple[str, bytes | None]]
Head = tuple[int, int, bool]
"""The timestamp of a record (ms since 1970), its absolute offset, and whether it has no key, as a tuple."""


class Record(NamedTuple):
    """One record of a log with its absolute offset, its timestamp in ms since 1970 (-1 for none), key and value (None for null)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class NewRecord(NamedTuple):
    """A record that has not been written to a log yet. `timestamp` is ms since 1970, -1 for none."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp: int = NO_TIMESTAMP


class Batch(NamedTuple):
    """A whole batch with the fields of its header and its bytes (`data`; after `placed` they may still have the frame's offset)."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int
    data: bytes

    @property
    def last_offset(self) -> int:
        """Return the offset of the batch's last record, which compaction may have removed."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Return the offset that follows the batch's last offset."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Return the sequence number of the last record; numbers wrap from 2^31-1 to 0. It is -1 without a producer id."""
        return -1 if self.base_sequence < 0 else next_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> str:
        """Return the name of the compression from COMPRESSIONS, or `unknown(n)`."""
        code = self.attributes & COMPRESSION_MASK
        return COMPRESSIONS[code] if code < len(COMPRESSIONS) else f"unknown({code})"

    @property
    def log_append_time(self) -> bool:
        """True if every record has `max_timestamp`, which the broker has set, as its timestamp."""
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def transactional(self) -> bool:
        """True if the batch is part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def control(self) -> bool:
        """True if the batch is a control batch, such as a commit or abort marker, which has no data."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """Return the time (ms since 1970) from which on compaction may remove the batch's tombstones, or None if it is not set
        (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def crc_holds(self) -> bool:
        """True if the checksum matches the bytes."""
        return checksum(self.data, CHECKED_FROM) == self.crc

    def placed(self, base_offset: int, leader_epoch: int) -> Batch:
        """Return the same batch at an offset of the log, with the same payload and CRC. A view of most of its frame stays a view,
        because copying 63 MB takes 50 ms; `whole` writes the offset into the bytes."""
        data = self.data if fills_frame(self.data) else _with_place(self.data, base_offset, leader_epoch)
        return self._replace(base_offset=base_offset, leader_epoch=leader_epoch, data=data)

    def whole(self) -> Batch:
        """Return the batch with its own copy of its bytes, including the offset of the log."""
        return self if type(self.data) is bytes else self._replace(data=_with_place(self.data, self.base_offset, self.leader_epoch))

    def by_create_time(self) -> Batch:
        """Return the batch as a log with CreateTime stores a batch that claims LogAppendTime: without this claim and undefined
        attributes, and with a new CRC."""
        return _sealed(self._replace(attributes=self.attributes & KNOWN_ATTRIBUTES & ~LOG_APPEND_TIME_BIT), self.data[HEADER_BYTES:])

    def compacted(self, records: Sequence[Record], delete_horizon_ms: int | None) -> Batch:
        """Return the batch with only these of its records, as Kafka's log cleaner writes it (MemoryRecords.filterTo). It keeps its first
        and last offset, producer and sequence. `delete_horizon_ms` is None for none. Without records it is an uncompressed header.
        Raises RecordsError for a compression that cannot be written here."""
        attributes = self.attributes & ~DELETE_HORIZON_BIT
        if not records:
            empty = self._replace(attributes=attributes & ~COMPRESSION_MASK, base_timestamp=NO_TIMESTAMP, records_count=0)
            return _sealed(empty, b"")
        if delete_horizon_ms is None:
            base = records[0].timestamp
        else:
            base, attributes = delete_horizon_ms, attributes | DELETE_HORIZON_BIT
        newest = max(record.timestamp for record in records)
        payload = b"".join(encode_record(record, record.offset - self.base_offset, base) for record in records)
        kept = self._replace(attributes=attributes, base_timestamp=base, max_timestamp=newest, records_count=len(records))
        return _sealed(kept, compress(payload, attributes & COMPRESSION_MASK))

    def appended_at(self, timestamp: int) -> Batch:
        """Return the batch as message.timestamp.type=LogAppendTime requires: with the attribute bit, the new max timestamp and a new
        CRC."""
        return _sealed(self._replace(attributes=self.attributes | LOG_APPEND_TIME_BIT, max_timestamp=timestamp), self.data[HEADER_BYTES:])


def next_sequence(sequence: int, more: int = 1) -> int:
    """Return the sequence number `more` records later, which wraps to 0 after 2^31-1, as in Kafka."""
    return (sequence + more) & 0x7FFFFFFF


def magic_of(data: bytes) -> int:
    """Return the magic of the first batch or message: 0 and 1 are message sets, 2 is a record batch. CORRUPT_MESSAGE if the data are too
    short."""
    if len(data) <= MAGIC_AT:
        raise RecordsError(error_codes.CORRUPT_MESSAGE, f"{len(data)} bytes are no record batch")
    return data[MAGIC_AT]


def read_batches(data: bytes) -> list[Batch]:
    """Return all batches in produced or fetched bytes, which must be complete; CRC and records are not checked. Raises CORRUPT_MESSAGE
    for a cut or impossible length, UNSUPPORTED_FOR_MESSAGE_FORMAT for the formats before v2."""
    return list(iter_batches(data))


def iter_batches(data: bytes, cut: bool = False) -> Iterator[Batch]:
    """Yield the same batches as `read_batches` one by one, because for untrusted bytes only the first may be needed. `cut`: the bytes
    may end within a batch, as a Fetch response may, and that batch is left out."""
    at, end = 0, len(data)
    while at < end:
        try:
            fields = HEADER.unpack_from(data, at)
        except StructError:
            if cut:
                return
            raise RecordsError(error_codes.CORRUPT_MESSAGE, f"{end - at} bytes left at {at}, a batch has at least {HEADER_BYTES}") from None
        if fields[3] != 2:
            raise RecordsError(error_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"magic {fields[3]} at {at}, 2 is needed")
        stop = at + LENGTH_ENDS + fields[1]
        if cut and stop > end:
            return
        if fields[1] < HEADER_BYTES - LENGTH_ENDS or stop > end:
            raise RecordsError(error_codes.CORRUPT_MESSAGE, f"batch of {fields[1]} bytes at {at} does not fit into {end}")
        yield Batch._make((*fields, data if at == 0 and stop == end else data[at:stop]))
        at = stop


def check_produced(batch: Batch) -> None:
    """Check what Kafka checks of a batch that a client produces, except sequence numbers. Raises CORRUPT_MESSAGE or INVALID_RECORD."""
    if not batch.crc_holds:
        raise RecordsError(error_codes.CORRUPT_MESSAGE, "the CRC does not fit")
    check_header(batch)


def check_header(batch: Batch) -> None:
    """Check the header like `check_produced`, but not the CRC."""
    if batch.control:
        raise RecordsError(error_codes.INVALID_RECORD, "clients may not write control batches")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise RecordsError(error_codes.INVALID_RECORD, f"producer id {batch.producer_id} without a sequence number")
    if batch.last_offset_delta < 0:
        raise RecordsError(error_codes.INVALID_RECORD, f"last offset delta {batch.last_offset_delta}")
    if batch.records_count != batch.last_offset_delta + 1:
        raise RecordsError(error_codes.INVALID_RECORD, f"{batch.records_count} records with last offset delta {batch.last_offset_delta}")


def encode_batch(
    records: Iterable[NewRecord],
    base_offset: int = 0,
    leader_epoch: int = -1,
    compression: str = "none",
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> bytes:
    """Encode one batch of at least one record, compressed with `none` or `gzip`. `attributes` has bits besides the compression."""
    listed = list(records)
    if not listed:
        raise RecordsError(error_codes.INVALID_RECORD, "a batch needs a record")
    first, last = listed[0].timestamp, max(record.timestamp for record in listed)
    encoded = [encode_record(record, index, first) for index, record in enumerate(listed)]
    return batch_of(
        encoded, first, last, base_offset, leader_epoch, compression, producer_id, producer_epoch, base_sequence, attributes
    ).data


def batch_of(
    records: Sequence[bytes],
    base_timestamp: int,
    max_timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
    compression: str = "none",
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> Batch:
    """Build a batch from records that `encode_record` has encoded, with the first and the largest of their timestamps."""
    code = COMPRESSIONS.index(compression)
    batch = Batch(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=2,
        crc=0,
        attributes=attributes | code,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        records_count=len(records),
        data=b"",
    )
    return _sealed(batch, compress(b"".join(records), code))


def empty_batch(first: int, last: int) -> Batch:
    """Return a batch with these offsets but no records, as Kafka's log cleaner leaves it."""
    delta = last - first
    batch = Batch(first, 0, -1, 2, 0, 0, delta, NO_TIMESTAMP, NO_TIMESTAMP, NO_PRODUCER_ID, -1, -1, 0, b"")
    return _sealed(batch, b"")


def decode_records(batch: Batch) -> list[Record]:
    """Decode the records of an uncompressed or gzip batch, with absolute offsets and timestamps. Raises UNSUPPORTED_COMPRESSION_TYPE for
    other compressions and INVALID_RECORD for wrong lengths or counts."""
    return list(iter_records(batch, decompress(batch.data[HEADER_BYTES:], batch.attributes & COMPRESSION_MASK)))


def iter_records(batch: Batch, data: bytes, first_offset: int = NO_OFFSET) -> Iterator[Record]:
    """Yield the records in `data`, which are the batch's decompressed records, from `first_offset` on. Raises INVALID_RECORD for wrong
    lengths or counts."""
    if not 0 <= batch.records_count <= len(data):
        raise RecordsError(error_codes.INVALID_RECORD, f"{batch.records_count} records in {len(data)} bytes")
    at = 0
    try:
        for _ in range(batch.records_count):
            size = data[at]
            if size > 127 or size & 1:
                size, at = read_zigzag(data, at)
            else:
                size >>= 1
                at += 1
            end = at + size
            if size < 0 or end > len(data):
                raise ValueError(f"a record of {size} bytes at {at}")
            if first_offset <= batch.base_offset or batch.base_offset + _offset_delta(data, at) >= first_offset:
                yield _read_record(data, at, end, batch)
            at = end
        if at != len(data):
            raise ValueError(f"{len(data) - at} bytes left over")
    except (ValueError, IndexError) as error:
        raise RecordsError(error_codes.INVALID_RECORD, str(error)) from None


def iter_heads(batch: Batch, data: bytes) -> Iterator[Head]:
    """Yield the Head of each record, at a third of the cost of decoding the record. `data` and the errors are those of `iter_records`.
    The code is flat and handles varints of one byte first, because nearly all are."""
    if not 0 <= batch.records_count <= len(data):
        raise RecordsError(error_codes.INVALID_RECORD, f"{batch.records_count} records in {len(data)} bytes")
    base_offset, base_timestamp = batch.base_offset, batch.max_timestamp if batch.log_append_time else batch.base_timestamp
    stamped, whole, at = batch.log_append_time, len(data), 0
    try:
        for _ in range(batch.records_count):
            size = data[at]
            if size > 127 or size & 1:  # A varint of one byte whose last bit is set is negative.
                size, at = read_zigzag(data, at)
            else:
                size >>= 1
                at += 1
            end = at + size
            if size < 0 or end > whole:
                raise ValueError(f"a record of {size} bytes at {at}")
            at += 1
            stamp = data[at]
            if stamp > 127 or stamp & 1:
                stamp, at = read_zigzag(data, at, 10)
            else:
                stamp >>= 1
                at += 1
            place = data[at]
            if place > 127 or place & 1:
                place, at = read_zigzag(data, at)
            else:
                place >>= 1
                at += 1
            key = data[at]
            if key > 127:
                key, at = read_zigzag(data, at)
                keyless = key < 0
                if not keyless:
                    at += key
            else:
                keyless = key & 1 == 1
                at += 1 if keyless else 1 + (key >> 1)
            value = data[at]
            if value > 127:
                value, at = read_zigzag(data, at)
                at += max(0, value)
            else:
                at += 1 if value & 1 else 1 + (value >> 1)
            # The quick way ends here, because the record has headers, or its parts do not add up to its length.
            if data[at] or at + 1 != end:
                _pass_headers(data, at, end)
            at = end
            yield base_timestamp if stamped else base_timestamp + stamp, base_offset + place, keyless
        if at != whole:
            raise ValueError(f"{whole - at} bytes left over")
    except (ValueError, IndexError) as error:
        raise RecordsError(error_codes.INVALID_RECORD, str(error)) from None


def _with_place(data: bytes, base_offset: int, leader_epoch: int) -> bytes:
    old = memoryview(data)
    return b"".join((base_offset.to_bytes(8, signed=True), old[8:LENGTH_ENDS], leader_epoch.to_bytes(4, signed=True), old[MAGIC_AT:]))


def _sealed(batch: Batch, payload: bytes) -> Batch:
    """Return the batch with this payload, and with a new length, CRC and bytes."""
    length = HEADER_BYTES - LENGTH_ENDS + len(payload)
    head = HEADER.pack(*batch._replace(batch_length=length, crc=0)[:-1])
    crc = checksum(payload, 0, checksum(head, CHECKED_FROM))
    data = b"".join((head[: CHECKED_FROM - 4], crc.to_bytes(4), head[CHECKED_FROM:], payload))
    return batch._replace(batch_length=length, crc=crc, data=data)


def encode_record(record: NewRecord | Record, index: int, base_timestamp: int) -> bytes:
    """Return the encoded record; `index` is its offset relative to the batch."""
    parts = [b"\0", zigzag(record.timestamp - base_timestamp), zigzag(index), _sized(record.key), _sized(record.value)]
    parts.append(zigzag(len(record.headers)))
    for name, value in record.headers:
        parts += (_sized(name.encode()), _sized(value))
    body = b"".join(parts)
    return zigzag(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return b"\x01" if data is None else zigzag(len(data)) + data


def _offset_delta(data: bytes, at: int) -> int:
    at = at + 2 if data[at + 1] < 128 else read_zigzag(data, at + 1, 10)[1]
    return read_zigzag(data, at)[0]


def _pass_headers(data: bytes, at: int, end: int) -> None:
    """Parse the headers of a record up to its end, without returning them. Raises ValueError if they do not end there."""
    for _ in _headers(data, at, end):
        pass


def _headers(data: bytes, at: int, end: int) -> Iterator[tuple[str, bytes | None]]:
    count, at = read_zigzag(data, at)
    if not 0 <= count <= end - at:
        raise ValueError(f"{count} headers at {at}")
    for _ in range(count):
        name, at = _read_sized(data, at, end)
        if name is None:
            raise ValueError(f"a header without a name at {at}")
        header, at = _read_sized(data, at, end)
        yield name.decode("utf-8", "replace"), header
    if at != end:
        raise ValueError(f"a record ends at {at} instead of {end}")


def _read_record(data: bytes, at: int, end: int, batch: Batch) -> Record:
    timestamp_delta, at = read_zigzag(data, at + 1, 10)
    offset_delta, at = read_zigzag(data, at)
    key, at = _read_sized(data, at, end)
    value, at = _read_sized(data, at, end)
    headers = tuple(_headers(data, at, end))
    timestamp = batch.max_timestamp if batch.log_append_time else batch.base_timestamp + timestamp_delta
    return Record(batch.base_offset + offset_delta, timestamp, key, value, headers)


def _read_sized(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = read_zigzag(data, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise ValueError(f"{size} bytes at {at} go beyond {end}")
    return data[at : at + size], at + size
