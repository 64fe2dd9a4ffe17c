"""The last rows in memory, for stories and queries: bounded in rows and bytes, everything but heartbeats that changed nothing.

Bytes are those of memory (`journal.weight`), not of frames. A row that alone would take an eighth of the room, as the leader's answer in a
group of thousands, is kept without what makes it big, so that no frame drives the story out.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from msgspec import structs

from .journal import Sink
from .rows import AbandonedRow, CloseRow, FaultRow, MemberRow, MovedRow, OpenRow, ReplyRow, RequestRow, Row, TimerRow
from .weight import NUMBER, WEIGHERS, held, learn, slim
from .whose import group_of

ENTRY: Final = NUMBER + 2 * 8
"""The row's cost as a number, and a place in both queues."""
LARGEST: Final = 8
"""The share of the room that one row may have."""
KEPT_BYTES: Final = 1024
"""Of a field of a row that would be larger."""
BATCH: Final = 16
"""Rows that are weighed together, which takes half the time that each alone would."""
MODEST: Final[frozenset[type[Row]]] = frozenset((OpenRow, CloseRow, AbandonedRow, MovedRow, MemberRow, TimerRow))
"""Rows that have a few strings of the protocol, of at most 32 kB: they can wait until their batch is full."""
MODEST_FRAME: Final = 4096


class Ring(Sink):
    """Keeps rows of at most `max_bytes` of memory, and at most `max_rows`."""

    routine = True

    def __init__(self, max_bytes: int = 8 * 1024 * 1024, max_rows: int = 20_000) -> None:
        self.max_bytes = max_bytes
        self.max_rows = max_rows
        self.rows: deque[Row] = deque()
        self._costs: deque[int] = deque()  # beside the rows: a row that goes is old, and reading it once more would fetch it from far away
        self._batch = min(BATCH, max(1, max_rows // BATCH))
        self._fresh: list[Row] = []  # the last ones, not weighed yet
        self.bytes = 0
        self.dropped = 0

    def take(self, row: Row) -> None:
        """Keep one; the oldest go when there are too many."""
        self.rows.append(row)
        self._fresh.append(row)
        if len(self._fresh) >= self._batch or (row.__class__ not in MODEST and getattr(row, "size", MODEST_FRAME) >= MODEST_FRAME):
            self._weigh()

    @property
    def taken(self) -> int:
        """So many rows came until now, those that are no longer kept among them."""
        return self.dropped + len(self.rows)

    def after(self, taken: int, most: int | None = None) -> list[Row]:
        """The rows that came when so many had been taken, the oldest `most` of them (None: all), as far as they are still kept."""
        behind = min(self.taken - taken, len(self.rows))
        newer = list(islice(reversed(self.rows), behind))
        newer.reverse()
        return newer[:most]

    def _weigh(self) -> None:
        rows, largest = self.rows, self.max_bytes // LARGEST
        costs = [(WEIGHERS.get(row.__class__) or learn(row.__class__))(row, largest) for row in self._fresh]
        if max(costs) > largest:
            for place, row in enumerate(self._fresh, -len(costs)):
                if costs[place] > largest:
                    rows[place] = _slim(row)
                    costs[place] = held(rows[place], largest)
        self._fresh.clear()
        self._costs.extend(costs)
        self.bytes += sum(costs) + ENTRY * len(costs)
        # There is to be room for the rest of a batch that is not weighed until it is full.
        most = self.max_rows - self._batch + 1
        while self.bytes > self.max_bytes or len(rows) > most:
            rows.popleft()
            self.bytes -= self._costs.popleft() + ENTRY
            self.dropped += 1

    def of_group(self, group: str) -> list[Row]:
        """The rows of one group: its moves, members and timers, requests that name it, and what became of these."""
        tickets: set[int] = set()
        found = []
        for row in self.rows:
            if isinstance(row, ReplyRow | AbandonedRow | FaultRow):
                mine = row.ticket in tickets
            else:
                mine = group_of(row) == group
                if mine and isinstance(row, RequestRow):
                    tickets.add(row.ticket)
            if mine:
                found.append(row)
        return found


def _slim(row: Row) -> Row:
    return structs.replace(row, **{name: slim(getattr(row, name), KEPT_BYTES) for name in row.__struct_fields__})
