"""For how long work and timers go on before the loop has its turn.

Whatever is begun has a slice at once, at its place, so that small work is done before anything else happens. Of what is longer each has
a slice per round, one in each turn of the loop. Timers that are due together have theirs whenever the alarm rings.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from .turns import NO_END, on_the_running_loop

if TYPE_CHECKING:
    from ..clock import Handle
    from ..core.work import Work


class Slices:
    """Handed to the driver. `slice_us`, `clock`, `soon`: as of `Turns`. The driver sets `again`, which is called for the next slice.

    `waiting`: what was begun and is not done, whose turn is next first. `number`, `steps`: of the slice that runs, or ran last; a replay
    goes by them.
    """

    def __init__(
        self, slice_us: int | None, clock: Callable[[], int] = time.monotonic_ns, soon: Callable[[Callable[[], None]], Handle] | None = None
    ) -> None:
        self.again: Callable[[], None] = _nobody
        self.waiting: deque[Work] = deque()
        self.number = self.steps = 0
        self.running = False
        self.spent = False
        """Has a slice ended too early since the last turn of the loop? What is begun has none of its own then."""
        self._slice_ns = NO_END if slice_us is None else slice_us * 1000
        self._clock = clock
        self._soon = soon or on_the_running_loop
        self._end = NO_END
        self._next: Handle | None = None

    def begin(self) -> None:
        """A slice begins; it has one step at least."""
        self.number += 1
        self.steps = 0
        self.running, self.spent = True, False
        if self._slice_ns is not NO_END:
            self._end = self._clock() + self._slice_ns

    def end(self) -> None:
        """It ends."""
        self.running, self.spent = False, self.spent and bool(self.waiting)
        if self.waiting:
            self.order()

    def over(self) -> bool:
        """Asked before each step: has the slice had its time?"""
        return self.steps > 0 and self._end is not NO_END and self._clock() >= self._end

    def order(self) -> None:
        """What waits goes on in the loop's next turn."""
        if self._next is None:
            self._next = self._soon(self._turn)

    def stop(self) -> None:
        """Nothing goes on any more."""
        self.waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _turn(self) -> None:
        self._next = None
        self.again()


def _nobody() -> None:
    """No driver was built with it."""
