"""The job `audit` reports the same as the audit without Spark, for recorded runs of stock clients and for wrong clients."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_examples import played
from column_pages import documented
from journal_frames import frame
from pyspark.sql import Row, SparkSession
from recorded_journals import FOLDER

from groupmock.audit.auditor import Auditor
from groupmock.audit.judgement import Judgements, NotJudged
from groupmock.audit.rule import Rule, asked, registered
from groupmock.audit.subjects import Exchange
from groupmock.audit.verdicts import BROKEN, NOT_EXERCISED, NOT_JUDGED, SHOWN, VERDICTS, WAIVED, Tally
from groupmock.journal.read import JournalReader
from groupmock.net.clock import VirtualClock
from groupmock.rig.wire_rig import rig_header
from groupmock_codec.api_keys import HEARTBEAT
from groupmock_pipeline.audited.run_audit import PARTS, audited
from groupmock_pipeline.clients import IDENTIFIED, library_of
from groupmock_pipeline.jobs import audit
from groupmock_pipeline.schema import RUNS

Lines = list[bytes]
Told = dict[tuple[str | None, str], tuple[int, int, list[tuple[Any, ...]]]]


def journals() -> dict[str, Lines]:
    """Return header and rows of each journal by name, as lines of a file."""
    found = {path.name.partition(".")[0]: gzip.decompress(path.read_bytes()).splitlines() for path in FOLDER.glob("*.jsonl.gz")}
    header = msgspec.json.encode(rig_header(VirtualClock()))
    for (code, each), which in product(registered().items(), ("kept", "broken")):
        found[f"{code}-{which}"] = [header, *map(msgspec.json.encode, played(each, which))]
    return found


def shown(finding: Any) -> tuple[Any, ...]:
    return (finding.t, finding.sentence, finding.instead, finding.member, finding.member_id, finding.client_id, list(finding.rows))


def live(lines: Lines, folder: Path) -> tuple[Told, Auditor]:
    """Return the findings of an audit of the file without Spark, by group."""
    whole: dict[tuple[str | None, str], Tally] = {}

    def over(group: str | None, tallies: dict[str, Tally]) -> None:
        for code, tally in tallies.items():
            whole.setdefault((group, code), Tally(findings=[])).add(tally)

    path = folder / "one.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    auditor = Auditor(over=over)
    with path.open("rb") as file:
        for row in JournalReader(file):
            auditor.feed(row)
    auditor.close()
    return {key: (tally.kept, tally.broken, sorted(map(shown, tally.findings))) for key, tally in whole.items()}, auditor


@pytest.fixture(scope="module")
def written() -> dict[str, Lines]:
    return journals()


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, written: dict[str, Lines]) -> dict[str, list[Row]]:
    rows = frame(spark, tmp_path_factory.mktemp("rows"), {run: map(json.loads, lines) for run, lines in written.items()})
    found = audit.audit(rows, spark.createDataFrame([], RUNS))
    assert found.columns == list(audit.COLUMNS)
    lines: dict[str, list[Row]] = {run: [] for run in written}
    for line in found.collect():
        lines[line.run].append(line)
    return lines


def test_verdicts_are_those_of_the_audit_of_the_file(table: dict[str, list[Row]], written: dict[str, Lines], tmp_path: Path) -> None:
    broken = 0
    for run, lines in written.items():
        expected, auditor = live(lines, tmp_path)
        exercised = {(line.group, line.rule): line for line in table[run] if line.rule and line.verdict != NOT_EXERCISED}
        told = {key: (line.kept, line.broken, sorted(map(shown, line.findings))) for key, line in exercised.items()}
        assert told == expected, run
        assert {code: tally.verdict for code, tally in auditor.totals.items()} == worst(table[run]), run
        broken += sum(line.verdict == BROKEN for line in table[run])
        for line in exercised.values():
            assert (sum(each.kept for each in line.libraries), sum(each.broken for each in line.libraries)) == (line.kept, line.broken)
    assert broken >= len(registered())


def worst(lines: list[Row]) -> dict[str, str]:
    """Return the worst verdict of each rule in a run."""
    order = [verdict for verdict in VERDICTS if verdict != WAIVED]
    found: dict[str, str] = {}
    for line in (line for line in lines if line.rule is not None):
        found[line.rule] = min(line.verdict, found.get(line.rule, NOT_EXERCISED), key=order.index)
    return found


def test_a_rule_is_counted_for_every_library_of_a_group(table: dict[str, list[Row]]) -> None:
    (line,) = [line for line in table["kafka-python"] if line.rule == "CLIENT-05" and line.group]
    assert [(each.library, each.broken) for each in line.libraries] == [("kafka-python", 0)] and line.libraries[0].version
    assert line.client_ids == [f"kafka-python-{line.libraries[0].version}"]


def test_the_library_of_a_connection_is_that_of_the_other_jobs(spark: SparkSession) -> None:
    told = [None, ("librdkafka", "2.16.0"), ("sarama", "")]
    shape = "software struct<client_software_name: string, client_software_version: string>"
    table = spark.createDataFrame([(software,) for software in told], shape)
    found = table.selectExpr(*(f"{text} as {name}" for name, text in IDENTIFIED.items())).collect()
    assert [tuple(line) for line in found] == [library_of(software) for software in told]
    assert [tuple(line) for line in found] == [("unknown", None), ("librdkafka", "2.16.0"), ("sarama", None)]


def test_the_page_of_audit_has_every_column() -> None:
    assert documented("audit", audit.COLUMNS) == (set(), set())


# -- what cannot be judged ---------------------------------------------------------------------------------------------------------------


class Crashing(Rule):
    """A rule that always raises an exception."""

    code, title, severity = "CRASHING", "crashes", "error"

    @asked(HEARTBEAT)
    def crashes(self, x: Exchange) -> Judgements:
        raise ValueError("\x1b[2J")
        yield


def test_a_rule_that_crashes_is_unknown_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, written: dict[str, Lines], table: dict[str, list[Row]]
) -> None:
    """The job runs in this process, because Spark's worker processes would not know the planted rule."""
    rules = {**registered(), "CRASHING": Crashing}
    monkeypatch.setattr("groupmock.audit.auditor.registered", lambda: rules)
    lines = [line for batch in audited()(iter([batch_of(written["aiokafka"])])) for line in batch.to_pylist()]
    crashed = [line for line in lines if line["crashed"] and line["rule"]]
    assert [(line["rule"], line["kept"], line["crashed"]) for line in crashed] == [("CRASHING", 0, "the rule crashed: ValueError: \x1b[2J")]
    others = Counter[str]()
    for line in lines:
        others[line["rule"]] += line["kept"]
    alone = Counter[str]()
    for line in table["aiokafka"]:
        alone[line.rule] += line.kept
    assert +others == +alone


