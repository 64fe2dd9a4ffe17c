"""The four formats of a report contain what they should and can be parsed by their usual readers."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree as XML

import msgspec
from cases import for_each

from groupmock_clients.probe.language.exchange_suite import load_suite
from groupmock_clients.probe.program import exit_code
from groupmock_clients.probe.report import FORMS
from groupmock_clients.probe.report.json import from_json
from groupmock_clients.probe.report.text import as_text
from groupmock_clients.probe.verdicts.outcome import BROKEN, KEPT, MAY_BE_RELEASE, NOT_APPLICABLE, UNKNOWN, DialogueOutcome, Failure
from groupmock_clients.probe.verdicts.report_model import (
    SCHEMA,
    BrokenDialogue,
    BrokerFacts,
    DeathFact,
    Report,
    counts,
    exchange_results,
    row_results,
)

SUITE = load_suite()
NASTY = '<b>&\x00\ud7ff\' "quoted"'


def report(newer: bool = False) -> Report:
    failure = Failure("x.exchange:3", "A: Heartbeat -> 0", "Heartbeat v4 {group_id: 'g'}", "0", NASTY, ("error 0 expected, 25 seen",))
    outcomes = [
        DialogueOutcome("SERVER-01-unknown[v=4]", ("SERVER-01",), KEPT, transcript=["a line"]),
        DialogueOutcome("SERVER-01-unknown[v=5]", ("SERVER-01",), BROKEN, f"x.exchange:3: {NASTY}", ["sent", NASTY], failure, attempts=3),
        DialogueOutcome("SERVER-02-new[v=0]", ("SERVER-02",), KEPT),
        DialogueOutcome("SERVER-48", ("SERVER-48",), UNKNOWN, "needs a command of the core", beyond=True),
        DialogueOutcome("J2", ("J2",), NOT_APPLICABLE, "not advertised"),
    ]
    exchanges = exchange_results(SUITE, outcomes, False, newer)
    rows = row_results(SUITE, ["SERVER-01", "SERVER-02", "SERVER-48", "J2", "SERVER-66"], exchanges, newer)
    facts = BrokerFacts("broker:9092", 3, "4.3", "certain: all", {"group.max.size": "5"}, ("group.max.size",), newer)
    return Report(SCHEMA, "0.0", "2026-11-21T16:00:00+00:00", 1.5, facts, counts(rows, exchanges), rows, exchanges, ("left-1",))


STEERS = "\x1b[2J\r\nFORGED\x9b\u202e\u2028\ud800 \\x1b"


@for_each("form", [form for form in FORMS if form != "json"])
def test_a_broker_steers_nobody_who_reads_of_it(form: str) -> None:
    """The report escapes the broker's texts and uses only its own colours."""
    whole = report()
    broken = BrokenDialogue("x:1", STEERS, STEERS, STEERS, STEERS, (STEERS,))
    first, second, *others = whole.exchanges
    exchanges = (first, msgspec.structs.replace(second, detail=STEERS, broken=broken, transcript=(STEERS,)), *others)
    rows = (msgspec.structs.replace(whole.rows[0], detail=STEERS), msgspec.structs.replace(whole.rows[2], detail=STEERS))
    facts = msgspec.structs.replace(whole.broker, settings={"group.max.size": STEERS}, sure=STEERS)
    death = DeathFact((STEERS,), "", "", False, STEERS)
    text = FORMS[form](msgspec.structs.replace(whole, broker=facts, rows=rows, exchanges=exchanges, left_behind=(STEERS,), deaths=(death,)))
    assert "FORGED\\x9b\\u202e\\u2028\\ud800" in text
    assert [ascii(each) for each in text if each != "\n" and not each.isprintable()] == []
    assert [line for line in text.splitlines() if line.lstrip().startswith("FORGED")] == []


def test_json_is_printable_ascii_and_the_same() -> None:
    whole = msgspec.structs.replace(report(), left_behind=("\x1b\u202eé\U0001f600\x7f",))
    text = FORMS["json"](whole)
    assert text.isascii() and [each for each in text if each != "\n" and not each.isprintable()] == []
    assert from_json(text) == whole


def test_rows_are_judged_by_their_dialogues() -> None:
    found = {row.row: (row.verdict, row.kept, row.of) for row in report().rows}
    assert found == {
        "SERVER-01": ("broken", 1, 2),
        "SERVER-02": ("kept", 1, 1),
        "SERVER-48": ("unknown", 0, 1),
        "J2": ("not applicable", 0, 0),
        "SERVER-66": ("unknown", 0, 0),
    }


def test_what_nobody_could_see_does_not_hide_what_was_seen() -> None:
    outcomes = [DialogueOutcome("J5", ("J5",), KEPT), DialogueOutcome("J5-record", ("J5",), UNKNOWN, "needs the log", beyond=True)]
    (row,) = row_results(SUITE, ["J5"], exchange_results(SUITE, outcomes, False))
    assert row.verdict == KEPT


def test_a_check_that_failed_hides_it() -> None:
    outcomes = [DialogueOutcome("J5", ("J5",), KEPT), DialogueOutcome("J5-x", ("J5",), UNKNOWN, "the check failed")]
    (row,) = row_results(SUITE, ["J5"], exchange_results(SUITE, outcomes, False))
    assert (row.verdict, row.detail) == (UNKNOWN, "J5-x: the check failed")


SAID = [
    "BROKEN  SERVER-01",
    "kept    SERVER-02",
    "why it matters: ",
    "from: KIP-394, docs/kafka/group-protocol.md#server-assertions",
    "at:       x.exchange:3  A: Heartbeat -> 0",
    "sent:     Heartbeat v4",
    "expected: 0",
    "so: error 0 expected, 25 seen",
    "rows: 1 kept, 1 broken, 2 unknown, 1 not applicable",
    "left behind, could not be deleted: left-1",
    "group.max.size = 5 (measured)",
]


