"""When the core's deadlines are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .clock import Clock, Handle


class Alarm(Protocol):
    """Handed to the driver, which sets `ring` and says after every entry when the next deadline is."""

    ring: Callable[[], None]

    def set(self, deadline: int | None) -> None:
        """Ring at `deadline` (ns of the run) or a little later; None: there is none."""

    def cancel(self) -> None:
        """Ring no more."""


class ClockAlarm:
    """One appointment with the clock for all deadlines.

    It is made again only when an earlier deadline comes up: every heartbeat moves a session's deadline back, and to look once in vain is
    cheaper than two calls of the loop for each of them.
    """

    def __init__(self, clock: Clock) -> None:
        self.ring: Callable[[], None] = _unheard
        self._clock = clock
        self._appointment: Handle | None = None
        self._at = 0

    def set(self, deadline: int | None) -> None:
        """See `Alarm`."""
        # `call_later` and `cancel` take 1.05 to 1.4 µs, twice a repeated heartbeat's 0.52 (docs/kafka/limits.md#heartbeats).
        if deadline is None or (self._appointment is not None and self._at <= deadline):
            return
        self.cancel()
        self._at = deadline
        self._appointment = self._clock.call_at(deadline, self._come)

    def cancel(self) -> None:
        """See `Alarm`."""
        if self._appointment is not None:
            self._appointment.cancel()

    def _come(self) -> None:
        self._appointment = None
        self.ring()


class NoAlarm:
    """It never rings: whoever runs the driver calls `expire` when it is time (a replay, where the journal says when)."""

    def __init__(self) -> None:
        self.ring: Callable[[], None] = _unheard

    def set(self, deadline: int | None) -> None:
        """See `Alarm`."""

    def cancel(self) -> None:
        """See `Alarm`."""


def _unheard() -> None:
    """No driver was built with it."""
