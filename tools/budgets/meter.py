"""Measure the cost of one request: in steps, which are the same on every machine, in bytes, and optionally in milliseconds."""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from groupmock.net.slices import Slices

if TYPE_CHECKING:
    from groupmock.core.effects import Effects
    from groupmock.core.work import Work

MOST_MS: Final = 50
STEPS_PER_MS: Final = 30_000
"""The number of Python lines that groupmock executes in a millisecond, which ranges from 5,000 to 39,000 with a median of 14,000. The
high value makes the limit no stricter than a clock."""
MOST_BYTES: Final = 32 * 1024 * 1024
SCANS: Final = frozenset(("count", "index", "remove", "insert"))
"""The methods of lists that look at every element, which therefore count as one step per element."""


class OverMeter(BaseException):
    """The budget of a measurement is exceeded. It is no Exception, because the driver would take that for a defect."""


class Cost(NamedTuple):
    """The cost of one measured function call, in steps, bytes and milliseconds. `bytes` is the peak beyond the memory in use before."""

    steps: int
    bytes: int
    over: bool


def counted(work: Callable[[], object], most_steps: int, most_bytes: int) -> Cost:
    """Count every line that `work` executes, and stop it when a limit is exceeded."""
    steps = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        if event == "line":
            steps += 1
            if steps > most_steps or (not steps & 1023 and tracemalloc.get_traced_memory()[1] - before > most_bytes):
                raise OverMeter
        return line

    def call(frame: FrameType, event: str, function: Any) -> None:
        nonlocal steps
        if event == "c_call" and function.__name__ in SCANS and isinstance(function.__self__, list):
            steps += len(function.__self__) // 10

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    over = False
    try:
        sys.setprofile(call)
        sys.settrace(line)
        work()
    except OverMeter:
        over = True
    finally:
        sys.settrace(None)
        sys.setprofile(None)
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
    return Cost(steps, peak, over or peak > most_bytes)


class StepMeter(Slices):
    """Runs slices of work on demand only, and measures them together with their effects, rows and log lines. `dearest` has the lines of
    the most expensive step, and `whole` those of all steps since `begin_anew`."""

    def __init__(self) -> None:
        super().__init__(None)
        self.dearest = self.whole = 0
        self.counting = False

    def begin_anew(self) -> None:
        self.dearest = self.whole = 0
        self.counting = True

    def begun(self, work: Work, now: int) -> None:
        self.waiting.append(work)

    def order(self) -> None:
        """Do nothing when asked for a turn of the event loop, because there is none."""

    def go_on(self, what: str, step: Callable[[int], Effects | None], now: int) -> bool:
        left = [True]

        def once() -> None:
            effects = step(now)
            left[0] = effects is not None
            if effects is not None:
                self._perform(effects, now)

        while left[0]:
            if not self.counting:
                once()
                continue
            steps = counted(once, MOST_MS * STEPS_PER_MS, MOST_BYTES).steps
            self.dearest = max(self.dearest, steps)
            self.whole += steps
        return True


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds of this thread's CPU time, without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        begun = time.thread_time_ns()
        work()
        return (time.thread_time_ns() - begun) / 1e6
    finally:
        gc.enable()
