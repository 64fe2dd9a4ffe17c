"""A reader can follow a journal while it is being written."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupmock.journal.follow import Follower
from groupmock.journal.read import NotAJournal
from groupmock.journal.rows import NoteRow

HEADER = b'{"v":1,"run":"r","product":"p","seed":1,"epoch_ns":0,"profile":"","config":{},"complete":false}\n'
ROWS = [b'{"kind":"note","seq":%d,"t":%d,"what":"%s"}\n' % (number, number, b"x" * number) for number in (1, 2, 3)]


@pytest.mark.parametrize("cut", range(0, len(HEADER + b"".join(ROWS)), 7))
def test_every_row_comes_once_though_lines_come_in_halves(tmp_path: Path, cut: int) -> None:
    text = HEADER + b"".join(ROWS)
    for kind in ("rows", "json_rows"):
        file = tmp_path / kind
        file.write_bytes(text[:cut])
        follower = Follower(file)
        first = list(getattr(follower, kind)())
        with file.open("ab") as out:
            out.write(text[cut:])
        found = [*first, *getattr(follower, kind)()]
        assert [row["seq"] if isinstance(row, dict) else row.seq for row in found] == [1, 2, 3]
        assert list(getattr(follower, kind)()) == []
        follower.close()


def test_a_line_that_is_no_row_is_left_out_and_a_file_that_is_no_journal_refused(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    file.write_bytes(HEADER + b"{}\n" + ROWS[0])
    follower = Follower(file)
    assert [type(row) for row in follower.rows()] == [NoteRow]
    follower.close()
    file.write_bytes(b"{}\n" + ROWS[0])
    other = Follower(file)
    with pytest.raises(NotAJournal):
        list(other.rows())
    other.close()
