"""`groupmock journal count`, `journal find` and `replay` have the filters of the server, print text or JSON, and set exit codes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from rig_journal import write_journal

from groupmock.cli import main
from groupmock.control.arrivals import kept
from groupmock.control.file_queries import ANSWERED, FileRequests
from groupmock.control.row_test import Filter, RowTest
from groupmock.journal.read import UnknownRow, read
from groupmock.journal.ring import Ring
from groupmock.journal.rows import ReplyRow
from groupmock.rig.replay import _Window, replay


class Ran:
    """One journal as a file, compressed, and as the rows that a server would have in memory."""

    def __init__(self, folder: Path) -> None:
        self.ring = Ring()
        self.path = write_journal(folder / "run.jsonl", beats=3, sinks=[self.ring])
        self.packed = folder / "packed.jsonl.gz"
        self.packed.write_bytes(gzip.compress(self.path.read_bytes()))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("verbs"))


@for_each(
    "wanted",
    [
        {},
        {"group": "billing"},
        {"group": "nobody's"},
        {"group": "billing", "kind": "reply"},
        {"api": "JoinGroup", "error": "none"},
        {"error": "MEMBER_ID_REQUIRED"},
        {"kind": "timer", "timer": "session"},
        {"client_id": "anna", "since": 9},
        {"kind": "moved", "after": "Stable"},
        {"name": "create_topic"},
        {"connection": 1, "kind": "close"},
        {"what": "removed"},
    ],
)
def test_a_file_has_the_rows_that_a_server_finds(ran: Ran, capsys: pytest.CaptureFixture[str], wanted: dict[str, Any]) -> None:
    expected = [row.seq for row in kept(ran.ring, RowTest(Filter(**wanted)))]
    flags = [word for name, value in wanted.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    # A server keeps no rows of heartbeats that changed nothing, so only the file has them.
    routine = {row["seq"] for row in map(json.loads, ran.path.read_text().splitlines()[1:]) if row.get("api_name") == "Heartbeat"}
    assert main(["journal", "find", str(ran.packed), "--json", *flags]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["seq"] for row in answer["rows"] if row["seq"] not in routine] == expected
    assert (answer["count"], answer["dropped"], answer["notices"], answer["run"]) == (len(answer["rows"]), 0, [], "rig")
    assert main(["journal", "count", str(ran.packed), *flags]) == 0
    assert capsys.readouterr().out == f"{answer['count']}\n"


def test_rows_are_told_as_lines_the_newest_if_there_are_too_many(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "find", str(ran.path), "--kind", "moved", "--limit", "1"]) == 0
    said = capsys.readouterr()
    (line,) = said.out.splitlines()
    assert line.startswith("     32    13.030 s  group billing: PreparingRebalance -> Empty, generation 2")
    assert said.err == f"groupmock journal find: {ran.path}: the newest 1 of 6 rows that fit (--limit N for more)\n"


def test_several_files_are_told_apart(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "count", str(ran.path), str(ran.packed), "--kind", "member"]) == 0
    assert capsys.readouterr().out == f"         4  {ran.path}\n         4  {ran.packed}\n"
    assert main(["journal", "find", str(ran.path.parent), "--kind", "open", "--json"]) == 0
    assert [json.loads(line)["file"] for line in capsys.readouterr().out.splitlines()] == [str(ran.packed), str(ran.path)]


def test_one_that_cannot_be_read_leaves_the_others_told(ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hello").write_text("hello\n")
    assert main(["journal", "count", "/there/is/none", str(tmp_path / "hello"), str(ran.path), "--kind", "open"]) == 2
    said = capsys.readouterr()
    assert said.out == f"         1  {ran.path}\n"
    first, second = said.err.splitlines()
    assert first == "groupmock journal count: /there/is/none: No such file or directory"
    assert second.startswith(f"groupmock journal count: {tmp_path}/hello: the first line is no journal header")


def test_what_a_killed_writer_left_is_told_and_said(ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cut.jsonl").write_bytes(ran.path.read_bytes()[:-10])
    assert main(["journal", "count", str(tmp_path / "cut.jsonl"), "--kind", "moved"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("6\n", f"groupmock journal count: {tmp_path}/cut.jsonl: it ends in the middle of the row after 32\n")


def test_rows_that_found_no_room_are_dropped_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_journal(tmp_path / "small.jsonl", max_bytes=8000)
    assert main(["journal", "count", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["count"] + answer["dropped"] == 27 and answer["dropped"] > 0
    assert "the journal was limited to 8000 bytes" in answer["notices"][0]


@for_each(
    ("words", "said"),
    [
        (["count", "{}", "--kind", "dream"], "query: no kind of row 'dream': there are open, close, "),
        (["count", "{}", "--control", "http://127.0.0.1:1"], "a FILE and --control: ask files or a server, not both at a time"),
        (["find", "{}", "--limit", "0"], "option: Expected `int` >= 1 - at `$.limit`"),
    ],
)
def test_bad_questions_are_one_sentence(ran: Ran, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["journal", *(word.format(ran.path) for word in words)]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_of_a_long_run_only_what_is_open_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test searches a journal of 3000 requests and replays 6000 rows."""
    path = write_journal(tmp_path / "long.jsonl", beats=3000)
    requests = FileRequests()
    _, rows = read(path)
    groups = [(row, requests.group_of(row)) for row in rows if not isinstance(row, UnknownRow)]
    assert {group for row, group in groups if isinstance(row, ReplyRow)} == {"billing"}
    assert len(requests._by_ticket) <= ANSWERED
    longest: list[int] = []
    forget = _Window.forget

    def measured(window: _Window) -> None:
        longest.append(len(window.rows))
        forget(window)

    monkeypatch.setattr(_Window, "forget", measured)
    assert replay(path).difference is None
    assert len(longest) == 2 * len(rows) and max(longest) < 20


