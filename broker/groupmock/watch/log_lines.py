"""What a line of the log is, and the plainest way to make lines: one per row that is worth it (`--log rows`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from ..journal.journal import NEVER
from ..journal.rows import Row
from .levels import Strangers, level_of

NEVER_SHOWN: Final = frozenset(("raw", "message"))


class LogLine(NamedTuple):
    """`at`: ns of the run; `level`: info, warning or error; `text`: one printable line without its time; `about`: the row, or the fields
    of what it tells instead, with their `kind`."""

    at: int
    level: str
    text: str
    about: Row | Mapping[str, Any]

    def fields(self) -> Mapping[str, Any]:
        """For a program: the row's, frames and messages left out."""
        if not isinstance(self.about, Row):
            return self.about
        told: Mapping[str, Any] = msgspec.to_builtins(self.about)
        return {name: value for name, value in told.items() if name not in NEVER_SHOWN}


class LineMaker(Protocol):
    """Rows to lines. `due`: when there is something to tell though no row comes (ns of the run)."""

    due: int

    def tell(self, row: Row) -> Iterator[LogLine]:
        """The lines that come of one more row, in the journal's order."""

    def overdue(self, now: int) -> Iterator[LogLine]:
        """What is due at `now` or was before."""

    def rest(self, now: int | None = None) -> Iterator[LogLine]:
        """What is not told yet: there are no more rows. `now`: ns of the run, None: the last row's."""


class EveryRow:
    """A line per row that is worth one."""

    due = NEVER

    def __init__(self) -> None:
        self._strangers = Strangers()

    def tell(self, row: Row) -> Iterator[LogLine]:
        """See `LineMaker`."""
        level = level_of(row)
        if level is None or (times := self._strangers.told(row)) is None:
            return
        from ..story.sentences import sentence  # with the first line: a server starts without it

        yield LogLine(row.t, level, sentence(row) + times, row)

    def overdue(self, now: int) -> Iterator[LogLine]:
        """Nothing is."""
        yield from ()

    def rest(self, now: int | None = None) -> Iterator[LogLine]:
        """Nothing waits."""
        yield from ()
