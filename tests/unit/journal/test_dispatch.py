"""Journal rows reach the method whose annotation names their class, and each reader handles or ignores every kind explicitly."""

from __future__ import annotations

import pytest

from groupmock.audit.auditor import Auditor
from groupmock.journal.dispatch import RowReader, takes
from groupmock.journal.read import UnknownRow
from groupmock.journal.rows import KINDS, CloseRow, NoteRow, OpenRow
from groupmock.rounds import Rebalances
from groupmock.story.teller import StoryTeller
from groupmock.timeline.builder import TimelineBuilder

LATER = UnknownRow(kind="of a later version", seq=9, t=4, fields={})
PASSED_OVER = {
    Auditor: {"timer", "fault", "finding"},
    Rebalances: {"open", "timer", "fault", "command", "client", "finding"},
    StoryTeller: set(),
    TimelineBuilder: {"open", "timer"},
}
"""Kinds of rows that a reader ignores on purpose. A new kind must be handled by each reader or be added here."""


class Connections(RowReader):
    @takes
    def _either(self, row: OpenRow | CloseRow) -> int:
        return row.connection


class Everything(Connections):
    @takes
    def _note(self, row: NoteRow | UnknownRow) -> int:
        return row.t


def test_a_row_reaches_the_method_that_takes_its_class() -> None:
    opened = OpenRow(t=1, connection=7, client_host="/127.0.0.1", client_port=5)
    closed = CloseRow(t=2, connection=8, by="client", reason="the client closed it")
    assert [Connections().feed(row) for row in (opened, closed, NoteRow(t=3, what="end"), LATER)] == [7, 8, None, None]
    assert Connections.kinds == {"open", "close"}


def test_a_reader_keeps_the_methods_of_its_base_and_may_take_rows_of_later_versions() -> None:
    opened = OpenRow(t=1, connection=7, client_host="/127.0.0.1", client_port=5)
    assert [Everything().feed(row) for row in (opened, NoteRow(t=3, what="end"), LATER)] == [7, 3, 4]
    assert Everything.kinds == {"open", "close", "note"}
    assert Connections.kinds == {"open", "close"}


@pytest.mark.parametrize("reader", PASSED_OVER)
def test_every_reader_takes_all_kinds_but_those_that_it_passes_over(reader: type[RowReader]) -> None:
    assert set(KINDS) - reader.kinds == PASSED_OVER[reader]
