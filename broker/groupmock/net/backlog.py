"""Answers that come by the thousand, made one by one and sent in slices, so that nobody else waits for all of them.

The last JoinGroup of a rebalance answers everybody who waits for it, and the leader's answer lists all members (KIP-848 names this as a
reason for the next protocol). Kafka's request threads share such work; one loop has to let go of it between two of its turns.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..core.effects import Reply

LOOK_AT_CLOCK_EVERY: Final = 8
"""Answers between two looks at the clock while a slice lasts."""


class Backlog:
    """Handed to the driver. `slice_us`: longest stretch of answers between two turns of the running loop; None: everything at once, as
    where there is no loop. The driver sets `again`, which is called for the next slice, and `broken`, for an iterator that raised."""

    def __init__(self, slice_us: int | None) -> None:
        self.again: Callable[[], None] = _nobody
        self.broken: Callable[[Exception], None] = _nobody_minds
        self._slice_ns = None if slice_us is None else slice_us * 1000
        self.waiting: deque[Iterator[Reply]] = deque()
        self._next_slice: asyncio.Handle | None = None

    def send(self, answer: Callable[[Reply, int], None], now: int, more: Iterator[Reply] | None = None) -> None:
        """Have answered what is to be sent now, each made when its turn comes; `more` follow what waits already. Nothing while a next slice
        is ordered: that one comes first."""
        waiting = self.waiting
        if more is not None:
            waiting.append(more)
        if self._next_slice is not None:
            return
        # Without an end 1000 members hold the loop for 35 ms, 10 000 for 504 ms (docs/kafka/limits.md#join-storms).
        # Real time, not the run's: a command may step that one on, and a slice is about how long others wait.
        end = None if self._slice_ns is None else time.monotonic_ns() + self._slice_ns
        left = LOOK_AT_CLOCK_EVERY
        while waiting:
            replies = waiting[0]
            try:
                for reply in replies:
                    answer(reply, now)
                    left -= 1
                    if not left:
                        left = LOOK_AT_CLOCK_EVERY
                        if end is not None and time.monotonic_ns() > end:
                            self._next_slice = asyncio.get_running_loop().call_soon(self._turn)
                            return
            except Exception as defect:
                self.broken(defect)
            if waiting and waiting[0] is replies:  # else they were sent meanwhile, by what an answer made happen
                waiting.popleft()

    def stop(self) -> None:
        """There will be no next slice."""
        if self._next_slice is not None:
            self._next_slice.cancel()
            self._next_slice = None

    def rest(self) -> Iterator[Reply]:
        """All that waits."""
        while self.waiting:
            reply = self.take()
            if reply is not None:
                yield reply

    def take(self) -> Reply | None:
        """One of the oldest; None: those are done, or their iterator broke."""
        try:
            reply = next(self.waiting[0], None)
        except Exception as defect:
            self.broken(defect)
            reply = None
        if reply is None:
            self.waiting.popleft()
        return reply

    def _turn(self) -> None:
        self._next_slice = None
        self.again()


def _nobody() -> None:
    """No driver was built with it."""


def _nobody_minds(defect: Exception) -> None:
    raise defect
