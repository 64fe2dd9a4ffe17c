"""Clocks for the driver give the time in nanoseconds since the start of the run and call back at a set time.

There are two clocks: the loop's (real time) and a virtual one that only moves when it is told to, so that a session of 45 s takes
microseconds. An alarm asks its clock to wake the driver at the core's next deadline.
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
"""Ended appointments are not removed from a queue that has fewer of them than this."""


class Handle(Protocol):
    """An appointment with a clock that can be cancelled."""

    def cancel(self) -> None:
        """Cancel the appointment; after the callback this does nothing."""


class Clock(Protocol):
    """The clock interface that the driver needs."""

    epoch_ns: int
    """The wall-clock time of run time 0, in ns since 1970. The times of journal rows count from there."""

    def now(self) -> int:
        """Return the run time in ns, which never goes back."""

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Call back on the caller's loop at run time `when` (ns) or a little later, after the loop has handled the bytes that arrived by
        then."""

    def step(self, nanoseconds: int) -> None:
        """Advance the time and run every callback that falls due at its own time."""


class _Appointment:
    """An appointment, which ends when its callback has run or when it is cancelled. Then it drops its callback."""

    __slots__ = ("_agenda", "callback", "when")

    def __init__(self, agenda: _Agenda[Any], when: int, callback: Callback) -> None:
        self._agenda = agenda
        self.when = when
        self.callback: Callback | None = callback  # `callback` is None after it has run or was cancelled.

    def keep(self) -> None:
        callback, self.callback = self.callback, None
        if callback is not None:
            self._agenda.left()
            callback()

    def cancel(self) -> None:
        if self.callback is not None:
            self.callback = None
            self._agenda.left()

    def forget(self) -> None:
        """Drop the callback, because the agenda was cleared."""
        self.callback = None


A = TypeVar("A", bound=_Appointment)


