"""What the verbs share that read journal files: the argument, opening one, and one line for what is wrong with it. No verb of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from . import BAD_USE, BROKEN, OK, UNKNOWN
from ._options import complain

if TYPE_CHECKING:
    from ..journal.read import JournalReader

ABOUT: Final = "journal file, plain, .gz or .zst; a folder: all in it; a pattern in quotes; -: standard input"
WORST: Final = (BROKEN, BAD_USE, UNKNOWN, OK)
"""Exit codes, the one that says most first: of several journals it counts."""


class CannotRead(ValueError):
    """This file cannot be read, or is no journal; the text names it and says why."""


@contextmanager
def reading(name: str) -> Iterator[JournalReader]:
    """A journal, opened, its header read. Raises CannotRead, here and while it is read."""
    from ..journal.read import JournalReader, NotAJournal
    from ..journal.source import called, opened

    try:
        with opened(name) as file:
            yield JournalReader(file)
    except NotAJournal as bad:
        raise CannotRead(f"{called(name)}: {bad}") from None
    except BrokenPipeError:  # of what is written, not of what is read
        raise
    except OSError as trouble:
        raise CannotRead(f"{called(name)}: {trouble.strerror or trouble}") from None


def end_of(name: str, flag: str) -> int:
    """When its last row was, ns of the run; `flag`: who wants to know. Raises CannotRead."""
    from ..journal.source import STANDARD

    if name == STANDARD:
        raise CannotRead(f"standard input is read once, so where it ends is not known beforehand: {flag} -SECONDS is for files")
    with reading(name) as journal:
        return max((row.t for row in journal), default=0)


def for_every_journal(verb: str, words: Iterable[str], do: Callable[[str, int], int]) -> int:
    """Call `do` with the name of each journal that is meant and how many there are; one that cannot be read costs a line on stderr, and the
    others are read. Returns the exit code that says most."""
    from ..journal.source import NoSuchJournal, journals

    codes = {OK}
    try:
        names = journals(words)
    except NoSuchJournal as none:
        complain(verb, none)
        return BAD_USE
    for name in names:
        try:
            codes.add(do(name, len(names)))
        except CannotRead as cannot:
            complain(verb, cannot)
            codes.add(BAD_USE)
        sys.stdout.flush()
    return next(code for code in WORST if code in codes)


def json_line(value: Any) -> str:
    """One line of printable ASCII: names out of a journal stay names."""
    from ..text.printable import ascii_json

    return ascii_json(json.dumps(value).encode()).decode()


def notices(reader: JournalReader) -> list[str]:
    """What is missing in a journal that was read to its end, in sentences without their stops."""
    broken = reader.broken
    more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
    lines = [f"line {broken[0].line} is no row{more}: {broken[0].reason}"] if broken else []
    return lines + ([reader.unfinished] if reader.unfinished is not None else [])
