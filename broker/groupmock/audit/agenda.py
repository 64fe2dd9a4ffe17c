"""What rules want to look at again once time has passed, in the journal's time: nobody waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .judgement import Judgements
    from .subjects import Subject

SWEEP: Final = 1_000
"""From so many appointments on it is looked whether most of them are off."""


class Appointment(NamedTuple):
    """`about`: whom; of a subject that is gone nothing is looked at. `off`: was it called off?"""

    at: int
    number: int
    about: Subject
    code: str
    look: Callable[[], Judgements]
    off: list[bool]


class Agenda:
    """Appointments by time; those of one time in the order in which they were made."""

    def __init__(self) -> None:
        self._heap: list[Appointment] = []
        self._numbers = count()
        self._sweep = SWEEP

    def add(self, at: int, about: Subject, code: str, look: Callable[[], Judgements]) -> Callable[[], None]:
        """Look at `at` (ns). Returns what calls it off."""
        off: list[bool] = []
        heappush(self._heap, Appointment(at, next(self._numbers), about, code, look, off))
        if len(self._heap) >= self._sweep:
            self._heap = [each for each in self._heap if not (each.off or each.about.gone)]
            heapify(self._heap)
            self._sweep = max(SWEEP, 2 * len(self._heap))
        return lambda: off.append(True)

    @property
    def next(self) -> int | None:
        """When the first one is, perhaps one that is called off; None: there is none."""
        return self._heap[0].at if self._heap else None

    def due(self, now: int) -> Iterator[Appointment]:
        """Those whose time has passed, taken out. A look may make others, and those come in their turn."""
        while self._heap and self._heap[0].at <= now:
            over = heappop(self._heap)
            if not (over.off or over.about.gone):
                yield over
