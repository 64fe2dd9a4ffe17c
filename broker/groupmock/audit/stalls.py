"""Add up how long the broker was held up while requests waited, so that a client is not blamed for a pause that was the broker's.

A broker writes down when it read a request, not when the request arrived. A broker that is held up, for instance because the machine has
other work, reads late, and a request that was sent at once seems to come long after an answer. Two things show this in a journal: a request
that had been read is handled late, although nothing else happened meanwhile, and an answer is written long after it was made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock_codec.units import NS_PER_MS

if TYPE_CHECKING:
    from ..journal.rows import ReplyRow, RequestRow

LONG_NS: Final = 5 * NS_PER_MS
"""Shorter pauses do not count. A broker that answers many requests in a row reads all connections more often than this."""


class Stalls:
    """Knows how long (ns) the broker was held up since the journal began (`total`). Only rows that rules see are counted, because a running
    broker makes no rows of repeated heartbeats, and the verdicts are the same."""

    __slots__ = ("_latest", "total")

    def __init__(self) -> None:
        self.total = 0
        self._latest = 0

    def asked(self, row: RequestRow) -> int:
        """Note a request that is handled, and return the total."""
        if row.received <= self._latest and row.t - self._latest > LONG_NS:
            self.total += row.t - self._latest
        self._latest = max(self._latest, row.t)
        return self.total

    def stepped(self, ns: int) -> None:
        """Note that a command moved the broker's clock on, which is no time of any client."""
        self.total += ns

    def replied(self, row: ReplyRow) -> int:
        """Note an answer, and return the total when it was written."""
        self._latest = max(self._latest, row.t)
        if row.written is not None:
            if row.written - self._latest > LONG_NS:
                self.total += row.written - self._latest
            self._latest = max(self._latest, row.written)
        return self.total
