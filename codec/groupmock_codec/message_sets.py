"""Converts between record batches and the record formats before them: message sets of magic 0 and 1 (Produce 0-2, Fetch 0-3).

Kept for uncompressed and gzip; other compressions raise RecordsError(UNSUPPORTED_COMPRESSION_TYPE).

    data = up_convert(message_set)                  # produced by an old client -> the bytes of one v2 batch
    message_set = down_convert(batches, magic=1)    # fetched by an old client: Produce / Fetch 0-1 magic 0, 2-3 magic 1
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

from . import error_codes
from .compression import COMPRESSIONS, GZIP, NONE, OverLimit, compress
from .records import COMPRESSION_MASK, LOG_APPEND_TIME_BIT, NO_TIMESTAMP, Batch, NewRecord, Record, RecordsError, encode_batch, iter_records
from .room import CONVERTED, Room, any_room

ENTRY: Final = Struct(">qiIbb")  # The fields at the beginning of a message are offset, size, CRC, magic and attributes.
ENTRY_BYTES: Final = ENTRY.size
CHECKED_FROM: Final = 16  # The CRC-32 covers all bytes from the magic on.
SIZE_ENDS: Final = 12


class Entry(NamedTuple):
    """One message of a message set. The `value` of a compressed message is a whole set."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def read_message_set(data: bytes, room: Room | None = None) -> list[Record]:
    """Return the records of a message set with absolute offsets, including the records in compressed messages. Raises CORRUPT_MESSAGE,
    UNSUPPORTED_COMPRESSION_TYPE, OverLimit."""
    room = room or any_room()
    return [record for entry in list(_walk(data, room)) for record in _opened(entry, room)]


def up_convert(data: bytes, base_offset: int = 0, leader_epoch: int = -1, room: Room | None = None) -> bytes:
    """Convert a produced message set to one v2 batch, as Kafka's log does: with the same compression, and with timestamps -1 for magic
    0. `room` limits the cost, CONVERTED for each message; OverLimit beyond."""
    room = room or any_room()
    entries = list(_walk(data, room))
    records = [record for entry in entries for record in _opened(entry, room)]
    if not records:
        raise RecordsError(error_codes.INVALID_RECORD, "a message set without messages")
    new = (NewRecord(record.key, record.value, (), record.timestamp) for record in records)
    return encode_batch(new, base_offset, leader_epoch, COMPRESSIONS[entries[0].attributes & COMPRESSION_MASK])


def down_convert(batches: Iterable[Batch], magic: int, first_offset: int = 0, room: Room | None = None) -> bytes:
    """Convert stored batches to a message set of magic 0 or 1, which has no record headers and no control batches. In uncompressed
    batches the records before `first_offset` are left out too, as in Kafka. The set ends with `room`. If that is within the first batch,
    its records from `first_offset` on are included as far as there is room, so that a reader makes progress."""
    room = room or any_room()
    parts: list[bytes] = []
    for batch in batches:
        if batch.control:
            room.records -= 1
            continue
        try:
            whole = batch.records_count * CONVERTED <= room.records
            if parts and not whole:
                break
            records = list(iter_records(batch, room.unpacked(batch))) if whole else _some_records(batch, first_offset, room)
        except OverLimit:
            if not parts:
                raise
            break
        room.take(len(records), CONVERTED)
        parts += _down(batch, records, magic, first_offset)
        if not whole or room.records <= 0:
            break
    return b"".join(parts)


