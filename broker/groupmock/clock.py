"""Time for the driver: int nanoseconds since the run's epoch, and one way to be called back.

Two clocks: the loop's (real time) and a virtual one that only moves when it is told to (45 s sessions in microseconds).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from time import monotonic_ns, time_ns
from typing import Final, Protocol

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000

Callback = Callable[[], None]


class Handle(Protocol):
    """An appointment that can be called off."""

    def cancel(self) -> None:
        """It will not be kept. Harmless when it was."""


class Clock(Protocol):
    """What the driver needs of time."""

    epoch_ns: int
    """Wall clock at run time 0, ns since 1970; journal rows count from here."""

    def now(self) -> int:
        """Run time in ns. Never goes back."""

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Call back at run time `when` (ns) or a little later, on the loop this is called from."""


class LoopClock:
    """Real time. Run time 0 is when this object was made."""

    __slots__ = ("_origin", "epoch_ns")

    def __init__(self) -> None:
        self._origin = monotonic_ns()
        self.epoch_ns = time_ns()

    def now(self) -> int:
        """Run time in ns."""
        return monotonic_ns() - self._origin

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Rounded up to the millisecond: uvloop's timers have no more, and one that fires early would only be armed again."""
        milliseconds = max(0, -(-(when - self.now()) // NS_PER_MS))
        return asyncio.get_running_loop().call_later(milliseconds / 1000, callback)


class _Appointment:
    __slots__ = ("callback", "order", "when")

    def __init__(self, when: int, order: int, callback: Callback) -> None:
        self.when = when
        self.order = order
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        self.callback = None

    def __lt__(self, other: _Appointment) -> bool:
        return (self.when, self.order) < (other.when, other.order)


class VirtualClock:
    """Time that stands still until `advance` moves it. `epoch_ns` is a constant, so that two runs write the same journal."""

    def __init__(self, epoch_ns: int = 1_700_000_000 * NS_PER_S) -> None:
        self.epoch_ns = epoch_ns
        self._now = 0
        self._order = 0
        self._appointments: list[_Appointment] = []

    def now(self) -> int:
        """Run time in ns."""
        return self._now

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Kept by the `advance` that reaches `when`; not before the next `advance`, even if `when` is past."""
        self._order += 1
        appointment = _Appointment(when, self._order, callback)
        heappush(self._appointments, appointment)
        return appointment

    def move_to(self, now: int) -> None:
        """Set the time and keep no appointment: a replay decides itself what happens."""
        self._now = now
        self._appointments.clear()

    def advance(self, milliseconds: float) -> None:
        """Move on, keeping every appointment on the way at its own time, those made meanwhile too."""
        target = self._now + int(milliseconds * NS_PER_MS)
        while self._appointments and self._appointments[0].when <= target:
            appointment = heappop(self._appointments)
            self._now = max(self._now, appointment.when)
            if appointment.callback is not None:
                appointment.callback()
        self._now = target
