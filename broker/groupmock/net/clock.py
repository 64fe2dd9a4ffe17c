"""Time for the driver: int nanoseconds since the run's epoch, and one way to be called back.

Two clocks: the loop's (real time) and a virtual one that only moves when it is told to (45 s sessions in microseconds).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from time import monotonic_ns, time_ns
from typing import Any, Final, Generic, Protocol, TypeVar

from groupmock_codec.units import NS_PER_MS, NS_PER_S

Callback = Callable[[], None]
_FEW: Final = 64
"""So many appointments that are over are not worth a sweep."""


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
        """Call back at run time `when` (ns) or a little later, on the loop this is called from, after what has arrived by then."""

    def step(self, nanoseconds: int) -> None:
        """Be that much later now, every appointment on the way kept at its own time."""


class _Appointment:
    """To be kept once, unless it is called off; then it lets go of its callback."""

    __slots__ = ("_agenda", "callback", "when")

    def __init__(self, agenda: _Agenda[Any], when: int, callback: Callback) -> None:
        self._agenda = agenda
        self.when = when
        self.callback: Callback | None = callback  # None: kept or called off

    def keep(self) -> None:
        """It is time."""
        callback, self.callback = self.callback, None
        if callback is not None:
            self._agenda.left()
            callback()

    def cancel(self) -> None:
        """See `Handle`."""
        if self.callback is not None:
            self.callback = None
            self._agenda.left()

    def forget(self) -> None:
        """The agenda knows it no more."""
        self.callback = None


A = TypeVar("A", bound=_Appointment)


class _Agenda(Generic[A]):
    """Appointments by their time, those for the same moment in the order in which they were made, in every run.

    One that is over stays in the heap until it comes up, or until such outnumber those that stand (as in `core.timers`).
    """

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, A]] = []
        self._order = 0
        self._standing = 0

    def __iter__(self) -> Iterator[A]:
        return (appointment for _, _, appointment in self.heap if appointment.callback is not None)

    def add(self, appointment: A) -> None:
        """Take it down."""
        self._order += 1
        self._standing += 1
        heappush(self.heap, (appointment.when, self._order, appointment))

    def first(self) -> A | None:
        """The next one that stands."""
        heap = self.heap
        while heap and heap[0][2].callback is None:
            heappop(heap)
        return heap[0][2] if heap else None

    def left(self) -> None:
        """One was kept or called off."""
        self._standing -= 1
        if len(self.heap) > 2 * self._standing + _FEW:
            self.heap[:] = [entry for entry in self.heap if entry[2].callback is not None]
            heapify(self.heap)

    def clear(self) -> None:
        """Call all of them off."""
        for _, _, appointment in self.heap:
            appointment.forget()
        self.heap.clear()
        self._standing = 0


class _Alarm(_Appointment):
    """An appointment with the loop, to be made again when the clock steps. One that is made meanwhile is armed at the end of the step: most
    of those are over by then, and the loop's timers cost more than all else."""

    __slots__ = ("clock", "handle")

    def __init__(self, clock: LoopClock, when: int, callback: Callback) -> None:
        super().__init__(clock.alarms, when, callback)
        self.clock = clock
        self.handle: asyncio.Handle | None = None
        if not clock.stepping:
            self.arm()

    def arm(self) -> None:
        """Rounded up to the millisecond: uvloop's timers have no more, and one that fires early would only be armed again. What is due at
        once waits one too: two requests sent together often reach the loop in two turns, and Kafka's timers are no faster (of twelve
        restarts overtaken 0.5 ms later, 4.3.0 fenced eight)."""
        milliseconds = max(1, -(-(self.when - self.clock.now()) // NS_PER_MS))
        self.handle = asyncio.get_running_loop().call_later(milliseconds / 1000, self.come)

    def come(self) -> None:
        """It is time. What has arrived by now goes first, as in Kafka 4's coordinator, whose timers queue behind the requests: the loop
        may have been busy, or (uvloop) looks at its timers first."""
        self.handle = asyncio.get_running_loop().call_soon(self.look)

    def look(self) -> None:
        """What is called soon from here comes after the loop's next look at its sockets, on asyncio and on uvloop."""
        self.handle = asyncio.get_running_loop().call_soon(self.keep)

    def cancel(self) -> None:
        """See `Handle`."""
        super().cancel()
        self.disarm()

    def disarm(self) -> None:
        """The loop knows it no more."""
        if self.handle is not None:
            self.handle.cancel()


class LoopClock:
    """Real time, which can be stepped on. Run time 0 is when this object was made."""

    __slots__ = ("_origin", "alarms", "epoch_ns", "stepping")

    def __init__(self) -> None:
        self._origin = monotonic_ns()
        self.epoch_ns = time_ns()
        self.alarms = _Agenda[_Alarm]()
        self.stepping = False

    def now(self) -> int:
        """Run time in ns."""
        return monotonic_ns() - self._origin

    def call_at(self, when: int, callback: Callback) -> Handle:
        """A little later than `when`, up to a millisecond and what the loop then finds to read."""
        alarm = _Alarm(self, when, callback)
        self.alarms.add(alarm)
        return alarm

    def step(self, nanoseconds: int) -> None:
        """Be that much later now. Appointments on the way are kept at their own times, in order, those made meanwhile too."""
        target = self.now() + nanoseconds
        self.stepping = True
        try:
            while (first := self.alarms.first()) is not None and first.when <= target:
                # Not below 0: an appointment that is late already would turn the time back, which `Clock.now` rules out.
                self._origin -= max(0, first.when - self.now())
                first.disarm()
                first.keep()
            self._origin -= max(0, target - self.now())
        finally:
            self.stepping = False
            for alarm in self.alarms:
                # The loop's own time did not step: what is left of theirs is shorter now.
                alarm.disarm()
                alarm.arm()


class VirtualClock:
    """Time that stands still until `advance` moves it: what has arrived is what was handed over before that. `epoch_ns` is a constant, so
    that two runs write the same journal."""

    def __init__(self, epoch_ns: int = 1_700_000_000 * NS_PER_S) -> None:
        self.epoch_ns = epoch_ns
        self._now = 0
        self._appointments = _Agenda[_Appointment]()

    def now(self) -> int:
        """Run time in ns."""
        return self._now

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Kept by the `advance` that reaches `when`; not before the next `advance`, even if `when` is past."""
        appointment = _Appointment(self._appointments, when, callback)
        self._appointments.add(appointment)
        return appointment

    def move_to(self, now: int) -> None:
        """Set the time and keep no appointment: a replay decides itself what happens."""
        self._now = now
        self._appointments.clear()

    def next_due(self) -> int | None:
        """When the next appointment is, perhaps in the past; None: there is none."""
        first = self._appointments.first()
        return None if first is None else first.when

    def advance(self, milliseconds: float) -> None:
        """As `step`, in ms."""
        self.step(int(milliseconds * NS_PER_MS))

    def step(self, nanoseconds: int) -> None:
        """Move on, keeping every appointment on the way at its own time, those made meanwhile too."""
        target = self._now + nanoseconds
        # The next one may be over already; that none is due is seen without asking for it
        heap = self._appointments.heap
        while heap and heap[0][0] <= target and (first := self._appointments.first()) is not None and first.when <= target:
            self._now = max(self._now, first.when)  # one that was made for the past is kept late, time does not go back
            first.keep()
        self._now = target
