"""The lines of a journal file: numbered from 1, as text, and what is wrong with those that have none.

Spark's own reader would decompress as well, but it counts no lines and ends a cut file without a word.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Generator, Iterable, Iterator
from typing import Final, NamedTuple

import zstandard  # noqa: F401  # of the extra: missed here, before Spark starts, and not in a worker at the first packed file

from groupmock.journal.unpack import DamagedFile, unpacked_bytes

SHOWN: Final = 1024
"""Bytes of an over-long line that its place in the quarantine shows."""
MARK: Final = b"\xef\xbb\xbf"
WIDE: Final = (b"\xff\xfe", b"\xfe\xff")


class JournalLine(NamedTuple):
    """One line, without its end."""

    number: int
    text: str
    problem: str | None = None
    bytes: str | None = None
    """base64, where the bytes are no UTF-8; `text` has them escaped."""
    whole: bool = True
    """False: the last one, without a line's end."""


class Cut(NamedTuple):
    """Bytes of a line that is too long: the first of them, and how many there are."""

    begin: bytes
    size: int


def lines(path: str, limit: int) -> Generator[list[JournalLine], None, None]:
    """All lines of a file, blank ones too, in lists that follow its pieces. A line above `limit` bytes is not kept.

    Raises OSError. Where compressed data breaks, the last line says so, even if nothing came of it."""
    number = 0
    for group, problem in _split(_pieces(path), limit):
        found = [_line(at, line) for at, line in enumerate(group, number + 1)]
        number += len(found)
        if problem is not None:
            last = found[-1]
            found[-1] = last._replace(whole=False, problem=last.problem or problem or None)
        yield found


def _pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as source:
        yield from unpacked_bytes(source)


def _split(source: Iterable[bytes], limit: int) -> Iterator[tuple[list[bytes | Cut], str | None]]:
    """Lines, and with the last of them, if it has no end, what broke ("": nothing did)."""
    rest: list[bytes] = []
    size, problem = 0, ""
    try:
        for piece in source:
            begin, end, after = piece.rpartition(b"\n")
            if end:
                first, *more = begin.split(b"\n")
                whole = [_joined(rest, size, first, limit), *(_joined([], 0, line, limit) if len(line) > limit else line for line in more)]
                yield whole, None
                rest, size = [], 0
            if size <= limit:
                rest.append(after[: limit + 1])
            size += len(after)
    except DamagedFile as broken:
        problem = str(broken)
    if size or problem:
        yield [_joined(rest, size, b"", limit)], problem


def _joined(rest: list[bytes], size: int, end: bytes, limit: int) -> bytes | Cut:
    size += len(end)
    if size <= limit:
        return b"".join([*rest, end])
    return Cut(b"".join([*rest, end])[:SHOWN], size)


def _line(number: int, line: bytes | Cut) -> JournalLine:
    if isinstance(line, Cut):
        return JournalLine(number, line.begin.decode(errors="backslashreplace"), f"over-long: {line.size} bytes in one line")
    if number == 1:
        line = line.removeprefix(MARK)
    try:
        return JournalLine(number, line.decode())
    except UnicodeDecodeError as error:
        wide = "; the file begins as UTF-16 does" if number == 1 and line.startswith(WIDE) else ""
        problem = f"not UTF-8, from byte {error.start + 1} of the line{wide}"
        return JournalLine(number, line.decode(errors="backslashreplace"), problem, b64encode(line).decode())
