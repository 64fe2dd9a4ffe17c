"""Who hears of rows as they come. Nobody is sent any: each listener reads the ring (`journal.ring`) at its own pace, and all that is kept
of it is how far it has come. So one that is slow costs no memory and makes no turn of the loop longer; what it missed it is told.
"""

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
"""So many listen at a time: a live page is two of them."""
AT_ONCE: Final = 200
"""Rows of one look: some milliseconds of a turn of the loop."""


class Listeners(Sink):
    """The listeners of one cluster. A sink of its journal while there are any, to be told that there is something new."""

    routine = True

    def __init__(self, journal: Journal, ring: Ring) -> None:
        self.journal, self.ring = journal, ring
        self.over = False
        self._news = asyncio.Event()
        self._here: set[Listener] = set()

    def __len__(self) -> int:
        return len(self._here)

    def listen(self) -> Listener:
        """One more, from now on. Raises TooMany."""
        if len(self._here) >= MAX_LISTENERS:
            raise TooMany(f"{MAX_LISTENERS} listen already: let one of them end, or ask /v1/journal/find now and then")
        if not self._here:
            self.journal.add(self)
        listener = Listener(self)
        self._here.add(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """It listens no longer."""
        self._here.discard(listener)
        if not self._here and not self.over:
            self.journal.remove(self)

    def take(self, row: Row) -> None:
        """There is something new: whoever waits looks when the turn is over."""
        self._news.set()

    def close(self) -> None:
        """The run is over."""
        self.over = True
        self._news.set()

    async def news(self, taken: int, seconds: float) -> bool:
        """Until more rows were taken than so many, or the run is over. False: `seconds` went by."""
        try:
            async with asyncio.timeout(seconds):
                while self.ring.taken <= taken and not self.over:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        return True


class Listener:
    """`taken`: so many rows of the run it has gone by."""

    def __init__(self, among: Listeners) -> None:
        self._among = among
        self.taken = among.ring.taken

    def back_to(self, seq: int) -> int:
        """Go back behind the row of that number; returns how many rows behind it are no longer kept, as far as anybody can know."""
        ring = self._among.ring
        newer = 0
        for row in reversed(ring.rows):
            if row.seq <= seq:
                break
            newer += 1
        self.taken = ring.taken - newer
        # Numbers without a row in between are heartbeats that changed nothing.
        return max(0, ring.rows[0].seq - seq - 1) if ring.dropped and newer == len(ring.rows) else 0

    def back_by(self, rows: int) -> None:
        """Go back by so many rows, or as far as they are kept."""
        self.taken -= min(rows, len(self._among.ring.rows))

    def lost(self) -> int:
        """How many rows went by that are no longer kept; it has gone by these, too."""
        dropped = max(0, self._among.ring.dropped - self.taken)
        self.taken += dropped
        return dropped

    def next(self) -> list[Row]:
        """A few rows more, the oldest first; [] when there are none."""
        rows = self._among.ring.after(self.taken, AT_ONCE)
        self.taken += len(rows)
        return rows

    def up_to(self, taken: int) -> Iterator[list[Row]]:
        """The rows until so many were taken, a few at a time."""
        while self.taken < taken and (rows := self._among.ring.after(self.taken, min(AT_ONCE, taken - self.taken))):
            self.taken += len(rows)
            yield rows

    @property
    def behind(self) -> bool:
        """Are there rows that it has not gone by?"""
        return self._among.ring.taken > self.taken

    @property
    def over(self) -> bool:
        """Will there be no more?"""
        return self._among.over

    async def news(self, seconds: float) -> bool:
        """See `Listeners.news`."""
        return await self._among.news(self.taken, seconds)

    def leave(self) -> None:
        """Listen no longer."""
        self._among.leave(self)
