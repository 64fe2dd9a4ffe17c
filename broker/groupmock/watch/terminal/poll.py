"""Polls the control API for the present state and for the journal's tail as it grows.

A cluster that was reset, or another one at the same address, numbers its rows from 1 again. Then the tail begins anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from ...control.client import NobodyAnswers, Refused, address_of
from ...journal.read import row_of
from ...journal.rows import Row
from ...story.sentences import sentence
from ..levels import level_of
from ..log_lines import LogLine
from ..shortened import Shortened

KEPT: Final = 2000
"""At most this many lines of the log's tail are kept."""
AT_FIRST: Final = 10_000
"""The first poll reads at most this many of the rows that are already in memory."""
AT_ONCE: Final = 500
"""One poll reads at most this many rows of any kind, because a busy cluster has more than anybody reads."""
GROUPS: Final = 50
"""The members of at most this many groups are asked for when all groups are wanted."""
TRANSACTIONS: Final = 50
"""At most this many transactional ids are shown, those with an open transaction first."""
LAGS: Final = 8
"""The lag of at most this many groups is asked for even if they are not selected."""
NOT_AUDITED: Final = 409
GONE: Final = 404


class Asks(Protocol):
    """The methods of the control API's client (`control.client.ControlClient`) that a poll needs."""

    def ask(self, method: str, address: str, data: bytes | None = None, load: Callable[[bytes], Any] = ...) -> Any:
        """Ask a route of the control API and return its answer. Raises NobodyAnswers, Refused."""


class _Found(msgspec.Struct):
    dropped: int
    rows: list[msgspec.Raw]


_found: Final = msgspec.json.Decoder(_Found)


@dataclass
class Group:
    """The answers about one group. `row` is its row of GET /groups; `details` and `lag` are answers of GET /groups/{group} and /lag,
    None if they were not asked for or the group was gone; `under_way` describes its running rebalance, or is ""."""

    row: dict[str, Any]
    details: dict[str, Any] | None = None
    lag: dict[str, Any] | None = None
    under_way: str = ""


@dataclass
class Snapshot:
    """The answers of GET /health, /groups, /transactions, /faults and /audit/clients (None without an audit), as JSON data."""

    health: dict[str, Any]
    groups: list[Group] = field(default_factory=list)
    transactions: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] | None = None


class Poll:
    """Polls a cluster and keeps the tail of its log. `lines` is the log's tail; `every` has a line for each row, while `every_row` is
    set; `begins` counts how often the tail began anew."""

    def __init__(self, api: Asks) -> None:
        self._api = api
        self.every_row = False
        self.begins = 0
        self._last = self._last_every = self._at = 0
        self._begin(0)

    def look(self, group: str | None = None, everything: bool = False) -> Snapshot:
        """Poll once, as `_look` does. Raises NobodyAnswers also for an answer that a control API would not give."""
        try:
            return self._look(group, everything)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as odd:
            raise NobodyAnswers(f"what answers there is no control API of this version: {type(odd).__name__}: {odd}") from odd

    def _look(self, group: str | None, everything: bool) -> Snapshot:
        """Ask the control API for the state of the cluster once. `group` is the group whose members are wanted (None: no group's);
        `everything`: those of all groups. Raises NobodyAnswers, Refused."""
        health = self._get("/health")
        if health["seq"] < self._last or health["t"] < self._at:
            self._begin(self.begins + 1)
        self._at = health["t"]
        self._read()
        under = self._lines_of.open(health["t"])
        groups = [Group(row, under_way=under.get(row["group_id"], "")) for row in self._get("/groups")]
        for place, each in enumerate(groups):
            if each.row["group_id"] == group or (everything and place < GROUPS):
                self._fill(each)
            elif place < LAGS:
                each.lag = self._asked("/groups/{group}/lag", each)
        transactions = sorted(self._get("/transactions"), key=lambda each: each["open_ms"] is None)
        return Snapshot(health, groups, transactions[:TRANSACTIONS], self._get("/faults"), self._findings())

    def _begin(self, begins: int) -> None:
        self.begins = begins
        self.lines: deque[LogLine] = deque(maxlen=KEPT)
        self.every: deque[LogLine] = deque(maxlen=KEPT)
        self.told = self.told_every = 0  # Counts all lines so far, even those that are no longer kept.
        self._lines_of = Shortened()
        self._last = self._last_every = self._at = 0

    def _get(self, path: str, parameters: dict[str, Any] | None = None, **query: Any) -> Any:
        return self._api.ask("GET", address_of(f"/v1{path}", parameters or {}, query))

    def _fill(self, group: Group) -> None:
        group.details = self._asked("/groups/{group}", group, story="false")
        group.lag = self._asked("/groups/{group}/lag", group)

    def _asked(self, path: str, group: Group, **query: Any) -> Any:
        """Ask the control API about a group. Returns None if the group no longer exists."""
        try:
            return self._get(path, {"group": group.row["group_id"]}, **query)
        except Refused as refused:
            if refused.status != GONE:
                raise
            return None

    def _findings(self) -> list[dict[str, Any]] | None:
        try:
            return list(self._get("/audit/clients", waived="false"))
        except Refused as refused:
            if refused.status != NOT_AUDITED:
                raise
            return None

    def _read(self) -> None:
        """Read the new rows and append their lines to the tail."""
        for row in self._rows(self._last, AT_FIRST, log="true"):
            self._last = row.seq
            for line in self._lines_of.tell(row):
                self.lines.append(line)
                self.told += 1
        if not self.every_row:
            return
        for row in self._rows(self._last_every, AT_ONCE):
            self._last_every = row.seq
            self.every.append(LogLine(row.t, level_of(row) or "debug", sentence(row), row))
            self.told_every += 1

    def _rows(self, since: int, most: int, **query: Any) -> list[Row]:
        found: _Found = self._api.ask(
            "GET", address_of("/v1/journal/find", {}, {"since": since, "limit": most, **query}), load=_found.decode
        )
        return [row for row in map(row_of, found.rows) if row is not None]
