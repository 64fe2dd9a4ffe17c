"""Bytes to lines: compression, cuts, encodings, line numbers; every byte is in a line or named by a problem."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from groupmock.journal import unpack
from groupmock_pipeline.ingest import lines as module
from groupmock_pipeline.ingest import workers
from groupmock_pipeline.ingest.lines import JournalLine, lines

TEXTS = [f'{{"kind":"note","seq":{number},"t":{number * 7919},"what":"été {number % 13}"}}' for number in range(1, 6001)]
PLAIN = "".join(f"{text}\n" for text in TEXTS).encode()
HALF = PLAIN.index(b"\n", len(PLAIN) // 2) + 1


def read(folder: Path, data: bytes, limit: int = 1 << 20) -> list[JournalLine]:
    path = folder / "j"
    path.write_bytes(data)
    return [line for group in lines(str(path), limit) for line in group]


WHOLE = {
    "plain": PLAIN,
    "no end": PLAIN[:-1],
    "mark": b"\xef\xbb\xbf" + PLAIN,
    "gzip": gzip.compress(PLAIN),
    "gzip, two members and padding": gzip.compress(PLAIN[:HALF]) + gzip.compress(PLAIN[HALF:]) + b"\0" * 100,
    "zstd": zstandard.compress(PLAIN),
    "zstd, two frames": zstandard.compress(PLAIN[:HALF]) + zstandard.compress(PLAIN[HALF:]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_file_in_pieces_of_any_size(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "PIECE", random.Random(name).randrange(10, 5000))
    monkeypatch.setattr(unpack, "PACKED", 97)
    found = read(tmp_path, WHOLE[name])
    assert [line.text for line in found] == TEXTS
    assert [line.number for line in found] == list(range(1, 6001))
    assert [line.whole for line in found[-2:]] == [True, name != "no end"]
    assert all(line.problem is None for line in found)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("rest", [1, 3, 200, 5000])
def test_a_cut_compressed_file_gives_all_before_the_cut(pack, rest: int, tmp_path: Path) -> None:
    found = read(tmp_path, pack(PLAIN)[:-rest])
    *before, last = found
    assert [line.text for line in before] == TEXTS[: len(before)]
    assert len(before) > 500 and all(line.problem is None and line.whole for line in before)
    assert last.problem is not None and last.problem.startswith("cut: ") and not last.whole
    assert TEXTS[len(before)].startswith(last.text) if len(before) < 6000 else last.text == ""


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress], ids=["gzip", "zstd"])
def test_damage_is_named_and_what_comes_before_it_is_read(pack, tmp_path: Path) -> None:
    packed = bytearray(pack(PLAIN))
    packed[-2] ^= 0x55  # within gzip's length, zstd's checksum
    *before, last = read(tmp_path, bytes(packed))
    assert [line.text for line in before] == TEXTS
    assert last.problem is not None and last.problem.startswith("damaged ") and last.text == ""
    packed[len(packed) * 2 // 3] ^= 0x55
    found = read(tmp_path, bytes(packed))
    assert found[-1].problem is not None and sum(line.text == text for line, text in zip(found, TEXTS, strict=False)) > 500


def test_nothing_and_less() -> None:
    assert list(module._split([], 10)) == []
    assert list(module._split([b"\n"], 10)) == [([b""], None)]


def test_empty_files(tmp_path: Path) -> None:
    assert [read(tmp_path, data) for data in (b"", gzip.compress(b""), zstandard.compress(b""))] == [[], [], []]


def test_bytes_that_are_no_utf_8_are_kept(tmp_path: Path) -> None:
    first, second, third = read(tmp_path, b'a\n{"x":"\xff\xfe\\x"}\nb\n')
    assert (first, third) == (JournalLine(1, "a"), JournalLine(3, "b"))
    assert second == JournalLine(2, '{"x":"\\xff\\xfe\\x"}', "not UTF-8, from byte 7 of the line", "eyJ4Ijoi//5ceCJ9")
    wide = read(tmp_path, "{}\n".encode("utf-16"))
    assert wide[0].problem == "not UTF-8, from byte 1 of the line; the file begins as UTF-16 does"


@pytest.mark.parametrize("size", [7, 1000, 100_000])
def test_over_long_lines_are_measured_not_kept(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "PIECE", size)
    found = read(tmp_path, b"a" * 5000 + b"\nb\n" + b"c" * 2001 + b"\n" + b"d" * 2000 + b"\n" + b"e" * 9000, limit=2000)
    assert [(line.text[:1], len(line.text), line.problem) for line in found] == [
        ("a", 1024, "over-long: 5000 bytes in one line"),
        ("b", 1, None),
        ("c", 1024, "over-long: 2001 bytes in one line"),
        ("d", 2000, None),
        ("e", 1024, "over-long: 9000 bytes in one line"),
    ]


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(lines(str(tmp_path / "none"), 10))


def summary_of(path: Path, head: str | None, head_problem: str | None = None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a worker says of a file: its lines, and the summary."""
    file = {"file": str(path), "length": 1, "modified": 2, "head": head, "head_problem": head_problem}
    file |= {"day": "2026-11-21", "run": "key", "epoch": 7, "newer": False}
    told = workers.all_lines(1 << 20)(iter([pa.RecordBatch.from_pylist([file])]))
    *given, last = [row for batch in told for row in batch.to_pylist()]
    return given, json.loads(last["text"])


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pylist([{"file": str(tmp_path / "no"), "length": 1, "modified": 2}])
    (first,) = [row for told in workers.first_lines(99)(iter([batch])) for row in told.to_pylist()]
    assert (first["head"], first["head_problem"]) == (None, "cannot be read: No such file or directory")
    given, told = summary_of(tmp_path, "x")  # a folder: opened by nobody
    assert given == [] and (told["lines"], told["problem"]) == (0, "cannot be read: Is a directory")


def test_a_file_that_changes_between_its_header_and_its_rows(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("other\nrow\n")
    given, told = summary_of(tmp_path / "j", "header")
    assert given == [] and (told["problem"], told["head"], told["lines"]) == ("changed while it was read", None, 0)


def test_the_header_and_blank_lines_are_counted_and_not_handed_on(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("header\n\nrow\n  \n\r\nlast")
    given, told = summary_of(tmp_path / "j", "header")
    assert [(row["line"], row["text"], row["whole"]) for row in given] == [(3, "row", True), (6, "last", False)]
    assert (told["lines"], told["blank"], told["head"], told["problem"]) == (6, 3, "header", None)
    given, told = summary_of(tmp_path / "j", "header", "none")
    assert [(row["line"], row["problem"]) for row in given] == [(number, "no journal header: none") for number in (1, 3, 6)]
    assert (told["lines"], told["blank"], told["head"], told["problem"]) == (6, 3, None, "none")
