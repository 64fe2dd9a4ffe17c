"""Log lines exist for the right rows in the right format, and no row can crash the server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from cases import for_each
from kitchen_of_two import TwoMembers

from groupmock.journal.rows import CloseRow, ErrorAt, MovedRow, NoteRow, ReplyRow, Row
from groupmock.net.clock import ClockAlarm
from groupmock.watch.levels import level_of
from groupmock.watch.log import FORMS, LogSink

MOVED = MovedRow(seq=4, t=1_500_000_000, group="g", before="Empty", after="Stable", generation=1, reason="because", members=1)
PLACE = {"connection": 1, "ticket": 1, "correlation_id": 1, "api_key": 12, "api_name": "Heartbeat", "api_version": 4}

INSIDE = [
    ErrorAt(path="topics[0].partitions[0].error_code", error="REBALANCE_IN_PROGRESS"),
    ErrorAt(path="topics[0].partitions[1].error_code", error="ILLEGAL_GENERATION"),
]


def test_refusals_inside_an_answer_are_told_with_their_places(capfd):
    LogSink("text").take(ReplyRow(t=0, size=1, error="REBALANCE_IN_PROGRESS", errors=INSIDE, **PLACE | {"api_name": "OffsetCommit"}))
    told = "REBALANCE_IN_PROGRESS at topics[0].partitions[0].error_code, ILLEGAL_GENERATION at topics[0].partitions[1].error_code"
    assert capfd.readouterr().err == f"    0.000 s info    connection 1: OffsetCommit REFUSED: {told}\n"


def test_text(capfd):
    LogSink("text").take(MOVED)
    assert capfd.readouterr().err == "    1.500 s info    group g: Empty -> Stable, generation 1, 1 member: because\n"


def test_rows_are_kept_until_what_their_lines_import_is_loaded(capfd):
    sink = LogSink("text")
    sink.put_off()
    sink.take(MOVED)
    sink.take(MOVED)
    assert capfd.readouterr().err == ""
    assert sum(capfd.readouterr().err.count("\n") == 1 for _ in sink.loaded()) == 2, "a row in each step"
    sink.take(MOVED)
    assert "group g: Empty -> Stable" in capfd.readouterr().err


def test_end_writes_the_rows_that_were_kept(capfd):
    sink = LogSink("text")
    sink.put_off()
    sink.take(MOVED)
    sink.end(MOVED.t)
    assert "group g: Empty -> Stable" in capfd.readouterr().err


def test_json(capfd):
    LogSink("json").take(MOVED)
    line = json.loads(capfd.readouterr().err)
    assert line["level"] == "info" and line["event"].startswith("group g: Empty -> Stable")
    assert (line["kind"], line["seq"], line["t"], line["after"]) == ("moved", 4, 1_500_000_000, "Stable")


@pytest.mark.parametrize(
    ("row", "level"),
    [
        (MOVED, "info"),
        (CloseRow(t=0, connection=1, by="client", reason="the client closed"), None),
        (CloseRow(t=0, connection=1, by="server", reason="the server stops"), None),
        (CloseRow(t=0, connection=1, by="server", reason="api key 93 is not served"), "warning"),
        (NoteRow(t=0, what="internal error"), "error"),
        (NoteRow(t=0, what="end"), None),
        (NoteRow(t=0, what="disconnected"), None),
        (NoteRow(t=0, what="topic_created"), "info"),
        (ReplyRow(t=0, size=1, **PLACE), None),
        (ReplyRow(t=0, size=1, error="REBALANCE_IN_PROGRESS", **PLACE), None),
        (ReplyRow(t=0, size=1, error="UNKNOWN_MEMBER_ID", **PLACE), "info"),
        (ReplyRow(t=0, size=1, error=INSIDE[0].error, errors=INSIDE, **PLACE), "info"),
        (ReplyRow(t=0, size=1, error=INSIDE[0].error, errors=INSIDE[:1], **PLACE), None),
    ],
)
def test_levels(row: Row, level):
    assert level_of(row) == level


def test_no_such_form():
    with pytest.raises(ValueError, match="text, json, rows, json-rows"):
        LogSink("xml")


def test_structlog_is_loaded_with_the_first_line_only():
    code = (
        "import sys; from groupmock.watch.log import LogSink; from groupmock.journal.rows import NoteRow\n"
        "late = LogSink('text'); late.put_off(); late.take(NoteRow(t=0, what='late')); assert 'structlog' not in sys.modules\n"
        "sink = LogSink('text'); sink.take(NoteRow(t=0, what='end')); assert 'structlog' not in sys.modules\n"
        "sink.take(NoteRow(t=0, what='x')); assert 'structlog' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"    0.000 s info    x\n")


@for_each("form", FORMS)
def test_a_log_that_was_loaded_imports_nothing_with_its_first_lines(form: str):
    code = (
        "import sys; from groupmock.watch.log import LogSink; from groupmock.journal.rows import MovedRow, NoteRow\n"
        f"sink = LogSink({form!r}); sink.load(); loaded = set(sys.modules); sink.take(NoteRow(t=0, what='x'))\n"
        "for t, before, after in ((1, 'Empty', 'PreparingRebalance'), (2, 'PreparingRebalance', 'Stable')):\n"
        "    sink.take(MovedRow(t=t, group='g', before=before, after=after, generation=1, reason='because', members=1))\n"
        "sink.end(3); print(sorted(set(sys.modules) - loaded))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"[]\n"), done.stderr
    assert done.stderr.count(b"\n") > 1


def test_a_closed_stderr_does_not_matter():
    code = (
        "import os; from groupmock.watch.log import LogSink; from groupmock.journal.rows import NoteRow\n"
        "os.close(2); LogSink('text').take(NoteRow(t=0, what='x')); print('alive')"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60).stdout == b"alive\n"


def test_a_rebalance_that_lasts_is_told_of_by_the_clock_where_nothing_happens(capfd):
    stage = TwoMembers()
    clock = stage.rig.clock
    log = LogSink("json", ClockAlarm(clock), clock.now)
    stage.rig.journal.add(log)
    stage.consumer("cleo").join()
    began, rows = clock.now(), stage.rig.journal.sequence
    clock.advance(9_999)
    assert (stage.rig.journal.sequence, "under way" in capfd.readouterr().err) == (rows, False)
    clock.advance(1)
    clock.advance(20_000)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert [(each["level"], (each["t"] - began) // 1_000_000) for each in lines] == [("warning", 10_000), ("warning", 30_000)]
    assert stage.rig.journal.sequence == rows, "nothing else has happened"


def test_a_log_that_was_closed_rings_no_more(capfd):
    stage = TwoMembers()
    alarm = ClockAlarm(stage.rig.clock)
    log = LogSink("text", alarm, stage.rig.clock.now)
    stage.rig.journal.add(log)
    stage.consumer("cleo").join()
    stage.rig.journal.remove(log)
    log.close()
    capfd.readouterr()
    stage.rig.clock.advance(15_000)
    assert capfd.readouterr().err == ""
