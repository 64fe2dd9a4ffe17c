"""What one request costs: in steps, which are the same on every machine, and in bytes; in milliseconds where somebody looks."""

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
"""Lines that this code does in a millisecond: 5,000 to 39,000 by what they are, 14,000 in the middle: no stricter than a clock is."""
MOST_BYTES: Final = 32 * 1024 * 1024
SCANS: Final = frozenset(("count", "index", "remove", "insert"))
"""Methods of lists that look at every element."""


class OverMeter(BaseException):
    """The budget is passed: whatever runs is broken off. No Exception, which the driver would take for a defect."""


class Cost(NamedTuple):
    """`bytes`: the peak beyond what there was."""

    steps: int
    bytes: int
    over: bool


def counted(work: Callable[[], object], most_steps: int, most_bytes: int) -> Cost:
    """Run it with every line counted; broken off as soon as either is passed."""
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
    """What a driver with these begins waits until it is asked for. Each step is counted with what is done with its effects, rows and lines
    of a log among them; `dearest`: the lines of the dearest, `whole`: of all since `begin_anew`."""

    def __init__(self) -> None:
        super().__init__(None)
        self.dearest = self.whole = 0
        self.counting = False

    def begin_anew(self) -> None:
        """Count from here on."""
        self.dearest = self.whole = 0
        self.counting = True

    def begun(self, work: Work, now: int) -> None:
        """See `Slices.begun`."""
        self.waiting.append(work)

    def order(self) -> None:
        """There is no loop."""

    def go_on(self, what: str, step: Callable[[int], Effects | None], now: int) -> bool:
        """See `Slices.go_on`."""
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
    """Milliseconds of this thread's own time, without the collector's."""
    gc.collect()
    gc.disable()
    try:
        begun = time.thread_time_ns()
        work()
        return (time.thread_time_ns() - begun) / 1e6
    finally:
        gc.enable()
