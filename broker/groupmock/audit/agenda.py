"""Appointments of rules: a rule looks again once time has passed, in the journal's time, so nobody waits.

An appointment about a subject that is gone lets go of it at once, because a subject holds whole requests, and its time may be an hour away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .judgement import Judgements
    from .subjects import Subject

SWEEP: Final = 1_000
"""From so many appointments on, those that are off are removed when they are most."""


class Appointment:
    """`at`: when (ns); `about`: whom; `code`: for which rule, "" for the world itself; `look`: what to do, None if it is off."""

    __slots__ = ("about", "at", "code", "look")

    def __init__(self, at: int, about: Subject, code: str, look: Callable[[], Judgements]) -> None:
        self.at, self.code = at, code
        self.about: Subject | None = about
        self.look: Callable[[], Judgements] | None = look

    def off(self) -> None:
        """Cancel the appointment, which then holds nothing."""
        if self.about is not None:
            self.about.due.discard(self)
        self.about = self.look = None


class Agenda:
    """Appointments by time; those of one time in the order in which they were made."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Appointment]] = []
        self._numbers = count()
        self._sweep = SWEEP

    def add(self, at: int, about: Subject, code: str, look: Callable[[], Judgements]) -> Callable[[], None]:
        """Look at `at` (ns), unless the subject is gone by then. Returns what calls it off."""
        made = Appointment(at, about, code, look)
        if about.gone:
            return made.off
        about.due.add(made)
        heappush(self._heap, (at, next(self._numbers), made))
        if len(self._heap) >= self._sweep:
            self._heap = [each for each in self._heap if each[2].look is not None]
            heapify(self._heap)
            self._sweep = max(SWEEP, 2 * len(self._heap))
        return made.off

    @property
    def next(self) -> int | None:
        """Return when the first appointment is, perhaps one that was cancelled, or None."""
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> Iterator[Appointment]:
        """Yield the appointments whose time has passed and remove them. A look may make others, which come in their turn."""
        while self._heap and self._heap[0][0] <= now:
            over = heappop(self._heap)[2]
            if over.about is not None:
                over.about.due.discard(over)
                yield over
