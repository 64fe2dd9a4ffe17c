"""Log lines on stderr, rendered from journal rows by structlog. `text`: a sentence a line, a line per rebalance (`shortened`); `json`: the
same as objects, in printable ASCII; `rows`, `json-rows`: a line per row that is worth one. No text of a peer makes a line of its own or
reaches the terminal as a command (`groupmock.text.printable`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, MutableMapping
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


class LogSink(Sink):
    """Writes to stderr. structlog and the words of the story are loaded with the first line, what tells of groups with the first
    row of one, unless `load` was called before: a server starts without, and loads them soon after. `alarm`, `now`: by them a rebalance
    that lasts is told of though no row comes (None: only when one comes). Raises ValueError for a form that there is not."""

    kinds = KINDS

    def __init__(self, form: str, alarm: Alarm | None = None, now: Callable[[], int] = lambda: 0) -> None:
        if form not in FORMS:
            raise ValueError(f"no such log: {form!r}: there are {', '.join(FORMS)}")
        self._json = form.startswith("json")
        self._lines: LineMaker | None = EveryRow() if form.endswith("rows") else None
        if self._lines is None:
            self.apis = ROUNDS
        self._logger: Any = None
        self._alarm, self._now = alarm, now
        if alarm is not None:
            alarm.ring = self._look

    def load(self) -> None:
        """Import now what the first line and the first row of a group would import: that takes longer than a client should wait."""
        self._logger = self._logger or _logger(self._json)
        import_module(".shortened" if self._lines is None else "..story.sentences", __package__)

    def take(self, row: Row) -> None:
        """The lines that come of it."""
        if self._lines is None:
            if not of_log(row):
                return
            if isinstance(row, CommandRow | NoteRow):  # those of the start, before any group: a server starts without the rest
                from ..story.sentences import plain

                self._write([LogLine(row.t, level_of(row) or "info", plain(row), row)])
                return
            from .shortened import Shortened

            self._lines = Shortened()
        self._write(self._lines.tell(row))
        self._set()

    def end(self, now: int) -> None:
        """What is under way is said."""
        self._finish(now)

    def close(self) -> None:
        """The same, where nobody said that the end comes."""
        self._finish()

    def _finish(self, now: int | None = None) -> None:
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
    """structlog loads rich where that is installed, and takes more than 100 ms then."""
    import structlog

    return structlog.wrap_logger(
        _Stderr(),
        processors=[structlog.processors.add_log_level, _as_json if as_json else _as_text],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=True,
    )


class _Stderr:
    """File descriptor 2 itself: a log line must not get lost in the buffers of a replaced sys.stderr, nor end a server without one."""

    def msg(self, text: str) -> None:
        """One line."""
        try:
            os.write(2, text.encode("utf-8", "replace") + b"\n")
        except OSError:  # nobody reads our log: that is no reason to stop serving
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
