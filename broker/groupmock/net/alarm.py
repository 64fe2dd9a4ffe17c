"""The alarm that wakes the driver at the core's next deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .clock import Clock, Handle


class Alarm(Protocol):
    """The alarm of a driver, which sets `ring` and after every entry sets the next deadline."""

    ring: Callable[[], None]

    def set(self, deadline: int | None) -> None:
        """Ring at `deadline` (ns of the run) or a little later; None removes the deadline."""

    def cancel(self) -> None:
        """Remove the deadline for good."""


class ClockAlarm:
    """One appointment with the clock for all deadlines. It is only made again for an earlier deadline: every heartbeat moves a session's
    deadline back, and one look in vain is cheaper than two calls of the loop for each heartbeat."""

    def __init__(self, clock: Clock) -> None:
        self.ring: Callable[[], None] = _unheard
        self._clock = clock
        self._appointment: Handle | None = None
        self._at = 0

    def set(self, deadline: int | None) -> None:
        # `call_later` and `cancel` take 1.05 to 1.4 µs, twice a repeated heartbeat's 0.52 (docs/kafka/limits.md#heartbeats).
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

    def set(self, deadline: int | None) -> None:
        ...

    def cancel(self) -> None:
        ...


def _unheard() -> None:
    """Do nothing, because no driver uses this alarm yet."""
