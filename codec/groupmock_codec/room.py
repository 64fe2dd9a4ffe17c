"""What unpacking somebody's records may cost. Ten kilobytes of gzip hold a million records, which are seconds and a gigabyte."""

from __future__ import annotations

from typing import Final, cast

from .compression import MAX_DECOMPRESSED, NONE, OverLimit, decompress
from .opening import unpacked
from .records import COMPRESSION_MASK, HEADER_BYTES, Batch
from .runtime import VIEWED_FROM

MOST_INFLATED: Final = (1, 1032, 22, 255, 44_000)
"""So many bytes does a compression make of one at most, by its code: gzip (zlib's technical details), snappy (64 by a copy of 3), lz4 (a
length is a row of bytes), zstd (a block of 128 KiB out of 3 bytes)."""
OPENED: Final = 4
"""Reading timestamp, offset and key costs so many times what stepping over a record does (0.4 us and 0.1)."""
CONVERTED: Final = 16
"""So much more does a record cost that is read whole and written in another format (3 to 6 us with all that follows)."""


class Room:
    """What may still be unpacked for somebody: bytes out of compression, and records, of which one that is opened counts OPENED times and
    one that goes into another format CONVERTED times. It is spent before anything is built.

    `spent`: something was, so that who must give at least one answer can tell. `opens_all`: snappy, lz4 and zstd too (`opening`).
    """

    __slots__ = ("bytes", "opens_all", "records", "spent")

    def __init__(self, max_bytes: int, max_records: int, opens_all: bool = False) -> None:
        self.bytes, self.records, self.opens_all = max_bytes, max_records, opens_all
        self.spent = False

    def take(self, records: int, each: int = 1) -> None:
        """So many records are about to be looked at. Raises OverLimit."""
        if records * each > self.records:
            raise OverLimit(f"{records} records{f' that count {each} times' if each > 1 else ''} where {self.records} are left")
        self.records -= records * each
        self.spent = True

    def unpacked(self, batch: Batch) -> bytes:
        """The records' bytes. Raises as `decompress`, OverLimit for more bytes than are left."""
        # A slice of a view copies nothing: records that are not compressed are looked at where they lie
        data = cast(bytes, memoryview(batch.data)) if len(batch.data) >= VIEWED_FROM else batch.data
        return self.opened(data[HEADER_BYTES:], batch.attributes & COMPRESSION_MASK)

    def opened(self, data: bytes, code: int) -> bytes:
        """`data` out of compression `code`. What was unpacked in vain is spent as well: of a thousand batches each may end in an error."""
        if code == NONE:
            return data
        before = self.bytes
        self.bytes -= min(before, len(data) * MOST_INFLATED[min(code, len(MOST_INFLATED) - 1)])
        found = unpacked(data, code, before) if self.opens_all else decompress(data, code, before)
        self.bytes = before - len(found)
        self.spent = True
        return found


def any_room() -> Room:
    """For who trusts the records: MAX_DECOMPRESSED bytes, any number of records."""
    return Room(MAX_DECOMPRESSED, 2**62)
