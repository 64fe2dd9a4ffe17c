"""Yields the bytes of a journal file in pieces, unpacked if its first bytes are those of gzip or zstd, in bounded memory.

gzip is unpacked by Python itself. zstd is unpacked by Python from 3.14 on, and before that by the package zstandard, which is imported when
a file needs it.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, NamedTuple

PIECE: Final = 1 << 20
"""The number of bytes that are handled at a time, of plain text or of unpacked gzip."""
PACKED: Final = 1 << 10
"""The number of bytes of zstd data that are unpacked at a time. zstd cannot be told to stop: one piece unpacks to 32 MiB at worst, to 20
KiB in a journal."""
GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
WITH_HEADER: Final = 16 + zlib.MAX_WBITS

Unpack = Callable[[bytes], Iterator[bytes]]
"""A function from packed bytes to unpacked bytes. Called without bytes (the end), it raises EOFError if a stream is incomplete."""


class DamagedFile(ValueError):
    """Raised if packed data end too early or are damaged. The text says where. The bytes before the damage were returned."""


class CannotUnpack(ValueError):
    """Raised if no installed library can unpack a file. The text says what is missing."""


class _Form(NamedTuple):
    """One way to compress files. `make` begins to unpack a file, `damage` is the class of its errors."""

    name: str
    make: Callable[[], Unpack]
    damage: type[Exception]


class Unpacked(io.BufferedReader):
    """The unpacked bytes of an open file, as a stream of lines. It just ends where the data are cut or damaged."""

    def __init__(self, source: IO[bytes]) -> None:
        self._pieces = _Pieces(source)
        super().__init__(self._pieces, PIECE)

    @property
    def damage(self) -> DamagedFile | None:
        """The damage because of which the stream ended too early, or None; it is known only after the end."""
        return self._pieces.damage


class _Pieces(io.RawIOBase):
    def __init__(self, source: IO[bytes]) -> None:
        self.damage: DamagedFile | None = None
        self._pieces = unpacked_bytes(source)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._rest:
            try:
                self._rest = memoryview(next(self._pieces))
            except StopIteration:
                return 0
            except DamagedFile as damage:
                self.damage = damage
                return 0
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def unpacked_bytes(source: IO[bytes]) -> Iterator[bytes]:
    """Yield the unpacked bytes of an open file. Raises OSError, CannotUnpack, and DamagedFile after the last readable byte."""
    begin = source.read(4)
    if begin.startswith(GZIP):
        yield from _unpacked(source, begin, _Form("gzip", _gunzip, zlib.error))
    elif begin == ZSTD:
        yield from _unpacked(source, begin, _zstd())
    else:
        yield from _as_it_is(source, begin)


def _as_it_is(source: IO[bytes], begin: bytes) -> Iterator[bytes]:
    piece = begin + source.read(PIECE)
    while piece:
        yield piece
        piece = source.read(PIECE)


def _unpacked(source: IO[bytes], begin: bytes, form: _Form) -> Iterator[bytes]:
    unpack, packed, done = form.make(), begin, 0
    try:
        while packed:
            # The whole piece is unpacked before any of it is yielded, so that the bytes before a damaged place are yielded once, below.
            yield from list(unpack(packed))
            done += len(packed)
            packed = source.read(PACKED)
        yield from unpack(b"")
    except EOFError:
        raise DamagedFile(f"cut: the {form.name} data ends too early, after {done} bytes") from None
    except form.damage as error:
        # Standard input cannot be read a second time, so the bytes before the damaged place in the last piece read are lost.
        if not source.seekable():
            raise DamagedFile(f"damaged {form.name} data behind byte {done}: {_reason(error)}") from None
        source.seek(0)
        yield from _until_damage(source, form, done)


def _until_damage(source: IO[bytes], form: _Form, done: int) -> Iterator[bytes]:
    """Read the file again byte by byte, to return all bytes before the damage, because a damaged piece gives nothing as a whole."""
    unpack = form.make()
    for size in [4, *[PACKED] * ((done - 4) // PACKED)] if done else []:
        for _ in unpack(source.read(size)):
            pass
    try:
        while packed := source.read(1):
            yield from unpack(packed)
            done += 1
    except form.damage as error:
        raise DamagedFile(f"damaged {form.name} data at byte {done + 1}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return str(error).rpartition(": ")[2]


def _gunzip() -> Unpack:
    """Unpack gzip members one after another as one file, as gzip(1) does."""
    stream = zlib.decompressobj(WITH_HEADER)
    begun = True

    def unpack(packed: bytes) -> Iterator[bytes]:
        nonlocal stream, begun
        if not packed and begun:
            yield stream.flush()
            raise EOFError
        while packed := packed if begun else packed.lstrip(b"\0"):  # Tapes and disks pad with zeros between members.
            if stream.eof:
                stream, begun = zlib.decompressobj(WITH_HEADER), True
            piece = stream.decompress(packed, PIECE)
            packed, begun = stream.unused_data or stream.unconsumed_tail, not stream.eof
            if piece:
                yield piece

    return unpack


def _zstd() -> _Form:
    """Return the form of zstd data. Raises CannotUnpack."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14

        return _Form("zstd", lambda: _unzstd(zstd.ZstdDecompressor), zstd.ZstdError)
    except ModuleNotFoundError:
        pass
    try:
        import zstandard
    except ModuleNotFoundError:
        from groupmock_codec.extras import pip_install

        raise CannotUnpack(f"it is compressed with zstd, which needs zstandard: {pip_install('zstd')}, or unpack it first") from None
    return _Form("zstd", lambda: _unzstd(lambda: zstandard.ZstdDecompressor().decompressobj()), zstandard.ZstdError)


def _unzstd(begin: Callable[[], Any]) -> Unpack:
    """Unpack zstd frames one after another as one file, as zstd(1) does. `begin` begins one frame in either library."""
    begun = False
    stream = begin()

    def unpack(packed: bytes) -> Iterator[bytes]:
        nonlocal stream, begun
        if not packed and begun:
            raise EOFError
        while packed:
            if stream.eof:
                stream = begin()
            piece = stream.decompress(packed)
            begun, packed = not stream.eof, stream.unused_data if stream.eof else b""
            if piece:
                yield piece

    return unpack