def _some_records(batch: Batch, first_offset: int, room: Room) -> list[Record]:
    return list(islice(iter_records(batch, room.unpacked(batch), first_offset), max(0, room.records) // CONVERTED))


def _down(batch: Batch, records: list[Record], magic: int, first_offset: int) -> Iterator[bytes]:
    code, append_bit = batch.attributes & COMPRESSION_MASK, batch.attributes & LOG_APPEND_TIME_BIT
    if code == NONE:
        yield from (_written(record, record.offset, magic, append_bit) for record in records if record.offset >= first_offset)
    elif records:
        yield _wrapper(records, magic, code, append_bit)


def encode_message_set(records: Iterable[Record], magic: int, compression: str = "none") -> bytes:
    """Return the records as a message set that an old client would produce."""
    listed = list(records)
    code = COMPRESSIONS.index(compression)
    if code == NONE:
        return b"".join(_written(record, record.offset, magic, 0) for record in listed)
    return _wrapper(listed, magic, code, 0)


def _walk(data: bytes, room: Room, inner: bool = False) -> Iterator[Entry]:
    at, end = 0, len(data)
    while at < end:
        try:
            offset, size, crc, magic, attributes = ENTRY.unpack_from(data, at)
        except StructError:
            raise _corrupt(f"{end - at} bytes left at {at} are no message") from None
        stop = at + SIZE_ENDS + size
        if size < ENTRY_BYTES - SIZE_ENDS or stop > end:
            raise _corrupt(f"a message of {size} bytes at {at} does not fit into {end}")
        if magic not in (0, 1):
            raise RecordsError(error_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"magic {magic} in a message set")
        if zlib.crc32(data[at + CHECKED_FROM : stop]) != crc:
            raise _corrupt(f"the CRC of the message at {at} does not fit")
        if inner and attributes & COMPRESSION_MASK:
            raise RecordsError(error_codes.INVALID_RECORD, "a compressed message inside a compressed message")
        room.take(1, CONVERTED)
        yield _entry(data[at:stop], offset, magic, attributes)
        at = stop


def _entry(data: bytes, offset: int, magic: int, attributes: int) -> Entry:
    at, timestamp = ENTRY_BYTES, NO_TIMESTAMP
    if magic == 1:
        if len(data) < at + 8:
            raise _corrupt("a message is cut in its timestamp")
        timestamp, at = int.from_bytes(data[at : at + 8], signed=True), at + 8
    key, at = _read_bytes(data, at)
    value, at = _read_bytes(data, at)
    if at != len(data):
        raise _corrupt(f"{len(data) - at} bytes left over in a message")
    return Entry(offset, magic, attributes, timestamp, key, value)


def _opened(entry: Entry, room: Room) -> list[Record]:
    code = entry.attributes & COMPRESSION_MASK
    if code == NONE:
        return [Record(entry.offset, entry.timestamp, entry.key, entry.value)]
    if entry.value is None:
        raise RecordsError(error_codes.INVALID_RECORD, "a compressed message without a value")
    found = list(_walk(room.opened(entry.value, code), room, inner=True))
    if not found:
        raise RecordsError(error_codes.INVALID_RECORD, "a compressed message with nothing inside")
    # Inner offsets are relative since magic 1 (KIP-31). Some producers leave the outer offset at 0, which then has no meaning.
    shift = entry.offset - found[-1].offset if entry.magic == 1 and entry.offset else 0
    if shift < 0:
        raise RecordsError(error_codes.INVALID_RECORD, f"inner offset {found[-1].offset} is above the outer one, {entry.offset}")
    stamp = entry.timestamp if entry.attributes & LOG_APPEND_TIME_BIT else None
    return [Record(each.offset + shift, each.timestamp if stamp is None else stamp, each.key, each.value) for each in found]


def _wrapper(records: list[Record], magic: int, code: int, append_bit: int) -> bytes:
    if code != GZIP:
        compress(b"", code)  # This call raises an error that names the unknown compression.
    base = records[0].offset if magic == 1 else 0
    inner = b"".join(_written(record, record.offset - base, magic, append_bit) for record in records)
    newest = max(record.timestamp for record in records)
    outer = Record(records[-1].offset, newest, None, compress(inner, code))
    return _written(outer, outer.offset, magic, append_bit | code)


def _written(record: Record, offset: int, magic: int, attributes: int) -> bytes:
    bits = attributes if magic == 1 else attributes & COMPRESSION_MASK
    stamp = record.timestamp.to_bytes(8, signed=True) if magic == 1 else b""
    checked = b"".join((bytes((magic, bits)), stamp, _bytes(record.key), _bytes(record.value)))
    return b"".join(
        (offset.to_bytes(8, signed=True), (len(checked) + 4).to_bytes(4, signed=True), zlib.crc32(checked).to_bytes(4), checked)
    )


def _bytes(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else len(data).to_bytes(4, signed=True) + data


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size = int.from_bytes(data[at : at + 4], signed=True)
    at += 4
    if size < 0 and at <= len(data):
        return None, at
    if at + size > len(data):
        raise _corrupt("a key or value goes beyond its message")
    return data[at : at + size], at + size


def _corrupt(reason: str) -> RecordsError:
    return RecordsError(error_codes.CORRUPT_MESSAGE, reason)
