"""Read the journal files that several verbs take: the argument's help, the opening of a journal, and one line for each error."""

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
"""Exit codes from the worst to the best: for several journals, the worst one is returned."""


class CannotRead(ValueError):
    """Raised if a file cannot be read, or is not a journal. The message names the file and says why."""


@contextmanager
def reading(name: str, progress_of: str | None = None) -> Iterator[JournalReader]:
    """Open a journal and read its header. With `progress_of`, the name of a verb that prints nothing while it reads, a terminal shows how
    much of the file is read. Raises CannotRead at once or while rows are read."""
    from ..journal.read import JournalReader, NotAJournal
    from ..journal.source import called, opened

    try:
        with opened(name, progress_of) as file:
            yield JournalReader(file)
    except NotAJournal as bad:
        raise CannotRead(f"{called(name)}: {bad}") from None
    except BrokenPipeError:  # This error comes from writing the output, not from reading the journal.
        raise
    except OSError as trouble:
        raise CannotRead(f"{called(name)}: {trouble.strerror or trouble}") from None


def end_of(name: str, flag: str) -> int:
    """Return the time of a journal's last row (ns of the run). `flag` names the option in an error. Raises CannotRead."""
    from ..journal.source import STANDARD

    if name == STANDARD:
        raise CannotRead(f"standard input is read once, so where it ends is not known beforehand: {flag} -SECONDS is for files")
    with reading(name, "looking for the end of") as journal:
        return max((row.t for row in journal), default=0)


def for_every_journal(verb: str, words: Iterable[str], do: Callable[[str, int], int]) -> int:
    """Call `do` with the name of each journal and the number of journals. An unreadable journal is reported on stderr and skipped.
    Returns the exit code that ranks first in `WORST`."""
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
    """Return one line of JSON in printable ASCII, because a journal's names may contain terminal controls."""
    from ..text.printable import ascii_json

    return ascii_json(json.dumps(value).encode()).decode()


def notices(reader: JournalReader) -> list[str]:
    """Return sentences without full stops about the rows that are missing in a journal that was read to its end."""
    broken = reader.broken
    more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
    lines = [f"line {broken[0].line} is no row{more}: {broken[0].reason}"] if broken else []
    return lines + ([reader.unfinished] if reader.unfinished is not None else [])
