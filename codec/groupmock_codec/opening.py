"""Decompresses records of any format: snappy, lz4 and zstd need cramjam, if it is installed.

Programs that show records use this. A log does so only if it is told to (`Room.opens_all`), so that a broker's answers do not depend on
what is installed. Unpacking never exceeds the given limit. What Kafka's streams refuse is refused: empty snappy, lz4 whose blocks depend
on each other (docs/kafka/seen-on-brokers.md#packed-records).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from . import error_codes
from .compression import COMPRESSIONS, GZIP, OverLimit, RecordsError, decompress
from .extras import LIBRARY
from .records import COMPRESSION_MASK, HEADER_BYTES

if TYPE_CHECKING:
    from .records import Batch

XERIAL: Final = b"\x82SNAPPY\0"
"""The first bytes of a stream that snappy-java has written, which Kafka's producers use. Two versions follow, then blocks with a length
before each."""
XERIAL_BYTES: Final = 16
LENGTH_BYTES: Final = 4
FIRST_GUESS: Final = 64 * 1024
NO_MORE_ROOM: Final = "failed to write whole buffer"
"""This is cramjam's message, for every format, when the output does not fit into the buffer."""
FEW_BLOCKS: Final = 16
SMALLEST_BLOCK: Final = 1024
"""The least average number of bytes to which the blocks of a stream must decompress. Neither snappy-java
(SnappyOutputStream.MIN_BLOCK_SIZE) nor lz4 (64 KiB) writes smaller blocks except at a flush. The average is checked above FEW_BLOCKS,
because a megabyte of empty blocks would be unpaid work."""
LZ4_FLAGS_AT: Final = 4
LZ4_SMALLEST: Final = 7  # The smallest lz4 frame has the magic, flags, a byte of sizes, and a checksum (LZ4 frame format, version 1.6).
LZ4_INDEPENDENT: Final = 0x20
LZ4_BLOCKS_CHECKED: Final = 0x10
LZ4_SIZED: Final = 0x08
LZ4_CHECKED: Final = 0x04
LZ4_DICTIONARY: Final = 0x01
LZ4_PLAIN: Final = 0x80000000


def opened(batch: Batch, most: int) -> bytes:
    """Return the batch's decompressed records, at most `most` bytes. It raises what `unpacked` raises."""
    return unpacked(batch.data[HEADER_BYTES:], batch.attributes & COMPRESSION_MASK, most)


def unpacked(data: bytes, code: int, most: int) -> bytes:
    """Decompress `data` of any compression to at most `most` bytes. Raises RecordsError: UNSUPPORTED_COMPRESSION_TYPE with what to
    install, CORRUPT_MESSAGE; OverLimit."""
    if code <= GZIP or code >= len(COMPRESSIONS):
        return decompress(data, code, most)
    name = COMPRESSIONS[code]
    try:
        import cramjam
    except ImportError:
        reason = f"records compressed by {name} need a library to be read: pip install {LIBRARY}"
        raise RecordsError(error_codes.UNSUPPORTED_COMPRESSION_TYPE, reason) from None
    try:
        if name == "snappy":
            return _snappy(cramjam.snappy, data, most)
        if name == "lz4":
            frame, blocks = _first_frame(data, most)
            found = _frames(cramjam.lz4, frame, most)
            _paid(blocks, len(found))
            return found
        return _frames(cramjam.zstd, data, most) if data else b""
    except OverLimit:
        raise
    except (cramjam.DecompressionError, OSError, ValueError) as error:
        raise RecordsError(error_codes.CORRUPT_MESSAGE, f"bad {name}: {error}") from None


def _paid(blocks: int, size: int) -> None:
    if blocks > FEW_BLOCKS + size // SMALLEST_BLOCK:
        raise OverLimit(f"{blocks} blocks for {size} bytes")


def _first_frame(data: bytes, most: int) -> tuple[bytes, int]:
    """Return the first lz4 frame up to its end mark, as Kafka's Lz4BlockInputStream reads it, and the number of its blocks, which must
    be independent."""
    if len(data) < LZ4_SMALLEST:
        raise ValueError(f"{len(data)} bytes")
    flags = data[LZ4_FLAGS_AT]
    if not flags & LZ4_INDEPENDENT:
        raise ValueError("blocks that depend on each other")
    at = LZ4_SMALLEST + (8 if flags & LZ4_SIZED else 0) + (4 if flags & LZ4_DICTIONARY else 0)
    blocks = 0
    while (size := int.from_bytes(data[at : at + LENGTH_BYTES], "little") & ~LZ4_PLAIN) and at < len(data):
        at += LENGTH_BYTES + size + (4 if flags & LZ4_BLOCKS_CHECKED else 0)
        blocks += 1
        _paid(blocks, most)
    return data[: at + LENGTH_BYTES + (4 if flags & LZ4_CHECKED else 0)], blocks


def _frames(library: Any, data: bytes, most: int) -> bytes:
    """Decompress data of lz4 or zstd into larger and larger buffers, up to `most` bytes. Neither tells the size of the output for sure,
    so a buffer may be
    too small."""
    size = min(max(FIRST_GUESS, 8 * len(data)), most)
    while True:
        room = bytearray(size)
        try:
            return bytes(memoryview(room)[: library.decompress_into(data, room)])
        except Exception as error:
            if NO_MORE_ROOM not in str(error):
                raise
        if size >= most:
            raise OverLimit(f"more than {most} bytes when decompressed")
        size = min(4 * size, most)


def _snappy(library: Any, data: bytes, most: int) -> bytes:
    if not data:
        raise ValueError("nothing")  # An empty stream of snappy-java is not valid.
    parts, size = [], 0
    for blocks, block in enumerate(_blocks(data), 1):
        size += library.decompress_raw_len(block)
        if size > most:
            raise OverLimit(f"more than {most} bytes when decompressed")
        _paid(blocks, size)
        parts.append(bytes(library.decompress_raw(block)))
    return b"".join(parts)


def _blocks(data: bytes) -> Iterator[bytes]:
    """Yield the blocks of one or several streams that snappy-java has written; other data is one block. An incomplete length ends the
    stream."""
    if data[: len(XERIAL)] != XERIAL:
        yield data
        return
    at = XERIAL_BYTES
    while at + LENGTH_BYTES <= len(data):
        if data[at : at + len(XERIAL)] == XERIAL:
            at += XERIAL_BYTES
            continue
        end = at + LENGTH_BYTES + int.from_bytes(data[at : at + LENGTH_BYTES])
        if end > len(data) or end == at + LENGTH_BYTES:
            raise ValueError(f"a block ends at {end} of {len(data)}")
        yield data[at + LENGTH_BYTES : end]
        at = end
