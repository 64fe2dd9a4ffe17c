"""Say during a run which clients TLS, SASL or the authorizer did not let in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text.printable import one_line

if TYPE_CHECKING:
    from ..journal.ring import Ring
    from ..story.not_let_in import NotLetIn


class RefusedClients:
    """Reads the rows in memory as far as they are new, whenever somebody asks."""

    def __init__(self, ring: Ring | None) -> None:
        self._ring = ring
        self._reader: NotLetIn | None = None
        self._read = 0  # The number of rows that were read, or dropped unread.

    def sentences(self) -> list[str]:
        """Return a sentence for each client that was not let in, or lacks a right: why, and what to do."""
        if self._ring is None:
            return []
        if self._reader is None:
            from ..story.not_let_in import NotLetIn  # A server that nobody asks does not load the code about stories.

            self._reader = NotLetIn()
        for row in self._ring.after(self._read):
            self._reader.feed(row)
        self._read = self._ring.taken
        return list(map(one_line, self._reader.sentences()))
