"""`groupmock story FILE` selects groups, members and the first moment, prints text or JSON, and reports an empty story."""

from __future__ import annotations

import gzip
import io
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import for_each
from rig_journal import write_journal

from groupmock.cli import main
from groupmock.cli._since import since
from groupmock_codec.units import NS_PER_S

BEGUN = 1_795_458_605_250_000_000  # The time is 2026-11-23T18:30:05.25Z in ns since 1970.


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_journal(tmp_path_factory.mktemp("story") / "run.jsonl")


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the time zone to Japan, where 18:30:05Z is 03:30:05 of the next day."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@for_each(
    ("text", "ns"),
    [
        ("12.5", 12.5 * NS_PER_S),
        ("250ms", 0.25 * NS_PER_S),
        ("2m", 120 * NS_PER_S),
        ("-30", 70 * NS_PER_S),
        ("-2m", 0),
        ("2026-11-23T18:30:06.25Z", NS_PER_S),
        ("2026-11-23T19:30:06.25+01:00", NS_PER_S),
        ("2026-11-24T03:30:06.25", NS_PER_S),
        ("2026-11-23", 0),
        ("18:30:06.25Z", NS_PER_S),
        ("03:30:06.25", NS_PER_S),
        ("03:30", 0),
        ("01:30:05.25Z", 7 * 3600 * NS_PER_S),
        ("18:29Z", 0),
    ],
)
def test_a_moment_is_written_as_seconds_from_an_end_or_by_the_clock(far_east: None, text: str, ns: float) -> None:
    assert since(text).at(BEGUN, 100 * NS_PER_S) == ns


@for_each("text", ["yesterday", "", "12 s", "--3", "25:00", "1e9"])
def test_what_is_no_moment_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no time: 12\.5 or 2m \(from the start\), -30 \(before the end\), 18:30:05 or"):
        since(text)


def told(capsys: pytest.CaptureFixture[str], *words: object) -> list[str]:
    assert main(["story", *map(str, words)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out.splitlines()


def test_the_story_has_the_cause(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, path)
    assert lines[0].startswith("billing: ") and lines[-1] == "seed 11"
    assert [line for line in lines if "commit of orders/2 = 17 REFUSED: ILLEGAL_GENERATION" in line]


def test_of_a_packed_file_by_standard_input_it_is_the_same(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO(gzip.compress(path.read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(packed))
    assert told(capsys, "-") == told(capsys, path)


@for_each("moment", ["12.9", "-12", "22:13:32.9Z", "2023-11-14T22:13:32.9Z"])
def test_earlier_lines_are_left_out(path: Path, capsys: pytest.CaptureFixture[str], moment: str) -> None:
    """The journal lasts from 22:13:20 to 22:13:43, and a member's session expires 13 s after the start."""
    lines = told(capsys, path, "--since", moment)
    assert lines[1].startswith("  The first join and 1 rebalance in ") and lines[2].startswith("  Likely: ")
    assert {line.split()[0] for line in lines[3:-1]} == {"13.000"}


def test_a_group_and_a_member_are_chosen(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_journal(tmp_path / "other.jsonl", group="refunds")
    assert told(capsys, path, "--group", "billing", "--member", "anna")[0].startswith("billing: ")
    (name, head, *_) = told(capsys, path, other, "--group", "refunds")
    assert (name, head.partition(":")[0]) == (f"{other}:", "refunds"), "of several files those are left out that have no such group"


def test_as_json_it_has_its_lines(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = told(capsys, path, "--json")
    answer = json.loads(line)
    assert (answer["file"], answer["run"], answer["seed"], answer["notices"]) == (str(path), "rig", 11, [])
    assert answer["lines"] == told(capsys, path)


@for_each(
    ("words", "code", "said"),
    [
        (["{}", "--group", "nope"], 2, "groupmock story: {}: no group 'nope' in these rows: there are billing"),
        (["{}", "--member", "nope"], 2, "groupmock story: {}: nothing is told of a member 'nope'"),
        (["{}", "--since", "noon"], 2, "groupmock story: argument --since: 'noon' is no time: "),
        (["{}", "--lines", "1"], 2, "groupmock story: argument --lines: a number from 2 on expected"),
        (["{}.none"], 2, "groupmock story: {}.none: No such file or directory"),
        (["-", "--since", "-3"], 2, "groupmock story: standard input is read once, so where it ends is not known beforehand"),
    ],
)
def test_what_cannot_be_told_is_one_sentence(
    path: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    try:
        found = main(["story", *(word.format(path) for word in words)])
    except SystemExit as left:
        found = int(left.code or 0)
    err = capsys.readouterr().err
    assert (found, err.count("\n")) == (code, 1) and err.startswith(said.format(path))


def test_of_a_run_that_was_killed_the_whole_rows_are_told_and_that_it_was(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:22]))
    assert main(["story", str(cut)]) == 0
    said = capsys.readouterr()
    assert "REFUSED: ILLEGAL_GENERATION" in said.out
    assert said.err == f"groupmock story: {cut}: it has no end after row 21: the run goes on, or was killed\n"
