"""Log lines on stderr, rendered from journal rows by structlog. `text`: a sentence a line; `json`: the row's fields, one object a line, in
printable ASCII. No text of a peer makes a line of its own or reaches the terminal as a command (`groupmock.printable`).

Which rows are worth a line: what happened to groups and members, connections that were refused, faults, commands, notes. Requests
and replies are in the journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Final

import msgspec

from ..journal.journal import Sink
from ..journal.rows import DISCONNECTED, END, HTTP_REQUEST, LEFT_OUT, TLS_HELLO, CloseRow, FindingRow, NoteRow, ReplyRow, RequestRow, Row
from ..printable import ascii_json

KINDS: Final = frozenset(("abandoned", "close", "command", "fault", "finding", "member", "moved", "note", "request", "reply"))
NEVER_SHOWN: Final = frozenset(("raw", "message"))
EventDict = MutableMapping[str, Any]


class LogSink(Sink):
    """Writes to stderr. structlog is loaded at the first line, so that a server starts without it."""

    kinds = KINDS

    def __init__(self, form: str) -> None:
        if form not in ("text", "json"):
            raise ValueError(f"no such log: {form!r}: there are text and json")
        self._form = form
        self._logger: Any = None
        self._strangers = dict.fromkeys(STRANGERS, 0)

    def take(self, row: Row) -> None:
        """A line, if the row is worth one."""
        level = level_of(row)
        if level is None:
            return
        times = self._times(row)
        if not _is_power_of_ten(times):
            return
        if self._logger is None:
            self._logger = _logger(self._form)
        from ..story.sentences import sentence  # with the first line, as structlog

        getattr(self._logger, level)(sentence(row) + (f" ({times} times so far)" if times > 1 else ""), row=row)

    def _times(self, row: Row) -> int:
        """How often a peer of that kind was closed so far, this one included; 1 for any other row."""
        if not isinstance(row, CloseRow) or row.reason not in self._strangers:
            return 1
        self._strangers[row.reason] += 1
        return self._strangers[row.reason]


STRANGERS: Final = (TLS_HELLO, HTTP_REQUEST)
"""Reasons of which the 1st, the 10th, the 100th, ... has a line: such a peer comes again and again, and says nothing new."""


def _is_power_of_ten(times: int) -> bool:
    return str(times).rstrip("0") == "1"


# Every first JoinGroup of a dynamic member meets the one (KIP-394), and by the other members learn of a round.
EXPECTED: Final = frozenset(("MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS"))
"""Errors that every healthy group sees."""
UNSAID: Final = frozenset((END, DISCONNECTED))
NOTES: Final = {"internal error": "error", LEFT_OUT: "warning"}
ORDERLY: Final = ("the server",)


def level_of(row: Row) -> str | None:
    """debug, info, warning or error; None: not worth a line."""
    judge = JUDGES.get(row.__class__)
    return "info" if judge is None else judge(row)


def _request(row: RequestRow) -> str | None:
    return "warning" if row.note else None


def _reply(row: ReplyRow) -> str | None:
    if not row.error:
        return None
    told = {each.error for each in row.errors} if row.errors else {row.error}
    return None if told <= EXPECTED else "info"


def _close(row: CloseRow) -> str | None:
    return "warning" if row.by == "server" and not row.reason.startswith(ORDERLY) else None


def _note(row: NoteRow) -> str | None:
    return None if row.what in UNSAID else NOTES.get(row.what, "info")


def _finding(row: FindingRow) -> str:
    return "warning" if row.waived is None else "info"


JUDGES: Final[dict[type[Row], Callable[[Any], str | None]]] = {
    RequestRow: _request, ReplyRow: _reply, CloseRow: _close, NoteRow: _note, FindingRow: _finding,
}  # fmt: skip


def _logger(form: str) -> Any:
    """structlog without its `dev` part, which would load rich and cost a start 70 ms."""
    import structlog

    last = _as_text if form == "text" else _as_json
    return structlog.wrap_logger(
        _Stderr(),
        processors=[structlog.processors.add_log_level, last],
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
    row: Row = event["row"]
    from ..story.sentences import at

    return f"{at(row)} {event['level']:<7} {event['event']}"


def _as_json(_: object, __: str, event: EventDict) -> str:
    row: Row = event["row"]
    told: Mapping[str, Any] = msgspec.to_builtins(row)
    fields = {name: value for name, value in told.items() if name not in NEVER_SHOWN}
    return ascii_json(msgspec.json.encode({"level": event["level"], "event": event["event"], **fields})).decode()


__all__ = ["LogSink", "level_of"]
