"""Long work and timers are done in time slices, between which the loop handles its other events.

Work gets a slice when it begins, so that small work is done before anything else happens. Longer work then gets one slice in each iteration
of the loop. Timers that are due together get theirs when the alarm rings.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from .turns import NO_END, on_the_running_loop

if TYPE_CHECKING:
    from ..core.effects import Effects
    from ..core.work import Work
    from .clock import Handle


class Slices:
    """Divides the long work and the due timers of one driver into time slices. `slice_us`, `clock` and `soon` are those of `Turns`.

    `waiting` has unfinished work, in the order of its turns. `number` and `steps` are those of the present or last slice, for a replay.
    `spent` is true if a slice has run out since the loop's last iteration, and then new work gets no slice of its own."""

    def __init__(
        self, slice_us: int | None, clock: Callable[[], int] = time.monotonic_ns, soon: Callable[[Callable[[], None]], Handle] | None = None
    ) -> None:
        self.waiting: deque[Work] = deque()
        self.number = self.steps = 0
        self.spent = self._runs = False
        self._slice_ns = NO_END if slice_us is None else slice_us * 1000
        self._clock = clock
        self._soon = soon or on_the_running_loop
        self._end = NO_END
        self._next: Handle | None = None

    def driven(
        self,
        step: Callable[[Work, int], Effects | None],
        perform: Callable[[Effects, int], None],
        broken: Callable[[str, Exception], None],
        paused: Callable[..., None],
        again: Callable[[], None],
    ) -> None:
        """Connect the slices to a driver. `step` does the next step of work, `perform` performs its effects, and `broken` is called when
        one of them raises. `paused` is called when a slice ends too early (with the time, `slice` and `steps`), `again` for the next
        slice."""
        self._step, self._perform, self._broken, self._paused, self._again = step, perform, broken, paused, again

    def begin(self) -> None:
        """Begin a time slice, in which at least one step of work is done."""
        self.number += 1
        self.steps = 0
        self._runs, self.spent = True, False
        if self._slice_ns is not NO_END:
            self._end = self._clock() + self._slice_ns

    def end(self) -> None:
        """End the present time slice and continue with the remaining work in the loop's next turn."""
        self._runs, self.spent = False, self.spent and bool(self.waiting)
        if self.waiting:
            self.order()

    def begun(self, work: Work, now: int) -> None:
        """Do new work in the time slice of the timer or work that caused it, or else in a slice of its own."""
        if self._runs or self.spent:
            self._do(work, now)
        else:
            self.begin()
            self._do(work, now)
            self.end()

    def take(self, now: int) -> None:
        """Spend one time slice on the waiting work, oldest first."""
        self.begin()
        while self.waiting and not self.spent:
            self._do(self.waiting.popleft(), now)
        self.end()

    def go_on(self, what: str, step: Callable[[int], Effects | None], now: int) -> bool:
        """Call `step` until it returns None. Returns False if the slice ends before that."""
        while not self._is_over(now):
            try:
                effects = step(now)
            except Exception as defect:
                self._broken(what, defect)
                continue
            if effects is None:
                return True
            self._perform(effects, now)
        return False

    def _do(self, work: Work, now: int) -> None:
        """Do work until it is finished or the time slice ends; the rest waits behind other work."""
        if not self.go_on("work", partial(self._step, work), now):
            self.waiting.append(work)

    def _is_over(self, now: int) -> bool:
        if not self.spent and self.over():
            self.spent = True
            self._paused(now, slice=self.number, steps=self.steps)
        self.steps += 1
        return self.spent

    def over(self) -> bool:
        """True if the time slice is used up. It is called before each step."""
        return self.steps > 0 and self._end is not NO_END and self._clock() >= self._end

    def order(self) -> None:
        """Continue the waiting work in the loop's next turn."""
        if self._next is None:
            self._next = self._soon(self._turn)

    def stop(self) -> None:
        """Drop all waiting work, because the driver ends."""
        self.waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _turn(self) -> None:
        self._next = None
        self._again()
