"""Records out of any compression, for who wants to see them: snappy, lz4 and zstd are opened by cramjam where that is installed.

A log keeps those three as they came and never opens them (`compression`), so that what a broker answers does not hang on what is
installed beside it. Reading is another matter: it changes nothing. Never more is unpacked than was allowed, here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .compression import COMPRESSIONS, GZIP, OverLimit, RecordsError, decompress
from .errors import ErrorCode
from .records import COMPRESSION_MASK, HEADER_BYTES

if TYPE_CHECKING:
    from .records import Batch

XERIAL: Final = b"\x82SNAPPY\0"
"""How snappy-java's streams begin, which Kafka's producers write: then two versions, then blocks, each behind its length."""
XERIAL_BYTES: Final = 16
LENGTH_BYTES: Final = 4
FIRST_GUESS: Final = 64 * 1024
LIBRARY: Final = "cramjam"


def opened(batch: Batch, most: int) -> bytes:
    """The batch's records, `most` bytes at most. Raises RecordsError: UNSUPPORTED_COMPRESSION_TYPE with what to install, CORRUPT_MESSAGE;
    OverLimit."""
    code, data = batch.attributes & COMPRESSION_MASK, batch.data[HEADER_BYTES:]
    if code <= GZIP or code >= len(COMPRESSIONS):
        return decompress(data, code, most)
    name = COMPRESSIONS[code]
    try:
        import cramjam
    except ImportError:
        reason = f"records compressed by {name} need a library to be read: pip install {LIBRARY}"
        raise RecordsError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason) from None
    return _snappy(cramjam.snappy, data, most) if name == "snappy" else _frames(getattr(cramjam, name), name, data, most)


def _frames(library: Any, name: str, data: bytes, most: int) -> bytes:
    """lz4 or zstd: neither says for sure how much comes out, so ever larger room is tried, up to `most` bytes."""
    size = min(max(FIRST_GUESS, 8 * len(data)), most)
    while True:
        room = bytearray(size)
        try:
            return bytes(memoryview(room)[: library.decompress_into(data, room)])
        except (library_error(), OSError) as error:
            if size >= most:
                reason = f"bad {name}, or more than {most} bytes when decompressed: {error}"
                raise RecordsError(ErrorCode.CORRUPT_MESSAGE, reason) from None
            size = min(4 * size, most)


def _snappy(library: Any, data: bytes, most: int) -> bytes:
    parts, left = [], most
    try:
        for block in _blocks(data):
            left -= library.decompress_raw_len(block)
            if left < 0:
                raise OverLimit(f"more than {most} bytes when decompressed")
            parts.append(bytes(library.decompress_raw(block)))
    except (library_error(), OSError, ValueError) as error:
        if isinstance(error, OverLimit):
            raise
        raise RecordsError(ErrorCode.CORRUPT_MESSAGE, f"bad snappy: {error}") from None
    return b"".join(parts)


def _blocks(data: bytes) -> list[bytes]:
    """Of a stream by snappy-java; anything else is one block."""
    if not data.startswith(XERIAL):
        return [data]
    found, at = [], XERIAL_BYTES
    while at < len(data):
        end = at + LENGTH_BYTES + int.from_bytes(data[at : at + LENGTH_BYTES])
        if end > len(data):
            raise ValueError(f"a block ends at {end} of {len(data)}")
        found.append(data[at + LENGTH_BYTES : end])
        at = end
    return found


def library_error() -> type[Exception]:
    """What cramjam raises."""
    import cramjam

    error: type[Exception] = cramjam.DecompressionError
    return error
