"""The last rows in memory, for stories and failure texts: bounded in rows and bytes, everything but heartbeats that changed nothing."""

from __future__ import annotations

from collections import deque
from typing import Final

from .journal import Sink
from .rows import AbandonedRow, FaultRow, ReplyRow, RequestRow, Row
from .story import at, group_of, sentence

ROW_BYTES: Final = 800
"""What a row with its decoded message costs beside the bytes of the frame (measured: rows of a join storm, resident memory)."""
FRAMES: Final = (RequestRow, ReplyRow)


class Ring(Sink):
    """Keeps at most `max_bytes` (messages are kept as they came, so a frame's size counts) and `max_rows`."""

    routine = True

    def __init__(self, max_bytes: int = 8 * 1024 * 1024, max_rows: int = 20_000) -> None:
        self.max_bytes = max_bytes
        self.max_rows = max_rows
        self.rows: deque[Row] = deque()
        self._costs: deque[int] = deque()  # beside the rows: a row that goes is old, and reading it once more would fetch it from far away
        self.bytes = 0
        self.dropped = 0

    def take(self, row: Row) -> None:
        """Keep one; the oldest go when there are too many."""
        cost = ROW_BYTES + row.size if isinstance(row, FRAMES) else ROW_BYTES
        self.rows.append(row)
        self._costs.append(cost)
        self.bytes += cost
        while self.bytes > self.max_bytes or len(self.rows) > self.max_rows:
            self.rows.popleft()
            self.bytes -= self._costs.popleft()
            self.dropped += 1

    def story(self, group: str) -> list[str]:
        """What happened to one group, a sentence per row, oldest first."""
        lines = [f"{at(row)}  {sentence(row)}" for row in self.of_group(group)]
        if self.dropped:
            lines.insert(0, f"({self.dropped} older rows are no longer kept)")
        return lines

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
