"""Journal files are written and read back, also truncated, damaged and on a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from cases import for_each

from groupmock.journal.file import FLUSH_BYTES, FileSink, without_empty_tags
from groupmock.journal.journal import Journal, Sink
from groupmock.journal.read import BrokenRow, NotAJournal, UnknownRow, read
from groupmock.journal.rows import END, Header, NoteRow, OpenRow, ReplyRow, RequestRow, Row

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


def test_only_the_end_as_the_last_row_ends_a_journal(tmp_path):
    written(tmp_path / "remark", [NoteRow(t=1, what="an ending")], end=False)
    written(tmp_path / "after", [NoteRow(t=1, what=END), *rows(1)], end=False)
    written(tmp_path / "whole", [NoteRow(t=1, what="an ending")])
    assert [read(tmp_path / name)[0].ended for name in ("remark", "after", "whole")] == [False, False, True]


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


@for_each("content", [b"", b"\n", b"hello\n", b"{}\n", b'{"v":2}\n'], ids=["empty", "blank", "text", "no header", "short header"])
def test_what_is_no_journal_is_refused(tmp_path, content):
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(NotAJournal):
        read(tmp_path / "j")


@for_each("version", [0, 2])
def test_another_format_is_refused_by_number(tmp_path, version):
    (tmp_path / "j").write_bytes(msgspec.json.encode(msgspec.structs.replace(HEADER, v=version)) + b"\n")
    with pytest.raises(NotAJournal, match=f"journal format {version}: this version reads 1"):
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
    class Few(Sink):
        kinds = frozenset(("note",))

        def __init__(self) -> None:
            self.seen: list[int] = []

        def take(self, row: Row) -> None:
            self.seen.append(row.seq)

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


class Beats:
    """Yields repeated heartbeats as a server gives them to a sink."""

    first, first_ticket, now, waited, template = 0, 41, 9_000, 0, None

    def __init__(self, *correlations: int) -> None:
        self.correlations = correlations
        self.identifiers = b"".join(number.to_bytes(4) for number in correlations)

    def pair(self, place: int) -> tuple[RequestRow, ReplyRow]:
        number = self.correlations[place]
        common: dict[str, Any] = {"t": self.now, "connection": 3, "ticket": self.first_ticket + place, "correlation_id": number}
        common |= {"api_key": 12, "api_name": "Heartbeat", "api_version": 4}
        raw = b"\0\x0c\0\x04" + number.to_bytes(4) + b"\0\x02me and the rest"
        request = RequestRow(**common, received=self.now, handled=self.now, size=len(raw), message={"group_id": "g"}, raw=raw)
        reply = ReplyRow(**common, written=self.now, size=10, message={"error_code": 0})
        request.seq, reply.seq = self.first + 2 * place, self.first + 2 * place + 1
        return request, reply

    def sample(self) -> tuple[RequestRow, ReplyRow]:
        return self.pair(0)

    def rows(self) -> Iterator[RequestRow | ReplyRow]:
        return (row for place in range(len(self.correlations)) for row in self.pair(place))


@for_each("correlations", [(7,), (7, 8, 70_000), tuple(range(250, 300))], ids=len)
def test_repeated_heartbeats_are_written_as_if_row_by_row(tmp_path, correlations):
    """The sink fills in a template, and the rows equal individually written ones, with consecutive numbers."""
    beats = Beats(*correlations)
    journal = Journal(HEADER, [FileSink(str(tmp_path / "j"), never)])
    journal.begin()
    journal.append(NoteRow(t=1, what="before"))
    journal.append_repeated(beats, 2 * len(correlations))
    journal.append(NoteRow(t=9, what=END))
    journal.close()
    found = read(tmp_path / "j")[1]
    assert found[1:-1] == list(beats.rows())
    assert [row.seq for row in found] == list(range(1, 2 * len(correlations) + 3))


@for_each(
    "line, reason",
    [
        (b'{"kind":"note","seq":2,"t":1,"what":"\xff"}', "not UTF-8: invalid start byte"),
        (b'{"kind":"\xffote","seq":2,"t":1}', "not UTF-8: invalid start byte"),
        (b'{"kind":"later","seq":2,"t":1,"more":"\xc3"}', "not UTF-8: invalid continuation byte"),
        (b'{"kind":"note","seq":2,"t":1,"what":"x","fields":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "nested too deep"),
    ],
)
def test_journal_reader_reports_a_line_that_is_not_to_be_decoded_and_reads_the_rest(tmp_path, line: bytes, reason: str) -> None:
    written(tmp_path / "j", rows())
    lines = (tmp_path / "j").read_bytes().splitlines()
    (tmp_path / "j").write_bytes(b"\n".join([lines[0], lines[1], line, *lines[2:], b""]))
    journal, found = read(tmp_path / "j")
    assert [row.seq for row in found] == [1, 2, 3, 4]
    assert (journal.broken, journal.ended) == ([BrokenRow(3, reason)], True)


def test_journal_reader_refuses_a_header_that_is_not_utf_8(tmp_path) -> None:
    (tmp_path / "j").write_bytes(b'{"v":1,"run":"\xff"}\n')
    with pytest.raises(NotAJournal, match="the first line is no journal header: not UTF-8"):
        read(tmp_path / "j")


def test_file_sink_refuses_a_file_that_another_one_writes(tmp_path) -> None:
    path = tmp_path / "j"
    first = FileSink(str(path), never)
    first.begin(HEADER)
    before = path.read_bytes()
    with pytest.raises(BlockingIOError, match="another groupmock writes it now: give each its own file, or a folder"):
        FileSink(str(path), never)
    assert path.read_bytes() == before
    first.close()
    FileSink(str(path), never).close()


def test_file_sink_gives_its_file_free_though_a_forked_process_still_has_it(tmp_path) -> None:
    sink = FileSink(str(tmp_path / "j"), never)
    forked = os.dup(sink._file)  # The duplicated descriptor refers to the same open file, as after fork().
    sink.close()
    FileSink(str(tmp_path / "j"), never).close()
    os.close(forked)
