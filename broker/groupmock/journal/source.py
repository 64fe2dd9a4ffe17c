"""Finds and opens the journals that a command-line argument names: files, patterns, folders or standard input, plain or packed."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import IO, Final

from .unpack import GZIP, ZSTD, Unpacked

STANDARD: Final = "-"
BUFFER: Final = 1 << 16
ENDINGS: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")
"""The endings of the names of journal files. Other files in a folder are ignored."""


class NoSuchJournal(ValueError):
    """Raised if no journal matches an argument of the command line. The text says what was looked for."""


def journals(words: Iterable[str]) -> list[str]:
    """Return the journal files that the arguments name, in order. An argument is a file, `-` (standard input), a folder (its journals,
    by name), or a shell pattern (`**` for nested folders). Raises NoSuchJournal; whether a file can be read is not checked."""
    return [name for word in words for name in _meant(word)]


def called(name: str) -> str:
    """Return a journal's name as messages show it."""
    return "standard input" if name == STANDARD else name


@contextmanager
def opened(path: str | Path, progress_of: str | None = None) -> Iterator[IO[bytes]]:
    """Open a journal's bytes, unpacked if their first bytes are those of gzip or zstd. With `progress_of`, the name of a verb, a terminal
    shows how much of the file is read. Raises OSError, and unpack.CannotUnpack when it is read."""
    if path == STANDARD:
        yield Unpacked(sys.stdin.buffer)
        return
    with open(path, "rb") if progress_of is None else _watched(path, progress_of) as file:
        # The first bytes of a pipe may not have arrived yet, so only a seekable file is checked here.
        plain = file.seekable() and not file.peek(len(ZSTD)).startswith((GZIP, ZSTD))
        yield file if plain else Unpacked(file)


def _watched(path: str | Path, progress_of: str) -> io.BufferedReader:
    from ..text.progress import WatchedFile

    return io.BufferedReader(WatchedFile(path, f"{progress_of} {Path(path).name}"), BUFFER)


def _meant(word: str) -> list[str]:
    path = Path(word)
    if word == STANDARD or path.is_file():
        return [word]
    if path.is_dir():
        found = sorted(str(each) for each in path.iterdir() if each.name.endswith(ENDINGS) and each.is_file())
        if not found:
            raise NoSuchJournal(f"{word}: no journal is in this folder: their names end in {', '.join(ENDINGS)}")
        return found
    if has_magic(word):
        found = sorted(each for each in glob(word, recursive=True) if not Path(each).is_dir())
        if not found:
            raise NoSuchJournal(f"{word}: no file has a name like that")
        return found
    return [word]
