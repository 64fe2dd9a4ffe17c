"""The report formats agree, follow their standards (for example SARIF), and escape names that come from peers."""

from __future__ import annotations

import json
from xml.etree import ElementTree as XML

import pytest
from audit_examples import played

from groupmock.audit.auditor import Auditor, audit
from groupmock.audit.forms import FORMS, written
from groupmock.audit.judgement import KEPT, Judgements, NotJudged
from groupmock.audit.report import Report, Source, report_of
from groupmock.audit.rule import Rule, asked, registered
from groupmock.audit.subjects import Exchange
from groupmock.audit.verdicts import BROKEN, NOT_JUDGED, OTHER_REASONS, REASONS, Tally
from groupmock.audit.verdicts import KEPT as KEPT_VERDICT
from groupmock_codec.api_keys import JOIN_GROUP

EVIL = "<script>alert(1)</script>\x1b[2J\u202e\n]]>"


def report(which: str, waived: str | None = None) -> Report:
    rule = registered()["CLIENT-05"]
    auditor = Auditor(waive=lambda finding: waived)
    for row in played(rule, which):
        auditor.feed(row)
    return report_of([Source(name="a journal.jsonl", audit=auditor.close())])


@pytest.fixture(scope="module")
def broken() -> Report:
    return report("broken")


def test_text_names_the_sentence_the_right_way_and_the_rows(broken: Report) -> None:
    text = written("text", broken)
    finding = broken.findings()[0].first
    assert finding.sentence in text and finding.instead in text and str(finding.rows[-1]) in text
    assert "groupmock explain CLIENT-05" in text


def test_json_has_the_verdict_of_every_rule(broken: Report) -> None:
    told = json.loads(written("json", broken))
    rules = told["sources"][0]["audit"]["rules"]
    assert told["verdict"] == BROKEN and rules["CLIENT-05"]["verdict"] == BROKEN
    assert set(rules) == set(told["rules"]) == set(registered())


def test_junit_counts_what_it_has(broken: Report) -> None:
    root = XML.fromstring(written("junit", broken))
    (suite,) = root
    assert int(suite.get("tests", "")) == len(suite) == len(registered())
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure")) >= 1
    assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))


def test_sarif_points_at_the_line_of_the_row(broken: Report) -> None:
    told = json.loads(written("sarif", broken))
    (run,) = told["runs"]
    result = run["results"][0]
    assert told["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    place = result["locations"][0]["physicalLocation"]
    finding = broken.findings()[0].first
    assert place["region"]["startLine"] == finding.rows[-1] + 1
    assert place["artifactLocation"]["uri"] == "a%20journal.jsonl"


def test_a_waived_finding_breaks_nothing_and_is_shown() -> None:
    waived = report("broken", "known; TEAM-1")
    assert not waived.broken
    assert "waived: known; TEAM-1" in written("text", waived)
    assert XML.fromstring(written("junit", waived)).get("failures") == "0"
    (run,) = json.loads(written("sarif", waived))["runs"]
    assert run["results"][0]["suppressions"][0]["justification"] == "known; TEAM-1"


def test_a_rule_that_crashed_is_an_error_and_no_failure() -> None:
    found = report("kept")
    found.sources[0].audit.rules["CLIENT-05"] = Tally(crashed="the rule crashed: ValueError: <b>")
    assert found.unknown and not found.broken
    assert XML.fromstring(written("junit", found)).get("errors") == "1"
    assert "the rule crashed" in written("text", found)


class LooksAway(Rule):
    """A rule that cannot look at a JoinGroup without a member id; `keeps` decides about the others."""

    code, title, severity, keeps = "LOOKS-AWAY", "looks away", "error", False
    what = why = fix = "nothing"
    source = ("clients.md",)

    @asked(JOIN_GROUP)
    def joins(self, x: Exchange) -> Judgements:
        if not x.asked["member_id"]:
            yield NotJudged("the member has no id")
        elif self.keeps:
            yield KEPT


@pytest.mark.parametrize(("keeps", "verdict"), [(False, NOT_JUDGED), (True, KEPT_VERDICT)])
def test_occasions_not_judged_are_told_with_their_reason_in_every_form(monkeypatch: pytest.MonkeyPatch, keeps: bool, verdict: str) -> None:
    rows = played(registered()["CLIENT-05"], "kept")
    planted = {"LOOKS-AWAY": type("Planted", (LooksAway,), {"keeps": keeps})}
    monkeypatch.setattr("groupmock.audit.auditor.registered", lambda: planted)
    monkeypatch.setattr("groupmock.audit.report.registered", lambda: planted)
    found = report_of([Source(name="a.jsonl", audit=audit(rows))])
    tally = found.whole.rules["LOOKS-AWAY"]
    assert (tally.verdict, tally.not_judged, bool(tally.kept)) == (verdict, {"the member has no id": 1}, keeps)
    assert found.whole.verdict == verdict and not found.broken and not found.unknown
    for form in FORMS:
        # A rule that was kept passes in JUnit, with the occasions that were not judged in its output.
        assert "1 not judged: the member has no id" in written(form, found) or form == "json", form
    told = json.loads(written("json", found))["sources"][0]["audit"]["rules"]["LOOKS-AWAY"]
    assert (told["verdict"], told["not_judged"]) == (verdict, {"the member has no id": 1})
    case = XML.fromstring(written("junit", found)).find("testsuite/testcase")
    assert case is not None and (case.find("skipped") is None) == keeps


def test_reasons_are_bounded_and_counts_are_not() -> None:
    whole, part = Tally(), Tally()
    for number in range(REASONS + 3):
        part.leave(f"reason {number}", 2)
    whole.add(part)
    whole.add(part)
    assert len(whole.not_judged) == REASONS + 1 and sum(whole.not_judged.values()) == 4 * (REASONS + 3)
    assert whole.not_judged[OTHER_REASONS] == 12 and whole.verdict == NOT_JUDGED


@pytest.mark.parametrize("form", FORMS)
def test_names_of_peers_are_only_text(broken: Report, form: str) -> None:
    text = written(form, hostile(report("broken")))
    assert "\x1b" not in text and "\u202e" not in text
    if form in ("html", "junit"):
        assert "<script" not in text


def hostile(told: Report) -> Report:
    for source in told.sources:
        source.name = source.path = EVIL
        source.notices = [EVIL]
        for each in source.audit.clients:
            each.library = each.version = each.waived = EVIL
            each.members, each.groups = [EVIL] * 9, [EVIL]
        for finding in [*source.audit.findings, *(each.first for each in source.audit.clients)]:
            finding.library = finding.version = finding.waived = EVIL
            finding.sentence = finding.instead = finding.group = finding.member = finding.member_id = finding.client_id = EVIL
    told.notices = [EVIL]
    return told
