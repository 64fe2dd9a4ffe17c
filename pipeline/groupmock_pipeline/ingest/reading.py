"""The bytes of a journal file, piece by piece: plain, gzip or zstd, told by their first bytes, in bounded memory.

Spark's own reader would decompress as well, but it counts no lines and ends a cut file without a word.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import IO, Final

import zstandard

PIECE: Final = 1 << 20
"""Bytes of plain text, or at most of unpacked gzip, at a time."""
PACKED: Final = 1 << 10
"""Bytes of zstd data at a time. It cannot be told to stop; one piece unpacks to 32 MiB at worst, and to 20 KiB in a journal."""
GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
WITH_HEADER: Final = 16 + zlib.MAX_WBITS


class DamagedFile(ValueError):
    """The compressed data ends too early or is damaged; what came before it was given. The text says where."""


def unpacked_bytes(path: str) -> Iterator[bytes]:
    """The unpacked bytes of a file. Raises OSError, and DamagedFile after the last byte that could be had."""
    with open(path, "rb") as source:
        begin = source.read(4)
        if begin.startswith(GZIP):
            yield from _unpacked(source, begin, _gunzip, "gzip")
        elif begin == ZSTD:
            yield from _unpacked(source, begin, _unzstd, "zstd")
        else:
            yield from _as_it_is(source, begin)


def _as_it_is(source: IO[bytes], begin: bytes) -> Iterator[bytes]:
    piece = begin + source.read(PIECE)
    while piece:
        yield piece
        piece = source.read(PIECE)


Unpack = Callable[[bytes], Iterator[bytes]]
"""Given data, what it unpacks to; given none (the end), raises EOFError if a whole stream was not seen."""
DAMAGE: Final = (zlib.error, zstandard.ZstdError)


def _unpacked(source: IO[bytes], begin: bytes, make: Callable[[], Unpack], name: str) -> Iterator[bytes]:
    unpack, packed, done = make(), begin, 0
    try:
        while packed:
            yield from unpack(packed)
            done += len(packed)
            packed = source.read(PACKED)
        yield from unpack(b"")
    except EOFError:
        raise DamagedFile(f"cut: the {name} data ends too early, after {done} bytes") from None
    except DAMAGE:
        source.seek(0)
        yield from _until_damage(source, make(), done, name)


def _until_damage(source: IO[bytes], unpack: Unpack, done: int, name: str) -> Iterator[bytes]:
    """Once more: a piece with damage in it gave nothing, its bytes one by one give all that comes before."""
    for size in [4, *[PACKED] * ((done - 4) // PACKED)] if done else []:
        for _ in unpack(source.read(size)):
            pass
    try:
        while packed := source.read(1):
            yield from unpack(packed)
            done += 1
    except DAMAGE as error:
        raise DamagedFile(f"damaged {name} data at byte {done + 1}: {str(error).rpartition(': ')[2]}") from None


def _gunzip() -> Unpack:
    """Members one after the other are one file, as for gzip(1)."""
    stream = zlib.decompressobj(WITH_HEADER)
    begun = True

    def unpack(packed: bytes) -> Iterator[bytes]:
        nonlocal stream, begun
        if not packed and begun:
            yield stream.flush()
            raise EOFError
        while packed := packed if begun else packed.lstrip(b"\0"):  # between members: padding of tapes and disks
            if stream.eof:
                stream, begun = zlib.decompressobj(WITH_HEADER), True
            piece = stream.decompress(packed, PIECE)
            packed, begun = stream.unused_data or stream.unconsumed_tail, not stream.eof
            if piece:
                yield piece

    return unpack


def _unzstd() -> Unpack:
    """Frames one after the other are one file, as for zstd(1)."""
    begun = False
    stream = zstandard.ZstdDecompressor().decompressobj()

    def unpack(packed: bytes) -> Iterator[bytes]:
        nonlocal stream, begun
        if not packed and begun:
            raise EOFError
        while packed:
            if stream.eof:
                stream = zstandard.ZstdDecompressor().decompressobj()
            piece = stream.decompress(packed)
            begun, packed = not stream.eof, stream.unused_data if stream.eof else b""
            if piece:
                yield piece

    return unpack
