"""The questions of `queries`, asked of a journal file: the same filter, over all rows. They are read one after the other, none is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from ..journal.read import JournalReader, UnknownRow
from ..journal.rows import AbandonedRow, ReplyRow, Row
from ..watch.levels import of_log
from .arrivals import OpenRequests
from .row_test import ANY, Filter, RowTest

ANSWERED: Final = 1000
"""So many answers ago a request is still known: the rows of a fault that struck its answer stand behind it."""


class FileRequests(OpenRequests):
    """Which group a row of a file belongs to. A request whose answer is long past is forgotten: a file may have any number of them."""

    def __init__(self) -> None:
        super().__init__(())
        self._answered: deque[int] = deque()

    def group_of(self, row: Row) -> str | None:
        """See `OpenRequests.group_of`."""
        group = super().group_of(row)
        if isinstance(row, ReplyRow | AbandonedRow):
            self._answered.append(row.ticket)
            if len(self._answered) > ANSWERED:
                self._by_ticket.pop(self._answered.popleft(), None)
        return group


def fitting(journal: JournalReader, wanted: Filter) -> Iterator[Row | UnknownRow]:
    """The rows of a file that fit. One of a kind that this version does not know fits where nothing but its number is asked for. Raises
    ValueError for a kind that does not exist."""
    test = RowTest(wanted)
    log: bool = getattr(wanted, "log", False)
    found = _fitting(journal, test, unknown=test.key[0] == ANY and not log, since=wanted.since)
    return (row for row in found if isinstance(row, Row) and of_log(row)) if log else found


def _fitting(journal: JournalReader, test: RowTest, unknown: bool, since: int) -> Iterator[Row | UnknownRow]:
    requests = FileRequests()
    for row in journal:
        if isinstance(row, UnknownRow):
            if unknown and row.seq > since:
                yield row
            continue
        group = requests.group_of(row)
        if test.group in (None, group) and test.fits(row):
            yield row