class LooksAway(Rule):
    """A rule that can look at no heartbeat."""

    code, title, severity = "LOOKS-AWAY", "looks away", "error"

    @asked(HEARTBEAT)
    def beats(self, x: Exchange) -> Judgements:
        yield NotJudged("why not")


def test_a_rule_that_can_look_at_nothing_is_not_judged_with_its_reason(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, written: dict[str, Lines]
) -> None:
    """The worker's lines are made in this process, because Spark's worker processes would not know the planted rule."""
    monkeypatch.setattr("groupmock.audit.auditor.registered", lambda: {"LOOKS-AWAY": LooksAway})
    parts = [line for batch in audited()(iter([batch_of(written["aiokafka"])])) for line in batch.to_pylist()]
    found = audit.lines(spark.createDataFrame([*parts, *parts], PARTS)).where("rule is not null").collect()
    times = sum(each["times"] for line in parts for each in line["not_judged"])
    assert times and [(line.verdict, line.reason, list(map(tuple, line.not_judged))) for line in found if line.group] == [
        (NOT_JUDGED, None, [("why not", 2 * times)])
    ]


def batch_of(lines: Lines) -> Any:
    """Return rows in the form in which a Spark worker receives them."""
    import pyarrow as pa

    from groupmock_pipeline.audited.lake_rows import COLUMNS

    rows = [json.loads(line) for line in lines[1:]]
    names = {"day": "d", "run": "r", "at": 0, "delivered": True}
    columns = {name: [names[name] if name in names and name not in row else row.get(name) for row in rows] for name in COLUMNS[:-1]}
    said = [row.get("message", row.get("fields")) for row in rows]
    content = [None if each is None else json.dumps(each) for each in said]
    return pa.RecordBatch.from_pydict({**columns, "content": content})


def test_findings_are_bounded(written: dict[str, Lines]) -> None:
    """If a client repeats a mistake, the table shows the first findings and counts all of them."""
    code = "CLIENT-05"
    lines = written[f"{code}-broken"]
    sync = next(place for place, line in enumerate(lines) if place and json.loads(line).get("api_key") == 14)
    pair = [json.loads(line) for line in lines[sync : sync + 2]]
    many = [line | {"ticket": 1000 + number} for number in range(SHOWN + 5) for line in pair]
    rows = [json.loads(line) for line in lines[1:sync]] + many
    numbered = [lines[0], *(json.dumps(row | {"seq": seq}).encode() for seq, row in enumerate(rows, 1))]
    told = [line for batch in audited([code])(iter([batch_of(numbered)])) for line in batch.to_pylist() if line["group"]]
    assert [(line["broken"], len(line["findings"])) for line in told] == [(SHOWN + 5, SHOWN)]
