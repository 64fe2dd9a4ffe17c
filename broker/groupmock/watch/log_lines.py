"""A line of the log, and the simplest maker of lines, which makes one for each row that deserves a line (`--log rows`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from ..journal.journal import NEVER
from ..journal.rows import Row
from .levels import Strangers, level_of

NEVER_SHOWN: Final = frozenset(("raw", "message"))


class LogLine(msgspec.Struct, frozen=True):
    """One line of the log. `at` is ns of the run; `level` is info, warning or error; `text` is one printable line without its time;
    `about` is the row, or fields with a `kind`."""

    at: int
    level: str
    text: str
    about: Row | Mapping[str, Any]

    def fields(self) -> Mapping[str, Any]:
        """Return the line's fields for programs, without frames and messages."""
        if not isinstance(self.about, Row):
            return self.about
        values: Mapping[str, Any] = msgspec.to_builtins(self.about)
        return {name: value for name, value in values.items() if name not in NEVER_SHOWN}


class LineMaker(Protocol):
    """Makes log lines from rows. `due` is the run time (ns) at which a line is due even if no row comes."""

    due: int

    def tell(self, row: Row) -> Iterator[LogLine]:
        """Yield the log lines of the next row, in the journal's order."""

    def overdue(self, now: int) -> Iterator[LogLine]:
        """Yield the log lines that are due at `now`."""

    def rest(self, now: int | None = None) -> Iterator[LogLine]:
        """Yield the remaining log lines, because no more rows come. `now` is in ns of the run; None means the time of the last row."""


class EveryRow:
    """Makes one log line for each row that has a level."""

    due = NEVER

    def __init__(self) -> None:
        self._strangers = Strangers()

    def tell(self, row: Row) -> Iterator[LogLine]:
        level = level_of(row)
        if level is None or (times := self._strangers.told(row)) is None:
            return
        from ..story.sentences import sentence  # This import waits for the first line, because a server should start without it.

        yield LogLine(row.t, level, sentence(row) + times, row)

    def overdue(self, now: int) -> Iterator[LogLine]:
        yield from ()

    def rest(self, now: int | None = None) -> Iterator[LogLine]:
        yield from ()
