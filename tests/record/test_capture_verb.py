"""`groupmock record --pcap FILE`: what it writes, what it says, and its exit codes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from same_rows import by_client

from groupmock.cli import main
from groupmock.journal.read import read
from groupmock.journal.rows import MovedRow
from groupmock_codec.extras import pip_install

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
GROUP = CAPTURES / "group.pcap"
"""One member joins a group and leaves it, as `tcpdump -i any` saw it and, group.jsonl, the server."""
PORT = "44163"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def record(*words: object) -> int:
    return main(["record", *map(str, words)])


@pytest.mark.parametrize("port", [(), ("--port", PORT), ("--port", f"1,{PORT}")], ids=str)
def test_a_capture_of_tcpdumps_gives_the_rows_of_the_servers_journal(
    port: tuple[str, ...], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (record("--pcap", GROUP, "--journal", out, *port), *capsys.readouterr()) == (0, "", "")
    journal, rows = read(out)
    assert (journal.ended, journal.cut, journal.header.complete) == (True, None, False)
    assert by_client(rows) == by_client(read(CAPTURES / "group.jsonl")[1])


def test_its_groups_are_those_of_the_servers_journal(out: Path) -> None:
    record("--pcap", GROUP, "--journal", out)
    files = (out, CAPTURES / "group.jsonl")
    seen, own = ([(row.before, row.after) for row in read(file)[1] if isinstance(row, MovedRow)] for file in files)
    assert seen == own != []


def test_standard_input_and_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: Path) -> None:
    from groupmock.cli import _capture

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(GROUP.read_bytes())))
    monkeypatch.setattr(_capture, "STDOUT", str(out))
    assert record("--pcap", "-") == 0
    assert len(by_client(read(out)[1])) == 1


def test_a_capture_that_has_not_all_is_told_of_in_sentences_with_what_can_be_read(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(GROUP.read_bytes()[:3500])
    assert record("--pcap", cut, "--journal", out) == 4
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("groupmock record: The file ends in the middle of packet ")
    journal, rows = read(out)
    assert journal.ended and len(rows) > 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--pcap", CAPTURES / "group.jsonl"), 2, "is no packet capture: it begins with none of the numbers that pcap and pcapng files"),
        (("--pcap", "none.pcap"), 2, "--pcap: none.pcap: No such file or directory"),
        (("--pcap", CAPTURES), 2, "Is a directory"),
        (("--pcap", GROUP, "--port", "kafka"), 2, "--port: 'kafka': with --pcap the ports of brokers are wanted, as 9092 or 9092,9093"),
        (("--pcap", GROUP, "--port", "70000"), 2, "--port: '70000'"),
        (("--pcap", GROUP, "--plan", "x", "--tls"), 2, "--pcap reads a file and connects to nobody, so leave out --plan and --tls"),
        (("--pcap", GROUP, "--", "true"), 2, "so leave out -- COMMAND"),
        (("--pcap", GROUP, "--journal", GROUP), 2, "is the capture itself"),
        (("--pcap", GROUP, "--journal-max-bytes", "many"), 2, "--journal-max-bytes: 'many' is no number"),
        (("--pcap", GROUP, "--journal", "/dev/full"), 3, "the journal could not be written: /dev/full: No space left on device"),
        (("--pcap", GROUP, "--journal", "/dev/null/x"), 3, "could not be written: /dev/null/x: its folder /dev/null cannot be made"),
        (("--pcap", GROUP, "--port", "1"), 4, "No connection of Kafka's was found in "),
    ],
    ids=lambda value: " ".join(Path(str(word)).name for word in value) if isinstance(value, tuple) else None,
)
def test_what_is_wrong_is_one_line_and_an_exit_code(
    words: tuple[object, ...], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = GROUP.read_bytes()
    monkeypatch.chdir(tmp_path)
    journal = () if "--journal" in words or "--" in words else ("--journal", "out.jsonl")
    assert record(*words, *journal) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("groupmock record: ") and said in line
    assert GROUP.read_bytes() == before


def test_without_the_library_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "groupmock.record.packets", raising=False)
    monkeypatch.setitem(sys.modules, "dpkt", None)
    assert record("--pcap", GROUP) == 3
    assert capsys.readouterr().err == f"groupmock record: --pcap needs dpkt: {pip_install('capture')}\n"


def test_a_limited_journal_says_what_is_left_out(out: Path) -> None:
    assert record("--pcap", GROUP, "--journal", out, "--journal-max-bytes", 5000) == 0
    journal, rows = read(out)
    assert journal.left_out is not None and out.stat().st_size <= 5000 and rows
