"""Show the progress of long work as one line on stderr that is rewritten. It is shown on a terminal only, and short work shows nothing."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TextIO

from .printable import one_line

FIRST_S: Final = 0.5
"""Work that takes no longer than this shows no line."""
EVERY_S: Final = 0.2
ERASE: Final = "\r\x1b[K"
COLUMNS: Final = 80
"""The width of a terminal that does not tell its own."""
MEGABYTE: Final = 1_000_000


class RewrittenLine:
    """The last line of a terminal, which each text replaces. `terminal` is false if the output is a file or a pipe."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = sys.stderr if out is None else out
        self.terminal = self.out.isatty()

    def write(self, text: str) -> None:
        """Replace the line, cut to the width of the terminal."""
        try:
            columns = os.get_terminal_size(self.out.fileno()).columns or COLUMNS
        except (OSError, ValueError):  # A pseudo terminal may have no size, and a replaced stderr no descriptor.
            columns = COLUMNS
        self.out.write(f"{ERASE}{one_line(text)[: columns - 1]}")
        self.out.flush()

    def erase(self) -> None:
        if self.terminal:
            self.out.write(ERASE)
            self.out.flush()


class Progress:
    """The progress of one piece of work: `audit: 3 of 40 situations, 7 %, 12 min left: killed`. As a context manager it erases its line at
    the end. `total` is in `unit`, bytes if the unit is ""."""

    def __init__(
        self, what: str, total: int, unit: str = "", out: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._total, self._unit, self._clock = what, total, unit, clock
        self._line = RewrittenLine(out)
        self._began = clock()
        self._next = self._began + FIRST_S

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.erase()

    def at(self, done: int, doing: str = "") -> None:
        """Show how much is done, and what is done now. Most calls write nothing, so this may be called often."""
        if self._line.terminal and self._clock() >= self._next:
            self.show(done, doing)

    def show(self, done: int, doing: str = "") -> None:
        """Show how much is done at once, for work whose steps are long."""
        if self._line.terminal:
            now = self._clock()
            self._next = now + EVERY_S
            self._line.write(self.text(done, doing, now - self._began))

    def erase(self) -> None:
        """Remove the line, because something else is written to the terminal or the work is over."""
        self._line.erase()

    def text(self, done: int, doing: str, seconds: float) -> str:
        """Return the line after so many seconds of work."""
        if self._unit:
            told = f"{self._what}: {done} of {self._total} {self._unit}"
        else:
            told = f"{self._what}: {done / MEGABYTE:,.1f} of {self._total / MEGABYTE:,.1f} MB"
        if 0 < done < self._total:
            told += f", {100 * done // self._total} %, {_time(seconds * (self._total - done) / done)} left"
        return f"{told}: {doing}" if doing else told


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class WatchedFile(io.FileIO):
    """A file that shows how much of it has been read. Packed files count their packed bytes."""

    def __init__(self, path: str | Path, what: str) -> None:
        super().__init__(path)
        self._read = 0
        self.progress = Progress(what, os.fstat(self.fileno()).st_size)

    def readinto(self, buffer: Any, /) -> int | None:
        count = super().readinto(buffer)
        self._read += count or 0
        self.progress.at(self._read)
        return count

    def close(self) -> None:
        if not self.closed:
            self.progress.erase()
        super().close()
