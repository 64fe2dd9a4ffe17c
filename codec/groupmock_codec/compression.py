"""Compresses and decompresses records with gzip or without compression, while other formats are kept as they are. Unpacking never
exceeds the given limit."""

from __future__ import annotations

import zlib
from typing import Final

from . import error_codes
from .refused_records import OverLimit as OverLimit
from .refused_records import RecordsError as RecordsError

NONE: Final = 0
GZIP: Final = 1
FED_AT_ONCE: Final = 256 * 1024
GZIP_MAGIC: Final = b"\x1f\x8b"
COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
MOST_MEMBERS: Final = 16
"""The largest number of members of a gzip stream that are decompressed. What follows a member is copied to look at the next, and stock
producers write one."""
MAX_DECOMPRESSED: Final = 104_857_600


def compress(data: bytes, code: int) -> bytes:
    """Return `data` compressed with NONE or GZIP; raises UNSUPPORTED_COMPRESSION_TYPE for other formats."""
    if code == NONE:
        return data
    if code == GZIP:
        import gzip  # This import is late, because most programs compress nothing.

        return gzip.compress(data, mtime=0)
    raise _unsupported(code)


def decompress(data: bytes, code: int, limit: int = MAX_DECOMPRESSED) -> bytes:
    """Return the decompressed data, at most `limit` bytes. Raises MESSAGE_TOO_LARGE for more, and CORRUPT_MESSAGE for data that is no
    gzip."""
    if code == NONE:
        return data
    if code != GZIP:
        raise _unsupported(code)
    if limit <= 0:  # zlib would take a limit of 0 for no limit.
        raise OverLimit("no more bytes may be decompressed")
    parts: list[bytes] = []
    rest = memoryview(data)
    # Java's GZIPInputStream also reads one gzip member after the other and ignores the bytes after the last one.
    while bytes(rest[: len(GZIP_MAGIC)]) == GZIP_MAGIC or not parts:
        if len(parts) == MOST_MEMBERS:
            raise OverLimit(f"more than {MOST_MEMBERS} members of gzip")
        part, rest = _member(rest, limit)
        limit -= len(part)
        parts.append(part)
    return b"".join(parts)


def _member(data: memoryview, limit: int) -> tuple[bytes, memoryview]:
    """Decompress the first member of a gzip stream, and return it with the bytes after it. It is fed in pieces, because zlib copies the
    input that it does not need."""
    unzip, unpacked, size, at = zlib.decompressobj(wbits=31), [], 0, 0
    while at < len(data) and not unzip.eof:
        piece = data[at : at + FED_AT_ONCE]
        try:
            unpacked.append(unzip.decompress(piece, max(1, limit - size)))  # zlib would take a limit of 0 for no limit.
        except zlib.error as error:
            raise RecordsError(error_codes.CORRUPT_MESSAGE, f"bad gzip: {error}") from None
        size += len(unpacked[-1])
        if unzip.unconsumed_tail or size > limit:
            raise OverLimit(f"more than {limit} bytes when decompressed")
        at += len(piece) - len(unzip.unused_data)
    if not unzip.eof:
        raise RecordsError(error_codes.CORRUPT_MESSAGE, "gzip ends too early")
    return b"".join(unpacked), data[at:]


def _unsupported(code: int) -> RecordsError:
    name = COMPRESSIONS[code] if code < len(COMPRESSIONS) else f"unknown({code})"
    return RecordsError(error_codes.UNSUPPORTED_COMPRESSION_TYPE, f"{name} is kept as it is and cannot be opened here")
