"""The audit reports missing rows as a hole, blames nobody for events inside the hole, and passes every judgement to its callback."""

from __future__ import annotations

import pytest
from audit_examples import from_a_file, played

from groupmock.audit.auditor import Auditor, audit
from groupmock.audit.judgement import KEPT, Judgements, Kept, NotJudged
from groupmock.audit.rule import Rule, asked, registered
from groupmock.audit.subjects import Exchange, Link
from groupmock.audit.verdicts import Finding
from groupmock.journal.rows import RequestRow
from groupmock_codec.api_keys import HEARTBEAT

RULES = registered()
CODE = "CLIENT-05"


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (lambda seq: seq != 7, ["row 7 is missing"]),
        (lambda seq: not 7 <= seq <= 9, ["rows 7 to 9 are missing"]),
        (lambda seq: seq > 6, []),
    ],
)
def test_a_hole_is_said_in_a_sentence(kept: object, told: list[str]) -> None:
    rows = [row for row in played(RULES[CODE], "kept") if kept(row.seq)]  # type: ignore[operator]
    assert audit(rows).holes == told


def test_rows_out_of_order_are_a_hole_too() -> None:
    rows = played(RULES[CODE], "kept")
    assert audit([*rows[:5], rows[3], *rows[6:]]).holes == ["row 4 comes after row 5: rows are not in order", "rows 5 to 6 are missing"]


def test_a_row_whose_message_is_not_what_its_api_says_is_a_hole_and_no_crash() -> None:
    rows = from_a_file(played(RULES[CODE], "kept"))
    join = next(row for row in rows if isinstance(row, RequestRow) and row.api_key == 11 and row.message["member_id"])
    del join.message["protocols"]
    (hole,) = audit(rows).holes
    assert hole.endswith("does not say what its API says: KeyError: 'protocols'")


def test_every_judgement_is_told_with_whose_it_is() -> None:
    told: list[tuple[str, str | None, Link | None, Kept | NotJudged | Finding]] = []
    auditor = Auditor([CODE], judged=lambda *judgement: told.append(judgement))
    for row in played(RULES[CODE], "broken"):
        auditor.feed(row)
    found = auditor.close().rules[CODE]
    findings = [each[3] for each in told if isinstance(each[3], Finding)]
    assert (found.broken, found.kept) == (len(findings), sum(isinstance(each[3], Kept) for each in told))
    assert findings == found.findings
    assert {each[1] for each in told} == {"g"} and all(each[2] is not None for each in told)


class CrashesLater(Rule):
    """A rule that asks to be called again later and crashes on its second heartbeat."""

    code, title = "CRASHING", "crashes"

    @asked(HEARTBEAT)
    def beats(self, x: Exchange) -> Judgements:
        if x.link.note(self.code, list):
            raise ValueError("no")
        x.link.notes[self.code].append(1)
        self.later(x.at + 1, x.link, self.looks)
        self.later(x.at + 3_600_000_000_000, x.link, self.looks)
        yield KEPT

    def looks(self) -> Judgements:
        yield KEPT


def test_a_rule_that_crashed_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The auditor cancels the timers of a crashed rule and does not keep an ended group for the rule."""
    monkeypatch.setattr("groupmock.audit.auditor.registered", lambda: {"CRASHING": CrashesLater})
    rows = played(RULES[CODE], "kept")
    link = next(row.connection for row in rows if isinstance(row, RequestRow))
    beat = {
        "connection": link,
        "correlation_id": 1,
        "api_key": HEARTBEAT,
        "api_name": "Heartbeat",
        "api_version": 4,
        "size": 1,
        "handled": 0,
    }
    message = {"group_id": "g", "member_id": "m", "generation_id": 1}
    last = rows[-1]
    for number, pause in enumerate((0, 5, 4_000_000_000_000)):
        t = last.t + pause
        rows.append(RequestRow(seq=last.seq + 1 + number, t=t, ticket=1000 + number, received=t, message=message, **beat))
    found = audit(rows).rules["CRASHING"]
    assert (found.kept, found.broken, found.crashed) == (2, 0, "the rule crashed: ValueError: no")
