"""Rows that are missing make a hole: a sentence, and nobody is blamed for what was not seen; whoever asks is told every judgement."""

from __future__ import annotations

import pytest
from audit_examples import played

from groupmock.audit.auditor import Auditor, audit
from groupmock.audit.rule import registered
from groupmock.audit.subjects import Link
from groupmock.audit.verdicts import Finding

RULES = registered()
CODE = "CLIENT-05"


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (lambda seq: seq != 7, ["row 7 is missing"]),
        (lambda seq: not 7 <= seq <= 9, ["rows 7 to 9 are missing"]),
        (lambda seq: seq > 6, []),  # the journal begins later: there was nothing before that anybody could miss
    ],
)
def test_a_hole_is_said_in_a_sentence(kept: object, told: list[str]) -> None:
    rows = [row for row in played(RULES[CODE], "kept") if kept(row.seq)]  # type: ignore[operator]
    assert audit(rows).holes == told


def test_rows_out_of_order_are_a_hole_too() -> None:
    rows = played(RULES[CODE], "kept")
    assert audit([*rows[:5], rows[3], *rows[6:]]).holes == ["row 4 comes after row 5: rows are not in order", "rows 5 to 6 are missing"]


def test_every_judgement_is_told_with_whose_it_is() -> None:
    told: list[tuple[str, str | None, Link | None, Finding | None]] = []
    auditor = Auditor([CODE], judged=lambda *judgement: told.append(judgement))
    for row in played(RULES[CODE], "broken"):
        auditor.feed(row)
    found = auditor.close().rules[CODE]
    assert (found.broken, found.kept) == (sum(each[3] is not None for each in told), sum(each[3] is None for each in told))
    assert [each[3] for each in told if each[3] is not None] == found.findings
    assert {each[1] for each in told} == {"g"} and all(each[2] is not None for each in told)
