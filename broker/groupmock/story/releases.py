"""Remember why records of a share group became available again, which the lines about them tell at the next delivery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..journal.rows import NoteRow

KEPT: Final = 1000
"""At most this many releases of one partition are remembered, to say why a record comes again."""
Runs = Sequence[Sequence[int]]


class Releases:
    """The reasons for which records of one group are available again, the newest last."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, int], list[tuple[int, int, str]]] = {}

    def add(self, row: NoteRow, runs: Runs, reason: str) -> None:
        known = self._of.setdefault(place(row), [])
        known += [(run[0], run[1], reason) for run in runs]
        del known[:-KEPT]

    def reason(self, where: tuple[str, int], offset: int) -> str | None:
        """Return why a record of a partition became available again the last time."""
        known = self._of.get(where, ())
        return next((reason for first, last, reason in reversed(known) if first <= offset <= last), None)


def place(row: NoteRow) -> tuple[str, int]:
    """Return the partition of a note about records."""
    return str(row.fields["topic"]), int(row.fields["partition"])
