"""Observed bytes wait in a queue until they are decoded and written to the journal. That happens between two turns of the loop.

Passing bytes on comes first, so that clients never wait for the recording. But memory is bounded: when more than `MOST_BYTES` wait, no
connection is read until half of that is written. Then the recording limits the rate, and no buffers grow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic_ns
from typing import Final

MOST_BYTES: Final = 16 * 1024 * 1024
EACH: Final = 128
"""The memory in bytes that a waiting piece is counted with beyond its content."""
PAUSE_S: Final = 0.001
"""Pieces that arrive within this time are handled together, because a turn of the loop for each would cost more than the work."""
SLICE_NS: Final = 500_000
"""The longest time for recording between two turns of the loop. It is half of a server's slice (`net.limits`,
groupmock.requests.slice.us), because a request and its answer need a turn each."""

Take = Callable[[bytes, int, int], int]
"""A function that records observed bytes: it takes (data, time of arrival, bytes done so far) and returns the bytes done then, and is
called again until all are done."""
Done = Callable[[int], None]
"""A callback that gets the number of bytes that were recorded."""


class Work:
    """The queue of observed bytes that wait to be recorded. `full` is true if too many wait; `relieved()` is called when that has ended."""

    def __init__(self, relieved: Callable[[], None], most: int = MOST_BYTES) -> None:
        self.waiting = 0
        self.full = False
        self._most = most
        self._relieved = relieved
        self.pieces: deque[tuple[Take, bytes, int, Done]] = deque()
        self._at = 0  # The number of bytes of the first waiting piece that were already recorded.
        self._ordered = False

    def add(self, take: Take, data: bytes, now: int, done: Done) -> None:
        """Add observed bytes, which are recorded after those added earlier."""
        self.pieces.append((take, data, now, done))
        self.waiting += len(data) + EACH
        if self.waiting > self._most:
            self.full = True
        if not self._ordered:
            self._ordered = True
            asyncio.get_running_loop().call_later(PAUSE_S, self._turn)

    def finish(self, within_ns: int = 1 << 62) -> int:
        """Record waiting bytes in order, for at most `within_ns`. Return how many pieces are left."""
        end = monotonic_ns() + within_ns
        while self.pieces and monotonic_ns() < end:
            self._do()
        return len(self.pieces)

    def _turn(self) -> None:
        end = monotonic_ns() + SLICE_NS
        while self.pieces:
            self._do()
            if monotonic_ns() >= end:
                break
        self._ordered = bool(self.pieces)
        if self._ordered:
            asyncio.get_running_loop().call_soon(self._turn)

    def _do(self) -> None:
        take, data, now, done = self.pieces[0]
        self._at = take(data, now, self._at)
        size = len(data)
        if self._at < size:
            return
        self._at = 0
        self.pieces.popleft()
        self.waiting -= size + EACH
        if self.full and self.waiting <= self._most // 2:
            self.full = False
            self._relieved()
        done(size)
