"""Listeners follow the journal's rows, each at its own pace. Nothing is sent to a listener: each reads the ring (`journal.ring`) and
remembers only how far it has come. So a slow listener costs no memory and no time of the loop, and it learns how many rows it has
missed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..journal.journal import Sink
from ..journal.ring import Ring
from ..journal.rows import Row
from .arrivals import TooMany

if TYPE_CHECKING:
    from ..journal.journal import Journal

MAX_LISTENERS: Final = 32
"""At most this many listeners follow the journal at a time; a live page takes two of them."""
AT_ONCE: Final = 200
"""The number of rows that a listener gets at once, which takes some milliseconds of the loop's time."""


class Listeners(Sink):
    """The listeners that follow the journal of one cluster. It is a sink of the journal while there are any, to learn of new rows."""

    routine = True

    def __init__(self, journal: Journal, ring: Ring) -> None:
        self.journal, self.ring = journal, ring
        self.over = False
        self._news = asyncio.Event()
        self._here: set[Listener] = set()

    def __len__(self) -> int:
        return len(self._here)

    def listen(self) -> Listener:
        """Add a listener that begins with the next row. Raises TooMany."""
        if len(self._here) >= MAX_LISTENERS:
            raise TooMany(f"{MAX_LISTENERS} listen already: let one of them end, or ask /v1/journal/find now and then")
        if not self._here:
            self.journal.add(self)
        listener = Listener(self)
        self._here.add(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """Remove a listener that has ended."""
        self._here.discard(listener)
        if not self._here and not self.over:
            self.journal.remove(self)

    def take(self, row: Row) -> None:
        """Wake the waiting listeners, which read the new rows at the end of this turn."""
        self._news.set()

    def close(self) -> None:
        """Wake the waiting listeners, because the run is over."""
        self.over = True
        self._news.set()

    async def news(self, taken: int, seconds: float) -> bool:
        """Wait until the run has more than `taken` rows or is over. Returns False if neither happens within `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                while self.ring.taken <= taken and not self.over:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        return True


class Listener:
    """A reader of the rows in memory, which goes on at its own pace. `taken` is the number of rows of the run that it has passed."""

    def __init__(self, among: Listeners) -> None:
        self._among = among
        self.taken = among.ring.taken

    def back_to(self, seq: int) -> int:
        """Go back to the row with that number. Returns how many rows after it are no longer kept, as far as that is known."""
        ring = self._among.ring
        newer = 0
        for row in reversed(ring.rows):
            if row.seq <= seq:
                break
            newer += 1
        self.taken = ring.taken - newer
        # Row numbers that are missing belong to heartbeats that changed nothing.
        return max(0, ring.rows[0].seq - seq - 1) if ring.dropped and newer == len(ring.rows) else 0

    def back_by(self, rows: int) -> None:
        """Go back by this many rows, but not to rows that are no longer kept."""
        self.taken -= min(rows, len(self._among.ring.rows))

    def lost(self) -> int:
        """Skip the rows that are no longer kept, and return their number."""
        dropped = max(0, self._among.ring.dropped - self.taken)
        self.taken += dropped
        return dropped

    def next(self) -> list[Row]:
        """Return the next few rows, the oldest first, or [] without new rows."""
        rows = self._among.ring.after(self.taken, AT_ONCE)
        self.taken += len(rows)
        return rows

    def up_to(self, taken: int) -> Iterator[list[Row]]:
        """Yield the rows up to row number `taken` of the run, some at a time."""
        while self.taken < taken and (rows := self._among.ring.after(self.taken, min(AT_ONCE, taken - self.taken))):
            self.taken += len(rows)
            yield rows

    @property
    def behind(self) -> bool:
        """True if there are rows that this listener has not read."""
        return self._among.ring.taken > self.taken

    @property
    def over(self) -> bool:
        """True if the run is over."""
        return self._among.over

    async def news(self, seconds: float) -> bool:
        return await self._among.news(self.taken, seconds)

    def leave(self) -> None:
        """Stop listening, so that another listener may begin."""
        self._among.leave(self)
