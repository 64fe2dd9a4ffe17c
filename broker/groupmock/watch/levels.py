"""Decide which rows have a line in the log, and at which level: events of groups and members, refused connections, faults, commands and
notes. Other requests and replies are in the journal only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from groupmock_codec.api_keys import API_VERSIONS

from ..journal.rows import (
    DISCONNECTED,
    END,
    HTTP_REQUEST,
    LEFT_OUT,
    OF_SASL_LISTENERS,
    REMEDIES,
    TLS_HELLO,
    UNSERVED,
    CloseRow,
    FindingRow,
    NoteRow,
    ReplyRow,
    RequestRow,
    Row,
    remedy_of,
)
from ..journal.whose import asks_again

KINDS: Final = frozenset(("abandoned", "close", "command", "fault", "finding", "member", "moved", "note", "request", "reply"))
# The first JoinGroup of each dynamic member is answered MEMBER_ID_REQUIRED (KIP-394), and a rebalance announces itself to the other members
# by REBALANCE_IN_PROGRESS.
EXPECTED: Final = frozenset(("MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS"))
"""Errors that also occur in every healthy group."""
UNSAID: Final = frozenset((END, DISCONNECTED))
NOTES: Final = {"internal error": "error", LEFT_OUT: "warning"}
ORDERLY: Final = ("the server",)
ROUNDS: Final = frozenset((11, 14))
"""The API keys of JoinGroup and SyncGroup, from whose rows, refused or not, the lines about rebalances are made."""
STRANGERS: Final = frozenset((TLS_HELLO, HTTP_REQUEST, *UNSERVED.values(), *REMEDIES.values()))
"""Reasons and remedies that get a line only for the 1st, 10th, 100th occurrence and so on, because such a client tries the same again
and again."""


def level_of(row: Row) -> str | None:
    """Return the level of a row (debug, info, warning or error), or None for a row without a line."""
    judge = JUDGES.get(row.__class__)
    if judge is not None:
        return judge(row)
    return "info" if row.__struct_config__.tag in KINDS else None


def _request(row: RequestRow) -> str | None:
    return "warning" if row.note and row.api_key != API_VERSIONS else None


def _reply(row: ReplyRow) -> str | None:
    # The row of the close that follows a failed authentication says more than the answer.
    if not row.error or asks_again(row) or row.error in OF_SASL_LISTENERS:
        return None
    if remedy_of(row) is not None:
        return "warning"
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


def of_log(row: Row) -> bool:
    """True for rows that have a line in the short log, and for rows from which the lines about rebalances are made."""
    return level_of(row) is not None or getattr(row, "api_key", None) in ROUNDS


def read_by_log(row: Row) -> bool:
    """True for rows that the short log reads: those of `of_log`, and the end of a connection."""
    return isinstance(row, CloseRow) or of_log(row)


NOT_LET_IN: Final = (
    "plain bytes instead of a TLS handshake", "the TLS handshake failed", "a TLS handshake of more than", "too many TLS handshakes",
    "the client began a TLS renegotiation", "the client changed its SASL mechanism", "SASL ", "a request before the SASL handshake",
    "a request instead of the SASL token", "a second SASL handshake", "a second ApiVersions", "the session has ended", "frame length",
)  # fmt: skip
"""The reasons for which TLS and SASL do not let a client in begin with these words. They are counted like `STRANGERS`."""
MOST_REASONS: Final = 100
"""At most this many different reasons are counted each for itself, because a peer may put any name into them."""


class Strangers:
    """Counts clients that ask for what is not served, such as another protocol, SASL, ACLs or another type of group, and clients that
    TLS or SASL did not let in."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def told(self, row: Row) -> str | None:
        """Return the text that follows a row's line, usually "": the remedy, and how often such a client came. None means that this row
        has no line."""
        remedy = remedy_of(row) if isinstance(row, ReplyRow) else None
        what = row.reason if isinstance(row, CloseRow) else remedy
        if what not in STRANGERS and not (isinstance(row, CloseRow) and row.by == "server" and row.reason.startswith(NOT_LET_IN)):
            return ""
        assert what is not None
        if what not in self._times and len(self._times) >= MOST_REASONS:
            what = next((begin for begin in NOT_LET_IN if what.startswith(begin)), what)
        self._times[what] += 1
        times = self._times[what]
        if str(times).rstrip("0") != "1":
            return None
        return (f": {remedy}" if remedy else "") + (f" ({times} times so far)" if times > 1 else "")
