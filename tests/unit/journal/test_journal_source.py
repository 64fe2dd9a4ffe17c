"""JOURNAL may name a file, a folder, standard input or a compressed journal, and a truncated one is reported after its rows."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from cases import for_each
from rig_journal import write_journal

from groupmock.journal import read as reading
from groupmock.journal.read import JournalReader, NotAJournal, line_of, read
from groupmock.journal.source import NoSuchJournal, journals, opened
from groupmock_codec.extras import pip_install


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_journal(tmp_path_factory.mktemp("source") / "run.jsonl").read_bytes()


PACKED: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@for_each("name", list(PACKED))
def test_packed_or_not_it_has_the_same_rows(plain: bytes, tmp_path: Path, name: str) -> None:
    (tmp_path / "j").write_bytes(PACKED[name](plain))
    journal, rows = read(tmp_path / "j")
    assert (journal.ended, journal.unfinished, journal.damage, journal.last) == (True, None, None, 27)
    assert b"".join(line_of(row) + b"\n" for row in rows) == plain.partition(b"\n")[2]


@for_each("name", list(PACKED))
def test_standard_input_is_read_in_every_form(plain: bytes, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    here, there = os.pipe()

    def write() -> None:
        with os.fdopen(there, "wb") as end:
            end.write(PACKED[name](plain))

    writer = threading.Thread(target=write)
    with os.fdopen(here, "r") as standard:
        monkeypatch.setattr(sys, "stdin", standard)
        writer.start()
        with opened("-") as file:
            assert len(list(JournalReader(file))) == 27
        writer.join()


@for_each(
    ("name", "cut", "said"),
    [
        ("gzip", -40, "its data are cut: the gzip data ends too early, after"),
        ("zstd", -4, "its data are cut: the zstd data ends too early, after"),
        ("plain", -40, "it ends in the middle of the row after 26"),
    ],
)
def test_of_a_journal_that_breaks_off_the_whole_rows_are_read(plain: bytes, tmp_path: Path, name: str, cut: int, said: str) -> None:
    pack = zstandard.ZstdCompressor(write_checksum=True).compress if name == "zstd" else PACKED[name]
    (tmp_path / "j").write_bytes(pack(plain)[:cut])
    journal, rows = read(tmp_path / "j")
    assert [row.seq for row in rows] == list(range(1, journal.last + 1)) and journal.last >= 20
    assert journal.unfinished is not None and journal.unfinished.startswith(said) and str(journal.last) in journal.unfinished


def test_damage_is_said_with_its_place(plain: bytes, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(plain))
    packed[-6] ^= 0x55  # This byte belongs to the checksum after the last row.
    (tmp_path / "j").write_bytes(packed)
    journal, rows = read(tmp_path / "j")
    assert len(rows) == 27 and journal.unfinished is not None
    assert journal.unfinished.startswith("its data are damaged gzip data at byte ") and journal.unfinished.endswith("row is 27")


@for_each(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (gzip.compress(b"")[:12], "before the first line ends"),
        (gzip.compress(b"hello\n"), "the first line is no journal header"),
    ],
)
def test_what_has_no_header_is_no_journal(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "j").write_bytes(data)
    with pytest.raises(NotAJournal, match=why):
        read(tmp_path / "j")


def test_without_zstandard_one_sentence_says_what_is_missing(plain: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "j").write_bytes(zstandard.compress(plain))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    with pytest.raises(NotAJournal, match=re.escape(pip_install("zstd"))):
        read(tmp_path / "j")


def test_a_line_without_an_end_takes_no_more_memory_than_one_may_have(plain: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE", 10_000)
    lines = plain.splitlines(keepends=True)
    journal = JournalReader(io.BytesIO(b"".join([*lines[:5], b"x" * 25_000 + b"\n", *lines[5:]])))
    assert len(list(journal)) == 27
    assert [(broken.line, broken.reason) for broken in journal.broken] == [(6, "the line has more than 10000 bytes")]
    endless = JournalReader(io.BytesIO(b"".join([*lines[:5], b"x" * 25_000])))
    assert len(list(endless)) == 4 and endless.unfinished == "it ends in the middle of the row after 4"


def test_files_folders_patterns_and_standard_input(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl.gz", "c.jsonl.zst", "notes.txt", "odd[1].jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "deep.jsonl").mkdir()
    folder = str(tmp_path)
    found = ["a.jsonl.gz", "b.jsonl", "c.jsonl.zst", "odd[1].jsonl"]
    assert journals([folder]) == [f"{folder}/{name}" for name in found]
    assert journals([f"{folder}/?.jsonl*", "-", f"{folder}/odd[1].jsonl"]) == [
        *(f"{folder}/{name}" for name in found[:3]),
        "-",
        f"{folder}/odd[1].jsonl",
    ]
    assert journals([f"{folder}/nobody"]) == [f"{folder}/nobody"]


@for_each(
    ("word", "why"), [("{}/*.gz", "no file has a name like that"), ("{}", "no journal is in this folder: their names end in .jsonl, ")]
)
def test_where_nothing_is_meant_a_sentence_says_so(tmp_path: Path, word: str, why: str) -> None:
    with pytest.raises(NoSuchJournal, match=why):
        journals([word.format(tmp_path)])
