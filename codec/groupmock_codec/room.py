"""Decompressing a client's records is limited in bytes and in records. Ten kilobytes of gzip can hold a million records, which take
seconds and a gigabyte."""

from __future__ import annotations

from typing import Final, cast

from .compression import MAX_DECOMPRESSED, NONE, OverLimit, decompress
from .opening import unpacked
from .record_costs import CONVERTED as CONVERTED
from .record_costs import OPENED as OPENED
from .records import COMPRESSION_MASK, HEADER_BYTES, Batch
from .runtime import VIEWED_FROM

MOST_INFLATED: Final = (1, 1032, 22, 255, 44_000)
"""The largest factor by which each compression, by its code, can inflate: gzip (zlib's technical details), snappy (64 by a copy of 3),
lz4 (a length is a row of bytes), zstd (a block of 128 KiB out of 3 bytes)."""


class Room:
    """The remaining numbers of bytes that may be decompressed and of records that may be read: a decoded record counts OPENED times and a
    converted one CONVERTED times. They are spent before anything is built.

    `spent`: something was spent, so that a caller that has to give at least one answer can tell. `opens_all`: snappy, lz4 and zstd are
    unpacked, too (`opening`)."""

    __slots__ = ("bytes", "opens_all", "records", "spent")

    def __init__(self, max_bytes: int, max_records: int, opens_all: bool = False) -> None:
        self.bytes, self.records, self.opens_all = max_bytes, max_records, opens_all
        self.spent = False

    def take(self, records: int, each: int = 1) -> None:
        """Spend the cost of records before they are decoded. Raises OverLimit."""
        if records * each > self.records:
            raise OverLimit(f"{records} records{f' that count {each} times' if each > 1 else ''} where {self.records} are left")
        self.records -= records * each
        self.spent = True

    def unpacked(self, batch: Batch) -> bytes:
        """Return the decompressed records of a batch. It raises what `decompress` raises, and OverLimit for more bytes than are left."""
        # Records that are not compressed are read from a memoryview, because its slices copy nothing.
        data = cast(bytes, memoryview(batch.data)) if len(batch.data) >= VIEWED_FROM else batch.data
        return self.opened(data[HEADER_BYTES:], batch.attributes & COMPRESSION_MASK)

    def opened(self, data: bytes, code: int) -> bytes:
        """Decompress `data` of compression `code`. What fails is spent as well, because each of a thousand batches may end in an error."""
        if code == NONE:
            return data
        before = self.bytes
        self.bytes -= min(before, len(data) * MOST_INFLATED[min(code, len(MOST_INFLATED) - 1)])
        unpacked_data = unpacked(data, code, before) if self.opens_all else decompress(data, code, before)
        self.bytes = before - len(unpacked_data)
        self.spent = True
        return unpacked_data


def any_room() -> Room:
    """Return limits for trusted records: MAX_DECOMPRESSED bytes and any number of records."""
    return Room(MAX_DECOMPRESSED, 2**62)
