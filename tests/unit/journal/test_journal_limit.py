"""`journal_max_bytes` keeps whole rows up to the limit and notes what is left out, and readers understand such a file."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from cases import for_each

from groupmock import Broker
from groupmock.config.resolve import LEAST_JOURNAL
from groupmock.journal.file import LAST_BYTES, FileSink
from groupmock.journal.follow import Follower
from groupmock.journal.journal import Journal
from groupmock.journal.read import JournalReader, LeftOut, read
from groupmock.journal.rows import END, LEFT_OUT, Header, NoteRow
from groupmock.rig.replay import replay

HEADER = Header(v=1, run="r", product="p", seed=3, epoch_ns=9, profile="groupmock", config={}, complete=False, incomplete_because="x")
LIMIT = 4096


def never(reason: str) -> None:
    raise AssertionError(reason)


def opened(path: Path, limit: int = LIMIT) -> tuple[Journal, FileSink, list[int]]:
    told: list[int] = []
    sink = FileSink(str(path), never, limit, told.append)
    journal = Journal(HEADER, [sink])
    journal.begin()
    return journal, sink, told


def note(number: int, text: str = "x") -> NoteRow:
    return NoteRow(t=number, what=text * 50)


def test_a_journal_below_its_limit_is_whole(tmp_path: Path) -> None:
    journal, sink, told = opened(tmp_path / "j")
    for number in range(10):
        journal.append(note(number))
    journal.append(NoteRow(t=10, what=END))
    journal.close()
    source, found = read(tmp_path / "j")
    assert (source.ended, source.left_out, told, sink.left_out, len(found)) == (True, None, [], 0, 11)


@for_each("text", ["x", "é", "\u2028"])
@for_each("flush_every", [1, 7, 1000])
def test_whole_rows_up_to_the_limit_and_then_what_is_left_out(tmp_path: Path, text: str, flush_every: int) -> None:
    """The limit holds for any content of rows and for any number of rows per write. Bytes are those of the file: é has six there."""
    journal, sink, told = opened(tmp_path / "j")
    for number in range(1, 1000):
        journal.append(note(number, text))
        if number % flush_every == 0:
            journal.flush()
    journal.append(NoteRow(t=1000, what=END))
    journal.close()
    data = (tmp_path / "j").read_bytes()
    assert LIMIT - LAST_BYTES - 400 < len(data) <= LIMIT and data.isascii() and data.endswith(b"\n")
    source, found = read(tmp_path / "j")
    first = len(found) + 1
    assert [row.seq for row in found] == list(range(1, first)) == [row.t for row in found]
    assert source.left_out == LeftOut(first, LIMIT, 1000 - len(found)) and told == [first] and sink.left_out == 1000 - len(found)
    assert (source.ended, source.cut, source.broken) == (False, None, [])
    assert str(source.left_out) == f"{1000 - len(found)} rows from number {first} on are left out: the journal was limited to {LIMIT} bytes"
    rows = [json.loads(line) for line in data.splitlines()[1:]]
    assert [row["seq"] for row in rows] == [*range(1, first), first, 1001]  # Both notes have sequence numbers after the last written row.


def test_a_row_that_is_larger_than_the_limit_is_left_out_with_all_that_follow(tmp_path: Path) -> None:
    journal, _, told = opened(tmp_path / "j")
    journal.append(note(1))
    journal.append(NoteRow(t=2, what="x" * 2 * LIMIT))
    journal.append(note(3))
    journal.close()
    source, found = read(tmp_path / "j")
    assert ([row.t for row in found], source.left_out, told) == ([1], LeftOut(2, LIMIT, 2), [2])


def test_killed_run_has_the_note_about_missing_rows(tmp_path: Path) -> None:
    """The first note is on disk as soon as rows are left out, and not only at the end of the run."""
    journal, _, _ = opened(tmp_path / "j")
    for number in range(100):
        journal.append(note(number))
    journal.flush()
    source, found = read(tmp_path / "j")
    assert source.left_out == LeftOut(len(found) + 1, LIMIT, None) and source.cut is None
    assert str(source.left_out).startswith(f"all rows from number {len(found) + 1} on are left out")
    journal.close()


def test_who_follows_hears_of_it(tmp_path: Path) -> None:
    journal, _, _ = opened(tmp_path / "j")
    follower = Follower(tmp_path / "j")
    seen = []
    for number in range(100):
        journal.append(note(number))
        journal.flush()
        seen += [row.seq for row in follower.rows()]
    assert seen == list(range(1, len(seen) + 1))
    assert follower.left_out == LeftOut(len(seen) + 1, LIMIT, None)
    journal.close()
    assert list(follower.rows()) == [] and follower.left_out == LeftOut(len(seen) + 1, LIMIT, 100 - len(seen))
    follower.close()


def test_the_notes_have_room_whatever_their_numbers() -> None:
    sink = FileSink("/dev/null", never, 2**63 - 1)
    most = 2**63 - 1
    longest = NoteRow(seq=most, t=most, what=LEFT_OUT, fields={"first": most, "rows": most, "max_bytes": most})
    assert 2 * (len(msgspec.json.encode(longest)) + 1) <= LAST_BYTES
    sink.close()


def test_a_header_that_is_larger_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="its header alone has") as refused:
        FileSink(str(tmp_path / "j"), never, 600).begin(HEADER)
    assert (tmp_path / "j").read_bytes() == b"" and "600" in str(refused.value.strerror)


def test_a_note_that_says_nothing_is_a_broken_row(tmp_path: Path) -> None:
    header = msgspec.json.encode(HEADER) + b"\n"
    (tmp_path / "j").write_bytes(header + msgspec.json.encode(NoteRow(seq=1, t=1, what=LEFT_OUT)) + b"\n")
    source, found = read(tmp_path / "j")
    assert (found, source.left_out, [each.line for each in source.broken]) == ([], None, [2])


def test_the_server_goes_on_and_its_journal_plays_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Broker(topics={"orders": 1}, journal=str(path), journal_max_bytes=LEAST_JOURNAL, seed=1) as broker:
        for number in range(300):
            broker.produce("orders", b"%d" % number * 100)
        assert len(broker.records("orders")) == 300
        ring = broker._up().ring
        assert ring is not None and any(isinstance(row, NoteRow) and row.what == LEFT_OUT for row in ring.rows)
    assert LEAST_JOURNAL - 2048 < path.stat().st_size <= LEAST_JOURNAL
    with path.open("rb") as file:
        source = JournalReader(file)
        kept = len(list(source))
    result = replay(path)
    assert (result.rows, result.difference, result.cut, result.left_out) == (kept, None, False, source.left_out)
    assert result.left_out is not None and result.left_out.first == kept + 1 and result.left_out.rows
