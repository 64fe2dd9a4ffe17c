"""`python -m tools.fidelity` exits with the right code and explains wrong arguments."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from cases import for_each

from tools.fidelity.__main__ import main
from tools.fidelity.compare.golden import Golden, save
from tools.fidelity.families import family
from tools.fidelity.guided.core_player import play

NOBODY = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_broker_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP", raising=False)


def golden(seed: int) -> Golden:
    script = family("groups")(seed, "4.3")
    return Golden(script, play(script))


def left_with(words: list[str]) -> int:
    """Return the exit code of the command, also when argparse ends the program."""
    try:
        return main(words)
    except SystemExit as left:
        return int(left.code or 0)


@for_each(
    ("words", "code", "said"),
    [
        (["run", "groups"], 3, "no broker: name one with --broker or in $KAFKA_BOOTSTRAP"),
        (["run", "groups", "--broker", NOBODY], 3, "no broker: cannot connect: "),
        (["run", "groups", "--broker", "nowhere"], 2, "HOST:PORT expected, not 'nowhere'"),
        (["run", "groups", "--broker", NOBODY, "--seeds", "5", "5"], 2, "TO is exclusive and must be above FROM"),
        (["run", "groups", "--broker", NOBODY, "--parallel", "0"], 2, "a number above 0 expected, not '0'"),
        (["run", "bytes", "--broker", NOBODY], 2, "invalid choice: 'bytes'"),
        (["bytes"], 3, "no broker: name one with --broker or in $KAFKA_BOOTSTRAP"),
        (["bytes", "--broker", NOBODY], 3, f"no broker: cannot connect to {NOBODY}: "),
        (["bytes", "--broker", "x"], 2, "--broker: HOST:PORT expected, not 'x'"),
        (["bytes", "--broker", NOBODY, "--seeds", "1", "1"], 2, "TO is exclusive and must be above FROM"),
        (["show", "exchanges", "999999"], 2, "exchanges for 4.3, from 0 on; not 999999"),
        (["replay", "no/such/folder"], 2, "no golden plays of 4.4, 4.3, 3.9 in no/such/folder"),
        (["speed", "groups", "--processes", "none"], 2, "a number above 0 expected, not 'none'"),
    ],
)
def test_bad_use_says_what_would_do(words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert left_with(words) == code
    told = capsys.readouterr()
    assert said in told.err
    assert "Traceback" not in told.err and told.out == ""


def test_show_prints_a_seed_with_its_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "groups", "7"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("exchange groups-7 ") and " -> 0 " in told and "End: DescribeGroups" in told


def test_show_prints_bytes_as_they_are_sent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "bytes", "3"]) == 0
    assert 'A: bytes x"' in capsys.readouterr().out


def test_a_corpus_that_the_core_keeps_is_replayed_with_0(tmp_path: Path) -> None:
    save(tmp_path, [golden(1), golden(2)])
    assert main(["replay", str(tmp_path), "--release", "4.3"]) == 0


def test_a_corpus_that_it_does_not_keep_with_1_and_the_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = golden(2)
    last = wrong.transcript.events[-1]
    assert last.answer is not None
    wrong.transcript.events[-1] = msgspec.structs.replace(last, answer={**last.answer, "error_code": 7})
    save(tmp_path, [golden(1), wrong])
    assert main(["replay", str(tmp_path), "--release", "4.3"]) == 1
    assert capsys.readouterr().out.startswith("4.3 seed 2: step ")
