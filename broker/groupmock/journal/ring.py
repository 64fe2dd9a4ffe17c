"""This sink keeps the last rows in memory for stories and queries, with a limit of rows and bytes and without heartbeats that changed
nothing.

The bytes are those in memory (`journal.weight`), not those of frames. A row that alone would take an eighth of the room, such as a leader's
answer in a group of thousands, is kept without its large fields, so that no frame displaces the whole story.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Final

from msgspec import structs

from .journal import Sink
from .rows import AbandonedRow, CloseRow, FaultRow, Header, MemberRow, MovedRow, OpenRow, ReplyRow, RequestRow, Row, TimerRow
from .weight import NUMBER, WEIGHERS, held, learn, slim
from .whose import group_of

ENTRY: Final = NUMBER + 2 * 8
"""The memory of one place in both queues, and of the number that holds the row's cost."""
LARGEST: Final = 8
"""One row may use at most 1/LARGEST of the ring's memory."""
KEPT_BYTES: Final = 1024
"""A field that is too large is cut to this many bytes."""
BATCH: Final = 16
"""The size of this many rows is computed at a time, which takes half the time of computing it row by row."""
MODEST: Final[frozenset[type[Row]]] = frozenset((OpenRow, CloseRow, AbandonedRow, MovedRow, MemberRow, TimerRow))
"""Kinds of rows that have only a few short strings, 32 kB at most, and may therefore wait until their batch is full."""
MODEST_FRAME: Final = 4096


class Ring(Sink):
    """Keeps the newest rows, at most `max_rows` of them in at most `max_bytes` of memory."""

    routine = True

    def __init__(self, max_bytes: int = 8 * 1024 * 1024, max_rows: int = 20_000) -> None:
        self.max_bytes = max_bytes
        self.max_rows = max_rows
        self.rows: deque[Row] = deque()
        # The costs have a queue of their own, because reading an old row again would fetch it from distant memory.
        self._costs: deque[int] = deque()
        self._batch = min(BATCH, max(1, max_rows // BATCH))
        self._fresh: list[Row] = []  # The last rows, whose memory was not estimated yet.
        self.bytes = 0
        self.dropped = 0

    def begin(self, header: Header) -> None:
        """Do nothing with the header. Because this method exists, the header says how the cluster began (`Journal.begin`), which is shown
        with the rows."""

    def take(self, row: Row) -> None:
        """Keep a row, and drop the oldest rows if there are too many."""
        self.rows.append(row)
        self._fresh.append(row)
        if len(self._fresh) >= self._batch or (row.__class__ not in MODEST and getattr(row, "size", MODEST_FRAME) >= MODEST_FRAME):
            self._weigh()

    @property
    def taken(self) -> int:
        """The number of rows so far, including dropped rows."""
        return self.dropped + len(self.rows)

    def after(self, taken: int, most: int | None = None) -> list[Row]:
        """Return the kept rows that came after the first `taken` rows, or the oldest `most` of them."""
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
        # Room is left for the rest of a batch, whose memory is estimated only when the batch is full.
        most = self.max_rows - self._batch + 1
        while self.bytes > self.max_bytes or len(rows) > most:
            rows.popleft()
            self.bytes -= self._costs.popleft() + ENTRY
            self.dropped += 1

    def of_group(self, group: str) -> list[Row]:
        """Return the rows of one group: its state changes, members and timers, the requests that name it, and their answers."""
        tickets: set[int] = set()
        rows_of_group = []
        for row in self.rows:
            if isinstance(row, ReplyRow | AbandonedRow | FaultRow):
                belongs = row.ticket in tickets
            else:
                belongs = group_of(row) == group
                if belongs and isinstance(row, RequestRow):
                    tickets.add(row.ticket)
            if belongs:
                rows_of_group.append(row)
        return rows_of_group


def _slim(row: Row) -> Row:
    return structs.replace(row, **{name: slim(getattr(row, name), KEPT_BYTES) for name in row.__struct_fields__})
