"""Run the journal queries of `queries` over a file: the same filter is applied to all rows, which are read one after another and not
kept."""

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
"""A request is forgotten after this many further answers. The row of a fault that changed an answer follows that answer."""


class FileRequests(OpenRequests):
    """Finds the group of each row in a file. Requests that were answered long ago are forgotten, because a file may have any number of
    them."""

    def __init__(self) -> None:
        super().__init__(())
        self._answered: deque[int] = deque()

    def group_of(self, row: Row) -> str | None:
        """Return a row's group, and forget old requests."""
        group = super().group_of(row)
        if isinstance(row, ReplyRow | AbandonedRow):
            self._answered.append(row.ticket)
            if len(self._answered) > ANSWERED:
                self._by_ticket.pop(self._answered.popleft(), None)
        return group


def fitting(journal: JournalReader, wanted: Filter) -> Iterator[Row | UnknownRow]:
    """Return the matching rows of a file. A row of an unknown kind matches only a filter that restricts nothing but the row's number.
    Raises ValueError for a kind that does not exist."""
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
