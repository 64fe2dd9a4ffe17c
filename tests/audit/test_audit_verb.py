"""Checks the output, the exit codes and the reaction to broken input of `groupmock audit` and `groupmock explain`."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from audit_examples import played

from groupmock.audit.auditor import Auditor
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


def test_interrupt_reports_what_was_judged_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C arrives while the second of three journals is read, after the client there has broken a rule."""
    paths = [str(tmp_path / f"{number}.jsonl") for number in range(3)]
    for path in paths:
        Path(path).write_bytes(b"\n".join(lines_of("broken")) + b"\n")
    breaking = max(json.loads(line)["seq"] for line in lines_of("broken")[1:] if b"SyncGroup" in line)
    read = Counter[int]()
    feed = Auditor.feed

    def interrupted(auditor: Auditor, row: Row) -> None:
        read[row.seq] += 1
        feed(auditor, row)
        if row.seq == breaking and read[row.seq] == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Auditor, "feed", interrupted)
    assert main(["audit", *paths, "--unfinished-ok", "--report", "text", "--report", f"json={tmp_path / 'report.json'}"]) == 130
    out, err = capsys.readouterr()
    assert "2 times in 2 journals" in out
    assert f"incomplete: reading was interrupted after row {breaking}; what came then is not judged" in out
    assert "note: interrupted: 1 of 3 journals are not read" in out and err == "groupmock audit: interrupted\n"
    sources = json.loads((tmp_path / "report.json").read_text())["sources"]
    assert [(source["interrupted"], source["audit"]["rules"]["CLIENT-05"]["broken"]) for source in sources] == [(False, 1), (True, 1)]


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
