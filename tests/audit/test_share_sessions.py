"""The audit remembers a bounded number of acknowledged records, and goes on judging when it has forgotten the oldest."""

from __future__ import annotations

from typing import Any

from groupmock.audit.share_sessions import REMEMBERED, Records


def acknowledged_one_by_one(many: int) -> Records:
    records, request = Records(), object()
    given: Any = request
    for offset in range(many):
        records.acquires((offset, offset))
        records.acknowledges((offset, offset), given)
    return records


def test_the_oldest_acknowledgements_are_forgotten() -> None:
    records = acknowledged_one_by_one(REMEMBERED)
    assert (len(records.done), records.forgot) == (REMEMBERED, False)
    records = acknowledged_one_by_one(REMEMBERED + 2)
    assert (records.done[0][0], len(records.done), records.forgot, records.unsure) == ((2, 2), REMEMBERED, True, False)


def test_a_record_that_is_delivered_again_is_no_longer_done() -> None:
    records = acknowledged_one_by_one(5)
    records.acquires((3, 6))
    assert (records.held, [run for run, _ in records.done]) == ([(3, 6)], [(0, 0), (1, 1), (2, 2)])


def test_nothing_is_known_of_a_session_that_holds_too_many_runs() -> None:
    records = Records()
    for offset in range(0, 2 * REMEMBERED + 2, 2):
        records.acquires((offset, offset))
    assert (records.unsure, records.held) == (True, [])