def test_text_says_what_was_sent_expected_seen_and_why() -> None:
    text = FORMS["text"](report())
    assert [part for part in SAID if part not in text] == []
    assert "\033[" not in text


def test_text_tells_each_exchange_once() -> None:
    failure = Failure("x.exchange:3", "A: Heartbeat -> 0", "Heartbeat v4", "0", "25", ("error 0 expected, 25 seen",))
    outcomes = [DialogueOutcome(f"SERVER-42[v={v}]", ("H3", "H4"), BROKEN, "x", [], failure) for v in range(3)]
    exchanges = exchange_results(SUITE, outcomes, False)
    rows = row_results(SUITE, ["H3", "H4"], exchanges)
    text = as_text(msgspec.structs.replace(report(), rows=rows, exchanges=exchanges))
    assert text.count("so: error 0 expected, 25 seen") == 1
    assert text.count("also [v=1], [v=2]") == 2 and text.count("(told under H3)") == 1


def test_text_has_colours_when_asked() -> None:
    assert "\033[31;1mBROKEN" in as_text(report(), colour=True)


def test_json_is_the_model() -> None:
    assert from_json(FORMS["json"](report())) == report()


def test_json_has_the_documented_fields() -> None:
    found = msgspec.json.decode(FORMS["json"](report()))
    assert found["schema"] == "groupmock.probe/1"
    assert list(found) == ["schema", "groupmock", "started", "seconds", "broker", "counts", "rows", "exchanges", "left_behind", "deaths"]
    assert list(found["rows"][0]) == ["row", "says", "why", "kip", "place", "verdict", "detail", "kept", "of", "exchanges"]
    assert list(found["exchanges"][0]) == [
        "name", "title", "rows", "verdict", "detail", "attempts", "stretched", "seconds", "beyond", "broken", "asides", "transcript",
    ]  # fmt: skip


def test_junit_is_loadable_and_counts_right() -> None:
    root = XML.fromstring(FORMS["junit"](report()))
    assert root.tag == "testsuites"
    assert {suite.get("name"): (suite.get("tests"), suite.get("failures"), suite.get("skipped")) for suite in root} == {
        "rows": ("5", "1", "3"),
        "exchanges": ("5", "1", "2"),
    }
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("10", "2", "5")
    for case in root.iter("testcase"):
        assert case.get("classname") and case.get("name") and float(case.get("time", "x")) >= 0
    (failure,) = (case.find("failure") for case in root.iter("testcase") if case.get("name", "").startswith("SERVER-01-unknown[v=5]"))
    assert failure is not None and "<b>&" in (failure.text or "")


class Page(HTMLParser):
    """Collects open elements of a page and the addresses that it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.bold: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_one_well_formed_page_that_fetches_nothing() -> None:
    text = FORMS["html"](report())
    page = Page()
    page.feed(text)
    page.close()
    assert (page.open, page.fetched) == ([], [])
    assert "&lt;b&gt;&amp;" in text and "<b>&" not in text
    assert "<script" not in text and "url(" not in text and "@import" not in text


DEATH = DeathFact(("SERVER-02-new[v=0]",), "SERVER-02-new[v=0]", "", False, "it did not come back & stayed away")


@for_each(
    ("form", "said"),
    [
        ("text", "DIED    the server died of SERVER-02-new[v=0]; it did not come back & stayed away"),
        ("html", '<p class="broken">the server died of SERVER-02-new[v=0]; it did not come back &amp; stayed away</p>'),
        ("junit", 'message="the server died of SERVER-02-new[v=0]; it did not come back &amp; stayed away"'),
        ("json", '"culprit": "SERVER-02-new[v=0]"'),
    ],
)
def test_every_form_tells_of_a_server_that_died(form: str, said: str) -> None:
    assert said in FORMS[form](msgspec.structs.replace(report(), deaths=(DEATH,)))
    assert "died" not in FORMS[form](report())


def test_junit_counts_a_death_as_a_failure() -> None:
    root = XML.fromstring(FORMS["junit"](msgspec.structs.replace(report(), deaths=(DEATH,))))
    assert (root.get("tests"), root.get("failures")) == ("11", "3")


@for_each("form", FORMS)
def test_every_form_names_the_broken_row(form: str) -> None:
    assert "SERVER-01" in FORMS[form](report())


def test_what_a_newer_broker_does_differently_may_be_the_release() -> None:
    """If a newer broker answers differently, the rule does not count as broken, but the report shows the difference as fully as a broken
    rule."""
    whole = report(newer=True)
    assert {row.row: row.verdict for row in whole.rows}["SERVER-01"] == MAY_BE_RELEASE
    assert whole.counts["rows"][BROKEN] == whole.counts["exchanges"][BROKEN] == 0
    assert exit_code(whole, False) == 4
    text = as_text(whole)
    assert "Different, which may be the release:" in text and "error 0 expected, 25 seen" in text and "BROKEN" not in text
    assert '<details class="is-newer" open>' in FORMS["html"](whole)
    assert XML.fromstring(FORMS["junit"](whole)).get("failures") == "0"


def test_a_dialogue_that_kills_a_newer_broker_is_broken() -> None:
    killed = DialogueOutcome("SERVER-01-unknown[v=4]", ("SERVER-01",), BROKEN, "the server died", fatal=True)
    assert exchange_results(SUITE, [killed], False, newer=True)[0].verdict == BROKEN