class _Agenda(Generic[A]):
    """A queue of appointments ordered by time, in which appointments of the same moment keep the order of their creation. An ended
    appointment stays in the heap until it reaches the top, or until ended appointments outnumber the others (as in `core.timers`)."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, A]] = []
        self._order = 0
        self._standing = 0

    def __iter__(self) -> Iterator[A]:
        return (appointment for _, _, appointment in self.heap if appointment.callback is not None)

    def add(self, appointment: A) -> None:
        """Add an appointment to the heap."""
        self._order += 1
        self._standing += 1
        heappush(self.heap, (appointment.when, self._order, appointment))

    def first(self) -> A | None:
        """Return the earliest appointment that has not ended."""
        heap = self.heap
        while heap and heap[0][2].callback is None:
            heappop(heap)
        return heap[0][2] if heap else None

    def left(self) -> None:
        """Count an ended appointment, and remove all ended ones from the heap if there are too many."""
        self._standing -= 1
        if len(self.heap) > 2 * self._standing + _FEW:
            self.heap[:] = [entry for entry in self.heap if entry[2].callback is not None]
            heapify(self.heap)

    def clear(self) -> None:
        """Cancel all appointments of the agenda."""
        for _, _, appointment in self.heap:
            appointment.forget()
        self.heap.clear()
        self._standing = 0


class _Alarm(_Appointment):
    """An appointment with the asyncio loop, which is armed again when the clock steps. An appointment made during a step is armed at the
    end of the step: most of them are over by then, and the loop's timers cost more than all else."""

    __slots__ = ("clock", "handle")

    def __init__(self, clock: LoopClock, when: int, callback: Callback) -> None:
        super().__init__(clock.alarms, when, callback)
        self.clock = clock
        self.handle: asyncio.Handle | None = None
        if not clock.stepping:
            self.arm()

    def arm(self) -> None:
        """Arm the loop's timer, rounded up to a whole millisecond. uvloop's timers have no smaller unit, and a timer that fires early
        would only be armed again. An appointment that is due at once waits one millisecond too: two requests sent together often reach
        the loop in two turns, and Kafka's timers are no faster (of twelve restarts overtaken 0.5 ms later, 4.3.0 fenced eight)."""
        milliseconds = max(1, -(-(self.when - self.clock.now()) // NS_PER_MS))
        self.handle = asyncio.get_running_loop().call_later(milliseconds / 1000, self.come)

    def come(self) -> None:
        """Wait for another turn of the loop, so that bytes that have arrived are handled before the callback runs. In Kafka 4's
        coordinator, too, timers queue behind requests. The loop may have been busy, and uvloop looks at its timers before its sockets."""
        self.handle = asyncio.get_running_loop().call_soon(self.look)

    def look(self) -> None:
        """Call back after the loop has looked at its sockets once more, which `call_soon` ensures here on asyncio and on uvloop."""
        self.handle = asyncio.get_running_loop().call_soon(self.keep)

    def cancel(self) -> None:
        super().cancel()
        self.disarm()

    def disarm(self) -> None:
        """Cancel the timer of the loop."""
        if self.handle is not None:
            self.handle.cancel()


class LoopClock:
    """A clock of real time that can be stepped forward. Run time 0 is when this object was made."""

    __slots__ = ("_origin", "alarms", "epoch_ns", "stepping")

    def __init__(self) -> None:
        self._origin = monotonic_ns()
        self.epoch_ns = time_ns()
        self.alarms = _Agenda[_Alarm]()
        self.stepping = False

    def now(self) -> int:
        """Return the run time in ns."""
        return monotonic_ns() - self._origin

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Call back up to a millisecond after `when`, once the bytes that have arrived by then are handled."""
        alarm = _Alarm(self, when, callback)
        self.alarms.add(alarm)
        return alarm

    def step(self, nanoseconds: int) -> None:
        """Advance the run's time and run due callbacks in order, each at its own time. Appointments made meanwhile are included."""
        target = self.now() + nanoseconds
        self.stepping = True
        try:
            while (first := self.alarms.first()) is not None and first.when <= target:
                # The step is never below 0, because a late appointment would turn the time back, which `Clock.now` rules out.
                self._origin -= max(0, first.when - self.now())
                first.disarm()
                first.keep()
            self._origin -= max(0, target - self.now())
        finally:
            self.stepping = False
            for alarm in self.alarms:
                # The clock stepped, but the event loop's own time did not, so the delay of each remaining timer is shorter now.
                alarm.disarm()
                alarm.arm()


class VirtualClock:
    """A clock that stands still until `advance` or `step` moves it, so that all earlier input is handled first. `epoch_ns` is a
    constant, so that two runs write the same journal."""

    def __init__(self, epoch_ns: int = 1_700_000_000 * NS_PER_S) -> None:
        self.epoch_ns = epoch_ns
        self._now = 0
        self._appointments = _Agenda[_Appointment]()

    def now(self) -> int:
        """Return the run time in ns."""
        return self._now

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Call back during the `advance` that reaches `when`, and never before the next `advance`, even if `when` is past."""
        appointment = _Appointment(self._appointments, when, callback)
        self._appointments.add(appointment)
        return appointment

    def move_to(self, now: int) -> None:
        """Set the time and drop all appointments, because a replay takes the times of events from the journal."""
        self._now = now
        self._appointments.clear()

    def next_due(self) -> int | None:
        """Return the time of the next appointment, which may be past, or None without an appointment."""
        first = self._appointments.first()
        return None if first is None else first.when

    def advance(self, milliseconds: float) -> None:
        """Advance the time by milliseconds and run due callbacks."""
        self.step(int(milliseconds * NS_PER_MS))

    def step(self, nanoseconds: int) -> None:
        """Advance the time and run every callback that falls due at its own time, including callbacks added meanwhile."""
        target = self._now + nanoseconds
        # The first appointment of the heap may have been cancelled; if even its time is not reached, no appointment is due.
        heap = self._appointments.heap
        while heap and heap[0][0] <= target and (first := self._appointments.first()) is not None and first.when <= target:
            self._now = max(self._now, first.when)  # An appointment made for the past runs late, because time does not go back.
            first.keep()
        self._now = target


class Alarm(Protocol):
    """Wakes the driver at a deadline: the driver provides `ring` and sets the next deadline after every event that it handles."""

    ring: Callable[[], None]

    def set(self, deadline: int | None) -> None:
        """Ring at `deadline` (ns of the run) or a little later; None removes the deadline."""

    def cancel(self) -> None:
        """Remove the deadline, because the driver ends."""


class ClockAlarm:
    """An alarm that makes at most one appointment with the clock. The appointment is only renewed for an earlier deadline: every
    heartbeat moves a session's deadline back, and one needless wake-up is cheaper than two calls of the loop for each heartbeat."""

    def __init__(self, clock: Clock) -> None:
        self.ring: Callable[[], None] = _unheard
        self._clock = clock
        self._appointment: Handle | None = None
        self._at = 0

    def set(self, deadline: int | None) -> None:
        # An appointment for each deadline would cost `call_later` and `cancel`, 1.05 to 1.4 µs; a repeated heartbeat costs 0.52 µs
        # (docs/kafka/limits.md#heartbeats).
        if deadline is None or (self._appointment is not None and self._at <= deadline):
            return
        self.cancel()
        self._at = deadline
        self._appointment = self._clock.call_at(deadline, self._come)

    def cancel(self) -> None:
        if self._appointment is not None:
            self._appointment.cancel()

    def _come(self) -> None:
        self._appointment = None
        self.ring()


class NoAlarm:
    """An alarm that never rings, for a driver whose caller calls `expire`, as a replay does when the journal says so."""

    def __init__(self) -> None:
        self.ring: Callable[[], None] = _unheard

    def set(self, deadline: int | None) -> None: ...

    def cancel(self) -> None: ...


def _unheard() -> None:
    """Do nothing: the callback until a driver uses this alarm."""
