"""Writes log lines to stderr, which structlog makes from journal rows. `text` has one sentence per line and one line per rebalance
(`shortened`), and `json` has the same as objects, in printable ASCII. `rows` and `json-rows` have one line per row. Texts of peers are
escaped, so that they neither begin lines of their own nor reach the terminal as commands (`groupmock.text.printable`)."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from importlib import import_module
from typing import Any, Final

import msgspec

from ..journal.journal import NEVER, Alarm, Sink
from ..journal.rows import CommandRow, NoteRow, Row
from ..text.printable import ascii_json
from .levels import KINDS, ROUNDS, level_of, of_log
from .log_lines import EveryRow, LineMaker, LogLine

FORMS: Final = ("text", "json", "rows", "json-rows")
EventDict = MutableMapping[str, Any]
MOST_KEPT: Final = 10_000
"""The number of rows before `loaded` after which their lines are written at once, because nothing else bounds the memory of waiting
rows."""


class LogSink(Sink):
    """A sink that writes log lines to stderr.

    structlog and the story's sentences are imported for the first line, and the code about groups for the first row of a group, unless
    `load` was called before. So a server starts without them and loads them soon after. With `alarm` and `now`, a long rebalance is
    reported even if no row comes. Raises ValueError for an unknown form."""

    kinds = KINDS

    def __init__(self, form: str, alarm: Alarm | None = None, now: Callable[[], int] = lambda: 0) -> None:
        if form not in FORMS:
            raise ValueError(f"no such log: {form!r}: there are {', '.join(FORMS)}")
        self._json = form.startswith("json")
        self._lines: LineMaker | None = EveryRow() if form.endswith("rows") else None
        if self._lines is None:
            self.apis = ROUNDS
        self._logger: Any = None
        self._kept: deque[Row] | None = None
        self._alarm, self._now = alarm, now
        if alarm is not None:
            alarm.ring = self._look

    def load(self) -> None:
        """Import now what the first line and the first row of a group need, because that takes longer than a client should wait."""
        self._logger = self._logger or _logger(self._json)
        import_module(".shortened" if self._lines is None else "..story.sentences", __package__)

    def put_off(self) -> None:
        self._kept = deque()

    def loaded(self) -> Iterator[None]:
        """Write the log lines of the rows that were kept until structlog was imported. From then on the lines of each row are written at
        once."""
        while self._kept:
            self._tell(self._kept.popleft())
            yield
        self._kept = None

    def take(self, row: Row) -> None:
        """Write the log lines of a row."""
        if self._kept is None:
            self._tell(row)
            return
        self._kept.append(row)
        if len(self._kept) > MOST_KEPT:
            self._tell_kept()

    def _tell_kept(self) -> None:
        for _ in self.loaded():
            pass

    def _tell(self, row: Row) -> None:
        if self._lines is None:
            if not of_log(row):
                return
            # The rows of a server's start precede any group, so the code about groups is not imported for them.
            if isinstance(row, CommandRow | NoteRow):
                from ..story.sentences import plain

                self._write([LogLine(row.t, level_of(row) or "info", plain(row), row)])
                return
            from .shortened import Shortened

            self._lines = Shortened()
        self._write(self._lines.tell(row))
        self._set()

    def end(self, now: int) -> None:
        """Write the rebalances that have not ended, because the run ends."""
        self._finish(now)

    def close(self) -> None:
        """Write the rebalances that have not ended, if `end` was not called before."""
        self._finish()

    def _finish(self, now: int | None = None) -> None:
        self._tell_kept()
        if self._alarm is not None:
            self._alarm.cancel()
        if self._lines is not None:
            self._write(self._lines.rest(now))

    def _look(self) -> None:
        if self._lines is not None and self._lines.due <= (now := self._now()):
            self._write(self._lines.overdue(now))
        self._set()

    def _set(self) -> None:
        if self._alarm is not None and self._lines is not None and self._lines.due != NEVER:
            self._alarm.set(self._lines.due)

    def _write(self, lines: Iterable[LogLine]) -> None:
        for line in lines:
            if self._logger is None:
                self._logger = _logger(self._json)
            getattr(self._logger, line.level)(line.text, line=line)


def _logger(as_json: bool) -> Any:
    """Return a structlog logger that writes text or JSON. It is made late, because structlog imports rich if that is installed, which
    takes more than 100 ms."""
    import structlog

    return structlog.wrap_logger(
        _Stderr(),
        processors=[structlog.processors.add_log_level, _as_json if as_json else _as_text],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=True,
    )


class _Stderr:
    """Writes to file descriptor 2 directly, because a replaced sys.stderr could lose lines in its buffer, and a missing one could end
    the server."""

    def msg(self, text: str) -> None:
        """Write one line to stderr."""
        try:
            os.write(2, text.encode("utf-8", "replace") + b"\n")
        except OSError:  # The reader of the log has ended, but that is no reason to stop serving.
            pass

    debug = info = warning = error = msg


def _as_text(_: object, __: str, event: EventDict) -> str:
    line: LogLine = event["line"]
    from ..story.words import seconds

    return f"{seconds(line.at):>9} s {event['level']:<7} {event['event']}"


def _as_json(_: object, __: str, event: EventDict) -> str:
    line: LogLine = event["line"]
    return ascii_json(msgspec.json.encode({"level": event["level"], "event": event["event"], **line.fields()})).decode()


__all__ = ["FORMS", "LogSink"]
