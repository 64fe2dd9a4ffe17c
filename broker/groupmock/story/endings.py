"""Report the end of a member's connection late, because the client may come back on another connection, as some clients do in each
generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ..journal.rows import CloseRow
from .folding import Line
from .people import Person
from .words import shortened

SOON: Final = 1_000_000_000
"""The time in ns within which a client that only changes its connection is back."""


class Ended(NamedTuple):
    """Tells of a connection that ended: when (`at`, ns), what happened (`text`), what the group does about it (`waits`), and whether the
    client ended it (`by_client`)."""

    at: int
    text: str
    waits: str
    by_client: bool


class Endings:
    """Keeps ended connections by member id while the client may come back."""

    def __init__(self) -> None:
        self._open: dict[str, Ended] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, person: Person, row: CloseRow) -> None:
        how = "by the client" if row.by == "client" else f"by the server: {shortened(row.reason)}"
        session = f" ({person.session_ms} ms)" if person.session_ms else ""
        waits = f"the group keeps its {person.owned_kind} until its session expires{session}"
        self._open[person.member_id] = Ended(row.t, f"{person.name}'s connection ends ({how})", waits, row.by == "client")

    def back(self, member_id: str) -> Iterator[Line]:
        """Note that the member sent a request on another connection. The end of its old connection is still reported if the server
        caused it."""
        ended = self._open.pop(member_id, None)
        if ended is not None and not ended.by_client:
            yield Line(ended.at, ended.text, (member_id,))

    def gone(self, member_id: str) -> Iterator[Line]:
        """Report the end of the member's connection, because the member was removed."""
        if member_id in self._open:
            yield self._told(member_id)

    def overdue(self, now: int) -> Iterator[Line]:
        """Report the connections whose members were not back soon. `now` is in ns of the run."""
        for member_id in [member_id for member_id, ended in self._open.items() if now > ended.at + SOON]:
            yield self._told(member_id)

    def rest(self, kept: bool = True) -> Iterator[Line]:
        """Report all connections that ended and are not reported yet. `kept` says that the group still waits for their members."""
        for member_id in list(self._open):
            yield self._told(member_id, kept)

    def _told(self, member_id: str, kept: bool = True) -> Line:
        ended = self._open.pop(member_id)
        return Line(ended.at, f"{ended.text} and it has not left: {ended.waits}" if kept else ended.text, (member_id,))
