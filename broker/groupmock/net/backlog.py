"""The backlog holds the thousands of answers that one effect of the core may give. They are made one at a time and sent in slices, so that
other connections do not wait for all of them.

The last JoinGroup of a rebalance has all waiting members answered, and the leader's answer lists all members (KIP-848 names this as a
reason for the new protocol). Kafka's request threads share such work, but a single event loop has to do it in parts.
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
"""The clock is read after this many answers, to see whether the time slice is over."""
SETTLED_S: Final = 1.0


class Backlog:
    """Holds the answers of one driver that are not sent yet. `slice_us` is the longest stretch of answers between two turns of the
    running loop; None sends everything at once, for a driver without a loop. The driver sets `again`, which is called for the next
    slice, `broken`, which is called for an iterator that raised, and `done`, which is called after the last of several slices and again
    after SETTLED_S, because the answers make their receivers send requests, which take as much memory."""

    def __init__(self, slice_us: int | None) -> None:
        self.again: Callable[[], None] = _nobody
        self.broken: Callable[[Exception], None] = _nobody_minds
        self.done: Callable[[], None] = _nobody
        self._slice_ns = None if slice_us is None else slice_us * 1000
        self.waiting: deque[Iterator[Reply]] = deque()
        self._next_slice: asyncio.Handle | None = None
        self._done_again: asyncio.Handle | None = None

    def send(self, answer: Callable[[Reply, int], None], now: int, more: Iterator[Reply] | None = None) -> None:
        """Send waiting answers until the time slice is over, after adding `more` to the end of the backlog. Nothing is sent while a next
        slice is scheduled, because that slice comes first."""
        waiting = self.waiting
        if more is not None:
            waiting.append(more)
        if self._next_slice is not None:
            return
        # Without a time limit, the answers to 1000 members hold the loop for 35 ms, those to 10 000 for 504 ms
        # (docs/kafka/limits.md#join-storms). The limit is in real time, because a slice bounds how long others wait, and a command may
        # advance the run's time.
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
            # The code that writes an answer may have called `send` again and so emptied this iterator.
            if waiting and waiting[0] is replies:
                waiting.popleft()

    def stop(self) -> None:
        """Send no more answers, because the driver ends."""
        for each in (self._next_slice, self._done_again):
            if each is not None:
                each.cancel()
        self._next_slice = None

    def rest(self) -> Iterator[Reply]:
        """Yield all answers that were not sent yet."""
        while self.waiting:
            reply = self.take()
            if reply is not None:
                yield reply

    def take(self) -> Reply | None:
        """Return the next answer of the oldest effect that has answers left, or None if that effect has no more or failed."""
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
        if not self.waiting:
            self.done()
            if self._done_again is not None:
                self._done_again.cancel()
            self._done_again = asyncio.get_running_loop().call_later(SETTLED_S, self.done)


def _nobody() -> None:
    """Do nothing, as the callback until a driver uses this backlog."""


def _nobody_minds(defect: Exception) -> None:
    raise defect
