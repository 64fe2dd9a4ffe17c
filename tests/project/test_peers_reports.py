"""The recorded reports about other servers have the rules of the probe, and show no broken rule for Apache Kafka and groupmock."""

from __future__ import annotations

import msgspec
import pytest

from groupmock_clients.probe.language.exchange_suite import Statement, Suite, load_suite
from groupmock_clients.probe.report.json import from_json
from tools.pages.__main__ import main as write_pages
from tools.peers.probing import added, older_than_rules, plain, plain_suite
from tools.records import RECORDS

DATA = RECORDS / "peers"
CLEAN = ("apache-kafka-4.4.0", "apache-kafka-4.3.0", "apache-kafka-3.9.1", "groupmock", "groupmock-4.3")


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_broken_where_it_must_not_be(name: str) -> None:
    report = from_json((DATA / f"{name}.json").read_bytes())
    assert [row.row for row in report.rows if row.verdict == "broken"] == []
    assert report.counts["rows"]["kept"] > 230


def test_reports_are_slim() -> None:
    """The page needs no transcripts and dialogues of kept rules, so the repository does not contain them."""
    for file in DATA.glob("*.json"):
        report = from_json(file.read_bytes())
        assert [each.name for each in report.exchanges if each.verdict != "broken" or each.transcript] == []


def test_a_report_that_is_older_than_a_rule_is_named() -> None:
    reports = {"groupmock": from_json((DATA / "groupmock.json").read_bytes())}
    rows = dict(load_suite().rows)
    assert older_than_rules(reports, Suite((), rows)) == []
    (sentence,) = older_than_rules(reports, Suite((), rows | {"CG-9999": Statement("CG-9999", "")}))
    assert sentence.startswith("the report of groupmock was made with other rules than the probe has now (1 differ, CG-9999 first)")


def test_a_report_takes_up_the_rows_that_it_lacks() -> None:
    whole = from_json((DATA / "groupmock.json").read_bytes())
    *others, last = whole.rows
    before = msgspec.structs.replace(whole, rows=tuple(others), counts={"rows": {"kept": 9}, "exchanges": {"kept": 3, "broken": 1}})
    assert list(plain_suite({row.row for row in before.rows}).rows) == [last.row]
    later = msgspec.structs.replace(whole, rows=(last,), counts={"rows": {"kept": 1}, "exchanges": {"kept": 2}}, exchanges=())
    found = added(before, later)
    assert found.rows == whole.rows
    assert found.counts == {"rows": {"kept": sum(row.verdict == "kept" for row in whole.rows)}, "exchanges": {"kept": 5, "broken": 1}}


def test_a_kept_report_has_no_rows_about_security() -> None:
    whole = from_json((DATA / "groupmock.json").read_bytes())
    secured = msgspec.structs.replace(whole.rows[0], row="SEC-01", verdict="not applicable")
    counted = {"rows": {**whole.counts["rows"], "not applicable": 999}, "exchanges": whole.counts["exchanges"]}
    assert plain(msgspec.structs.replace(whole, rows=(*whole.rows, secured), counts=counted)) == whole


def test_pages_with_a_report_older_than_the_rules_fail_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["pages", "peers"])
    monkeypatch.setattr("tools.pages.__main__.written", lambda name: False)
    assert write_pages() == 0
    suite = load_suite()
    monkeypatch.setattr("tools.pages.peers_page.load_suite", lambda: Suite((), dict(list(suite.rows.items())[1:])))
    assert write_pages() == 1
    assert "docs/proof/peers.md: the report of groupmock was made with other rules" in capsys.readouterr().err
