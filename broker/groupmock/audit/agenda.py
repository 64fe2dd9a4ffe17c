"""A rule can ask to look at a client again when a certain time of the journal is reached, so that it need not wait.

An appointment may be an hour away, and a subject refers to whole requests. So an appointment drops its subject as soon as that has ended.
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
"""Cancelled appointments are removed from an agenda of at least this size when they are the majority."""


class Appointment:
    """The wish of a rule to look at a connection, group or member again at a certain time. `at` is its time (ns), `about` its subject,
    `code` the rule's code ("" for the world itself), and `look` the function to call, None if cancelled."""

    __slots__ = ("about", "at", "code", "look")

    def __init__(self, at: int, about: Subject, code: str, look: Callable[[], Judgements]) -> None:
        self.at, self.code = at, code
        self.about: Subject | None = about
        self.look: Callable[[], Judgements] | None = look

    def off(self) -> None:
        """Cancel the appointment and drop the objects that it holds."""
        if self.about is not None:
            self.about.due.discard(self)
        self.about = self.look = None


class Agenda:
    """Appointments ordered by time; appointments of the same time keep the order in which they were made."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Appointment]] = []
        self._numbers = count()
        self._sweep = SWEEP

    def add(self, at: int, about: Subject, code: str, look: Callable[[], Judgements]) -> Callable[[], None]:
        """Add an appointment at the time `at` (ns), unless the connection, group or member is gone by then. Returns the function that
        cancels it."""
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
        """Return the time of the first appointment, which may be cancelled, or None."""
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> Iterator[Appointment]:
        """Remove and yield the appointments whose time has come. A look may make others, which come in their turn."""
        while self._heap and self._heap[0][0] <= now:
            over = heappop(self._heap)[2]
            if over.about is not None:
                over.about.due.discard(over)
                yield over
