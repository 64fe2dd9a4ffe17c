"""Long work shows its progress as one rewritten line, on a terminal only."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from groupmock.cli import main
from groupmock.journal.source import opened
from groupmock.text import progress as module
from groupmock.text.progress import ERASE, EVERY_S, FIRST_S, Progress, RewrittenLine

JOURNAL = next((Path(__file__).parents[2] / "data" / "journals").glob("aiokafka*"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return the texts that the line had, without the empty one that erases it."""
        return [text for text in self.getvalue().split(ERASE) if text]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_progress_says_n_of_all_percent_and_remaining_time() -> None:
    situations = Progress("audit", 40, "situations", Terminal())
    assert situations.text(0, "works", 0.0) == "audit: 0 of 40 situations: works"
    assert situations.text(10, "killed", 60.0) == "audit: 10 of 40 situations, 25 %, 3 min left: killed"
    assert situations.text(40, "", 60.0) == "audit: 40 of 40 situations"
    file = Progress("story a.jsonl", 3_500_000_000, out=Terminal())
    assert file.text(1_750_000_000, "", 12.0) == "story a.jsonl: 1,750.0 of 3,500.0 MB, 50 %, 12 s left"


def test_progress_appears_after_a_while_and_not_more_often_than_it_can_be_read(clock: Clock) -> None:
    out = Terminal()
    with Progress("probe", 100, "dialogues", out, clock) as progress:
        for done in range(100):
            progress.at(done)
            clock.now += 0.125
    assert (FIRST_S, EVERY_S) == (0.5, 0.2)
    assert [int(line.split()[1]) for line in out.lines()] == list(range(4, 100, 2))
    assert out.lines()[0] == "probe: 4 of 100 dialogues, 4 %, 12 s left" and out.getvalue().endswith(ERASE)


def test_short_work_shows_nothing(clock: Clock) -> None:
    out = Terminal()
    with Progress("probe", 3, "dialogues", out, clock) as progress:
        for done in range(3):
            progress.at(done)
    assert out.lines() == []


def test_progress_is_not_written_to_a_file(clock: Clock) -> None:
    out = io.StringIO()
    with Progress("probe", 3, "dialogues", out, clock) as progress:
        progress.show(1)
        clock.now += 60
        progress.at(2)
    assert out.getvalue() == ""


def test_a_line_is_cut_to_the_width_and_shows_no_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    RewrittenLine(out).write("a\x1b[2J" + "b" * 200)
    (line,) = out.lines()
    assert len(line) == module.COLUMNS - 1 and "\x1b" not in line


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_shows_how_much_of_it_is_read(pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes of the file count, so that a packed file is done when its last packed byte is read."""
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(module, "FIRST_S", -1.0)
    monkeypatch.setattr(module, "EVERY_S", -1.0)
    lines = [b"%d %s\n" % (number, str(number * number).encode()) for number in range(100_000)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(pack(b"".join(lines)))
    with opened(path, "audit") as file:
        assert list(file) == lines
    size = path.stat().st_size / 1e6
    assert out.lines()[-1] == f"audit a.jsonl: {size:,.1f} of {size:,.1f} MB" and out.getvalue().endswith(ERASE)
    shown = [float(line.split()[2]) for line in out.lines()]
    assert shown == sorted(shown)


@pytest.mark.parametrize("verb", [["audit"], ["story"], ["replay"], ["timeline", "-o", "a.html"]], ids=lambda words: words[0])
def test_verbs_that_read_journals_show_it(
    verb: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Terminal()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(module, "FIRST_S", -1.0)
    main([*verb, str(JOURNAL)])
    assert out.lines()[0].startswith(f"{verb[0]} {JOURNAL.name}: ")
    assert " MB" not in capsys.readouterr().out
