"""`groupmock timeline` reads and writes the right files and explains each mistake in one sentence."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from cases import for_each
from rig_journal import write_journal

from groupmock.cli import main


@pytest.fixture(scope="module")
def drawn_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_journal(tmp_path_factory.mktemp("timeline") / "run.jsonl", beats=3)


@for_each(("name", "begins"), [("out.html", "<!DOCTYPE html>"), ("new/out.svg", "<svg "), ("out.perfetto.json", "{")])
def test_a_picture_of_each_form_is_written(drawn_journal: Path, tmp_path: Path, name: str, begins: str) -> None:
    assert main(["timeline", str(drawn_journal), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().startswith(begins)


def test_packed_journals_and_folders_are_read_and_drawn_one_below_the_other(drawn_journal: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(drawn_journal.read_bytes())
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(drawn_journal.read_bytes()))
    assert main(["timeline", str(folder), "-o", str(tmp_path / "out.perfetto.json")]) == 0
    trace = json.loads((tmp_path / "out.perfetto.json").read_text())
    names = [each["args"]["name"] for each in trace["traceEvents"] if each["name"] == "process_name"]
    assert names == ["group billing (a.jsonl)", "group billing (b.jsonl.gz)"]


def test_standard_input_and_output_are_dashes(
    drawn_journal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(drawn_journal.read_bytes())))
    assert main(["timeline", "-", "-o", "-", "--format", "svg"]) == 0
    assert capsys.readouterr().out.startswith("<svg ")


def test_a_part_of_a_run_is_drawn_alone(drawn_journal: Path, tmp_path: Path) -> None:
    file = tmp_path / "part.perfetto.json"
    assert main(["timeline", str(drawn_journal), "-o", str(file), "--from", "3.015", "--to", "5"]) == 0
    marks = [each for each in json.loads(file.read_text())["traceEvents"] if each["ph"] in ("i", "b") and "JoinGroup" in each["name"]]
    assert marks == [], "the JoinGroups were before"


@for_each(
    ("words", "said"),
    [
        (["nowhere.jsonl", "-o", "out.svg"], "nowhere.jsonl: No such file or directory"),
        (["{journal}", "-o", "out.png"], "out.png: its name says no form: end it in .html, .svg or .perfetto.json, or give --format"),
        (["{journal}", "-o", "-"], "standard output has no name that says a form: --format html, svg or perfetto"),
        (["{journal}", "-o", "{folder}/out.svg", "--group", "attic"], "no group 'attic' in these rows: there are billing"),
        (["{journal}", "-o", "{journal}/out.svg"], "{journal}/out.svg: its folder {journal} cannot be made: File exists"),
        (["{journal}", "-o", "{folder}/out.svg", "--compare"], "--compare takes 2 journals, and there are 1"),
        (["-", "-o", "{folder}/out.svg", "--from", "-3"], "standard input is read once, so where it ends is not known beforehand"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(
    drawn_journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    places = {"journal": str(drawn_journal), "folder": str(tmp_path)}
    assert main(["timeline", *(word.format(**places) for word in words)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert said.format(**places) in lines[0]


def test_what_a_journal_lacks_is_said_and_stands_in_the_picture(
    drawn_journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(drawn_journal.read_bytes()[:-40])
    assert main(["timeline", str(cut), "-o", str(tmp_path / "cut.svg")]) == 0
    assert "it ends in the middle of the row after" in capsys.readouterr().err
    assert "it ends in the middle of the row after" in (tmp_path / "cut.svg").read_text()


def test_run_draws_what_its_command_did_without_a_journal(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    assert main(["run", "--log", "off", "--topic", "orders:2", "--timeline", str(picture), "--", sys.executable, "-c", ""]) == 0
    assert picture.read_text().startswith("<svg ")


def test_run_refuses_a_picture_without_a_form_before_it_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--timeline", str(tmp_path / "run"), "--", sys.executable, "-c", "print('ran')"]) == 2
    told = capsys.readouterr()
    assert "--timeline" in told.err
    assert "ran" not in told.out
