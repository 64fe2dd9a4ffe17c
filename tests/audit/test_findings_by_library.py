"""Readers of an audit see one finding per rule and client library, with its count, its times, its members and its moment."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as XML

import pytest
from audit_pen import AuditPen, Line

from groupmock.audit.auditor import Auditor
from groupmock.audit.forms import written
from groupmock.audit.report import Report, Source, report_of
from groupmock.audit.verdicts import LIBRARIES, NAMED, SHOWN, Audit
from groupmock.cli import main
from groupmock_codec.api_keys import API_VERSIONS

CODE = "CLIENT-05"
RDKAFKA = ("librdkafka", "2.16.0")


class WrongClients(AuditPen):
    """Writes rows of clients that send a SyncGroup for a generation that they never received."""

    def connects(self, library: tuple[str, str] | None) -> Line:
        line = self.connect()
        if library is not None:
            line.told(
                line.asks(API_VERSIONS, client_software_name=library[0], client_software_version=library[1]), error_code=0, api_keys=[]
            )
        return line

    def wrong(self, library: tuple[str, str] | None, member: str, group: str = "g", times: int = 1) -> None:
        line = self.connects(library)
        line.enters(member, group=group)
        for _ in range(times):
            self.pause(100)
            line.syncs(member, 7, group)
        line.leaves(member, group=group)
        line.closes()

    def audit(self) -> Audit:
        auditor = Auditor([CODE])
        for row in self.rows:
            auditor.feed(row)
        running, ended = auditor.so_far(), auditor.close()
        assert running == ended  # Asking for the findings so far does not change them.
        return ended


@pytest.fixture
def report() -> Report:
    """Three clients, of which two have the same library and one says nothing of itself, in two journals."""
    first, second = WrongClients(), WrongClients()
    first.wrong(RDKAFKA, "a1", times=SHOWN + 5)
    first.wrong(RDKAFKA, "b1", "other")
    first.wrong(None, "c1")
    second.pause(5_000).wrong(RDKAFKA, "d1")
    return report_of([Source(name=name, path=name, audit=pen.audit()) for name, pen in (("one.jsonl", first), ("two.jsonl", second))])


def test_findings_of_a_library_are_one_with_count_times_and_members(report: Report) -> None:
    known, unknown = report.findings()
    assert (known.whole.client, known.whole.count, known.whole.members) == (RDKAFKA, SHOWN + 7, ["app#a1", "app#b1", "app#d1"])
    assert (known.whole.groups, known.client, known.often) == (["g", "other"], "librdkafka 2.16.0", f"{SHOWN + 7} times in 2 journals")
    (source, here), (_, there) = known.places
    assert (source.name, here.count, here.first.t, here.last.t) == ("one.jsonl", SHOWN + 6, 100_000_000, (SHOWN + 6) * 100_000_000)
    assert (there.count, there.first.t) == (1, 5_100_000_000)
    assert (unknown.whole.client, unknown.whole.count, unknown.client) == ((None, None), 1, "an unknown client library")


def test_every_form_has_one_entry_per_library(report: Report) -> None:
    text = written("text", report)
    assert text.count(f"BROKEN {CODE}: ") == 2
    assert "client: librdkafka 2.16.0, 27 times in 2 journals: app#a1, app#b1, app#d1\n" in text and "also: two.jsonl (1 time)\n" in text
    assert "client: an unknown client library, once: app#c1\n" in text
    (run,) = json.loads(written("sarif", report))["runs"]
    assert [each["occurrenceCount"] for each in run["results"]] == [27, 1]
    assert [each["properties"]["library"] for each in run["results"]] == ["librdkafka", None]
    assert run["results"][0]["relatedLocations"][-1]["physicalLocation"]["artifactLocation"]["uri"] == "two.jsonl"
    suites = XML.fromstring(written("junit", report))
    messages = [failure.get("message", "") for failure in suites.iter("failure")]
    ends = ["librdkafka 2.16.0, 26 times from 0.100 s to 2.600 s)", "librdkafka 2.16.0, once)"]
    assert [message.partition(" (")[2] for message in messages] == ends
    html = written("html", report)
    assert html.count("<article") == 2 and "<dd>27 times in 2 journals</dd>" in html and "of 27 occasions" in html


def test_json_keeps_single_occasions_up_to_a_bound(report: Report) -> None:
    told = json.loads(written("json", report))
    known, unknown = told["findings"]
    assert (known["library"], known["version"], known["count"], unknown["library"]) == (*RDKAFKA, 27, None)
    assert [(each["name"], each["count"]) for each in known["journals"]] == [("one.jsonl", 26), ("two.jsonl", 1)]
    tally = told["sources"][0]["audit"]["rules"][CODE]
    assert (tally["broken"], len(tally["findings"]), [each["count"] for each in tally["clients"]]) == (27, SHOWN, [26, 1])
    assert {each["library"] for each in tally["findings"]} == {"librdkafka"}


def test_members_and_libraries_are_bounded_and_counts_are_not() -> None:
    pen = WrongClients()
    for number in range(NAMED + 5):
        pen.wrong(RDKAFKA, f"m{number}")
    for number in range(LIBRARIES + 3):
        pen.wrong(("mine", f"1.{number}"), "x")
    audit = pen.audit()
    known = audit.clients[0]
    assert (known.count, len(known.members), known.more_members, known.more_groups) == (NAMED + 5, NAMED, True, False)
    assert sum(each.count for each in audit.clients) == NAMED + 5 + LIBRARIES + 3 == audit.rules[CODE].broken
    assert [each.count for each in audit.clients if each.library is None] == [4] and len(audit.clients) == LIBRARIES + 1
    (found, *_) = report_of([Source(name="a", audit=audit)]).findings()
    assert found.members == "app#m0, app#m1, app#m2, app#m3 and at least 16 more" and found.timeline() is None


def test_waived_findings_of_a_library_are_apart() -> None:
    pen = WrongClients()
    pen.wrong(RDKAFKA, "a1", "known")
    pen.wrong(RDKAFKA, "b1", "other")
    auditor = Auditor([CODE], waive=lambda finding: "TEAM-1" if finding.group == "known" else None)
    for row in pen.rows:
        auditor.feed(row)
    found = report_of([Source(name="a", audit=auditor.close())])
    assert [(each.whole.waived, each.whole.groups) for each in found.findings()] == [(None, ["other"]), ("TEAM-1", ["known"])]
    assert found.broken


def test_timeline_command_draws_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    """The command in a finding is a command line of groupmock that can be run as it is."""
    import shlex

    import msgspec

    from groupmock.journal.rows import Row
    from groupmock.net.clock import VirtualClock
    from groupmock.rig.wire_rig import rig_header

    monkeypatch.chdir(tmp_path)
    pen = WrongClients()
    pen.pause(3_000).wrong(RDKAFKA, "a1", "it's mine")
    rows: list[Row] = pen.rows
    Path("a b.jsonl").write_bytes(b"\n".join([*map(msgspec.json.encode, (rig_header(VirtualClock()), *rows)), b""]))
    (found,) = report_of([Source(name="a b.jsonl", path="a b.jsonl", audit=pen.audit())]).findings()
    command = found.timeline()
    assert command is not None and "--from 2.100 --to 4.100" in command
    assert main(shlex.split(command)[1:]) == 0
    assert main([*shlex.split(command)[1:], "-o", "moment.svg"]) == 0
    assert Path("moment.html").exists() and CODE in Path("moment.svg").read_text()
