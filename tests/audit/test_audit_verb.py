"""Checks the output, the exit codes and the reaction to broken input of `groupmock audit` and `groupmock explain`."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from audit_examples import played

from groupmock.audit.rule import registered
from groupmock.cli import main
from groupmock.journal.rows import Row
from groupmock.net.clock import VirtualClock
from groupmock.rig.wire_rig import rig_header


def lines_of(which: str) -> list[bytes]:
    rows: list[Row] = played(registered()["CLIENT-05"], which)
    return [msgspec.json.encode(each) for each in (rig_header(VirtualClock()), *rows)]


def journal(tmp_path: Path, lines: list[bytes], end: bytes = b"\n") -> str:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join(lines) + end)
    return str(path)


def test_kept_is_0_and_broken_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", journal(tmp_path, lines_of("kept"))]) == 0
    assert "CLIENT-05" in capsys.readouterr().out
    assert main(["audit", journal(tmp_path, lines_of("broken"))]) == 1
    assert "BROKEN CLIENT-05" in capsys.readouterr().out


def test_several_forms_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = journal(tmp_path, lines_of("broken")), tmp_path / "out.sarif"
    assert main(["audit", path, "--report", "json", "--report", f"sarif={out}", "--rule", "CLIENT-05"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "broken"
    assert json.loads(out.read_text())["runs"][0]["results"]


def test_a_waiver_makes_it_0_until_its_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, waivers = journal(tmp_path, lines_of("broken")), tmp_path / "waivers.toml"
    waivers.write_text('[[waiver]]\nrule = "CLIENT-05"\nreason = "TEAM-1"\nuntil = 2026-12-31\n')
    assert main(["audit", path, "--waivers", str(waivers), "--today", "2026-12-31"]) == 0
    assert main(["audit", path, "--waivers", str(waivers), "--today", "2027-01-01"]) == 1
    assert "its findings count again" in capsys.readouterr().out


@pytest.mark.parametrize(("end", "words"), [(b"", "ends in the middle of the row"), (b"\n", "has no end")], ids=["cut row", "no end"])
def test_a_journal_that_ends_in_the_middle_is_4(tmp_path: Path, capsys: pytest.CaptureFixture[str], end: bytes, words: str) -> None:
    lines = lines_of("kept")[:-1]
    path = journal(tmp_path, [*lines[:-1], lines[-1][:-9] if not end else lines[-1]], end)
    assert main(["audit", path]) == 4
    assert words in capsys.readouterr().out
    assert main(["audit", path, "--unfinished-ok"]) == 0


def test_rows_that_are_missing_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of("kept")
    assert main(["audit", journal(tmp_path, [*lines[:4], *lines[6:]])]) == 4
    assert "rows 4 to 5 are missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "no journal"),
        (["/there/is/none"], "/there/is/none: No such file"),
        (["{old}"], "journal format 0: this version reads 1"),
        (["{old}", "--rule", "CLIENT-5"], "did you mean CLIENT-"),
    ],
)
def test_bad_use_is_2_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text('{"v":0,"who":"an older version"}\n')
    assert main(["audit", *(word.format(old=old) for word in words)]) == 2
    said = capsys.readouterr().err
    assert complaint in said and said.count("\n") == 1


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "client-05"]) == 0
    assert "How to mend it:" in capsys.readouterr().out
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(registered())
    assert main(["explain", "--json"]) == 0
    assert {each["code"] for each in json.loads(capsys.readouterr().out)} == set(registered())
    assert main(["explain", "CLIENT-5"]) == 2
