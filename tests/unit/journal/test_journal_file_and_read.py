"""Journal files: written, read back, cut, damaged, on a disk that is full."""

from __future__ import annotations

import errno
import os

import msgspec
import pytest
from cases import for_each

from groupmock.journal.file import FLUSH_BYTES, FileSink, without_empty_tags
from groupmock.journal.journal import Journal
from groupmock.journal.read import BrokenRow, NotAJournal, UnknownRow, read
from groupmock.journal.rows import END, Header, NoteRow, OpenRow

HEADER = Header(v=1, run="r", product="p", seed=3, epoch_ns=9, profile="groupmock", config={"a": 1}, complete=False, incomplete_because="x")


def never(reason: str) -> None:
    raise AssertionError(reason)


def written(path, rows, end: bool = True) -> None:
    journal = Journal(HEADER, [FileSink(str(path), never)])
    journal.begin()
    for row in rows:
        journal.append(row)
    if end:
        journal.append(NoteRow(t=99, what=END))
    journal.close()


def rows(count: int = 3) -> list[OpenRow]:
    return [OpenRow(t=number, connection=number, client_host="/h", client_port=1) for number in range(count)]


def test_what_is_written_is_read_back(tmp_path):
    written(tmp_path / "j", rows())
    journal, found = read(tmp_path / "j")
    assert journal.header == HEADER
    assert [row.seq for row in found] == [1, 2, 3, 4]
    assert found[:3] == [msgspec.structs.replace(row, seq=place) for place, row in enumerate(rows(), 1)]
    assert (journal.ended, journal.cut, journal.broken, journal.count) == (True, None, [], 4)


def test_the_header_is_on_disk_before_any_row(tmp_path):
    sink = FileSink(str(tmp_path / "j"), never)
    sink.begin(HEADER)
    assert msgspec.json.decode((tmp_path / "j").read_bytes(), type=Header) == HEADER
    sink.close()


def test_a_cut_last_line_is_reported_and_the_rest_read(tmp_path):
    written(tmp_path / "j", rows())
    whole = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(whole[:-20])
    journal, found = read(tmp_path / "j")
    assert len(found) == 3
    assert journal.cut is not None and whole.endswith(journal.cut + whole[-20:])
    assert not journal.ended


def test_a_journal_without_its_end_is_seen(tmp_path):
    written(tmp_path / "j", rows(), end=False)
    journal, found = read(tmp_path / "j")
    assert (journal.ended, len(found)) == (False, 3)


def test_unknown_kinds_are_kept_and_broken_lines_named(tmp_path):
    written(tmp_path / "j", rows(1))
    lines = (tmp_path / "j").read_bytes().splitlines(keepends=True)
    lines[2:2] = [b'{"kind":"dream","seq":5,"t":6,"of":"sheep"}\n', b"no row\n", b'{"kind":"open","seq":1}\n', b"[]\n"]
    (tmp_path / "j").write_bytes(b"".join(lines))
    journal, found = read(tmp_path / "j")
    assert found[1] == UnknownRow("dream", 5, 6, {"of": "sheep"})
    assert [broken.line for broken in journal.broken] == [4, 5, 6]
    assert all(isinstance(broken, BrokenRow) and broken.reason for broken in journal.broken)
    assert journal.ended


@for_each(
    "content", [b"", b"\n", b"hello\n", b"{}\n", b'{"v":2}\n'], ids=["empty", "blank", "text", "no header", "short header"]
)
def test_what_is_no_journal_is_refused(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(NotAJournal):
        read(tmp_path / "j")


def test_a_later_format_is_refused_by_number(tmp_path):
    (tmp_path / "j").write_bytes(msgspec.json.encode(msgspec.structs.replace(HEADER, v=2)) + b"\n")
    with pytest.raises(NotAJournal, match="journal format 2: this version reads 1"):
        read(tmp_path / "j")


def test_rows_reach_the_file_when_there_are_many_or_when_told(tmp_path):
    sink = FileSink(str(tmp_path / "j"), never)
    sink.begin(HEADER)
    start = sink.written
    sink.take(NoteRow(t=1, what="short"))
    assert sink.written == start
    sink.flush()
    assert sink.written > start
    sink.take(NoteRow(t=1, what="x" * FLUSH_BYTES))
    assert sink.written > FLUSH_BYTES
    sink.close()


def test_an_unwritable_path_is_an_error_at_once(tmp_path):
    with pytest.raises(IsADirectoryError):
        FileSink(str(tmp_path), never)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the kernel has no /dev/full")
def test_a_full_disk_is_reported_once_and_nothing_is_written_after_it():
    reasons: list[str] = []
    sink = FileSink("/dev/full", reasons.append)
    sink.take(NoteRow(t=1, what="x"))
    sink.flush()
    assert reasons == [f"/dev/full: {os.strerror(errno.ENOSPC)}"]
    assert sink.written == 0
    with pytest.raises(OSError, match="No space left"):
        sink.close()


def test_a_failing_sink_does_not_keep_others_from_closing(tmp_path):
    good = FileSink(str(tmp_path / "j"), never)
    journal = Journal(HEADER, [FileSink("/dev/full", lambda reason: None), good])
    good.begin(HEADER)
    journal.append(NoteRow(t=1, what="x"))
    with pytest.raises(OSError, match="No space left"):
        journal.close()
    good.close()
    assert len(read(tmp_path / "j")[1]) == 1


def test_a_header_that_cannot_be_written_is_an_error_before_anything_is_served():
    with pytest.raises(OSError, match="No space left"):
        FileSink("/dev/full", never).begin(HEADER)


def test_numbers_are_without_gaps_whatever_the_sinks_want(tmp_path):
    class Few:
        kinds = frozenset(("note",))
        routine = heartbeats = details = False

        def __init__(self) -> None:
            self.seen: list[int] = []

        def begin(self, header: Header) -> None: ...

        def take(self, row: NoteRow) -> None:
            self.seen.append(row.seq)

        def take_repeated(self, repeated: object) -> None: ...

        def flush(self) -> None: ...

        def close(self) -> None: ...

    few = Few()
    journal = Journal(HEADER, [few])
    assert journal.wanted == {"note"}
    journal.append(NoteRow(t=1, what="a"))
    journal.add(FileSink(str(tmp_path / "j"), never))
    assert "open" in journal.wanted and journal.heartbeats and journal.details
    journal.remove(few)
    journal.append(NoteRow(t=1, what="b"))
    assert few.seen == [1]
    journal.close()


def test_only_empty_tags_are_dropped():
    line = b'{"a":"\\"unknown_tags\\":{}","b":{"x":1,"unknown_tags":{}},"c":{"unknown_tags":{}},"d":{"unknown_tags":{"5":"aa"}}}'
    assert msgspec.json.decode(without_empty_tags(line)) == {
        "a": '"unknown_tags":{}', "b": {"x": 1}, "c": {}, "d": {"unknown_tags": {"5": "aa"}},
    }  # fmt: skip