def edited(ran: Ran, folder: Path, old: str, new: str) -> str:
    text = ran.path.read_text()
    assert old in text
    (folder / "edited.jsonl").write_text(text.replace(old, new))
    return str(folder / "edited.jsonl")


def test_a_journal_that_comes_again_is_equal(ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(ran.packed)]) == 0
    assert capsys.readouterr() == (f"equal: 33 rows of {ran.packed} came again as they were\n", "")


def test_the_first_row_that_differs_is_shown(ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = edited(ran, tmp_path, '"generation_id":1,"protocol_type":"consumer"', '"generation_id":7,"protocol_type":"consumer"')
    assert main(["replay", path]) == 1
    assert capsys.readouterr().out == f"{path}: 14 rows came again, then row 15 (reply) differs: message.generation_id: was 7, is 1\n"
    assert main(["replay", path, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["equal"], answer["rows"], answer["difference"]["seq"]) == (False, 14, 15)
    assert answer["difference"]["got"]["message"]["generation_id"] == 1


@for_each(
    ("old", "new", "code", "said"),
    [
        (
            '"complete":true',
            '"complete":false,"incomplete_because":"a recording: so it is"',
            4,
            "this journal is not complete: a recording: so it is",
        ),
        ('"v":1', '"v":2', 2, "journal format 2: this version reads 1"),
        ('"kind":"timer"', '"kind":"dream"', 4, "row 13 is of a kind that this version does not know: dream"),
        (
            '"connection":1,"ticket":1,',
            '"connection":7,"ticket":1,',
            4,
            "row 4 (request) cannot be played: no row before it opened connection 7",
        ),
        ('"name":"create_topic"', '"name":"make_topic"', 4, "row 1 (command) cannot be played: "),
    ],
)
def test_why_one_cannot_be_played(
    ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, code: int, said: str
) -> None:
    path = edited(ran, tmp_path, old, new)
    found = main(["replay", path])
    err = capsys.readouterr().err
    assert (found, err.count("\n")) == (code, 1) and err.startswith(f"groupmock replay: {path}: ") and said in err


def test_one_without_its_end_is_equal_as_far_as_it_goes(ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "killed.jsonl"
    path.write_bytes(ran.path.read_bytes()[:-10])
    assert main(["replay", str(path)]) == 4
    assert capsys.readouterr() == (
        f"equal: 32 rows of {path} came again as they were\n",
        f"groupmock replay: {path}: it ends in the middle of the row after 32; what came then is not played\n",
    )
    assert main(["replay", str(path), "--unfinished-ok"]) == 0
