"""A repeated heartbeat costs little and is recorded exactly as if the recorder had decoded it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groupmock.journal.file import FileSink
from groupmock.journal.journal import Journal
from groupmock.journal.read import line_of
from groupmock.record.dialogue import Dialogue, Passing, header
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import request
from groupmock_codec import APIS
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

MEMBER = HeartbeatRequest(group_id="g", generation_id=1, member_id="m-1")


def asked(number: int, message: HeartbeatRequest = MEMBER) -> bytes:
    return request(12, 4, message, number, "client")[4:]


def answered(number: int, error: int = 0) -> bytes:
    return number.to_bytes(4, "big") + b"\0" + APIS[12].response.encode(4, HeartbeatResponse(error_code=error))


SCRIPT: list[tuple[str, bytes]] = [
    *[each for number in range(1, 6) for each in (("asked", asked(number)), ("answered", answered(number)))],
    ("asked", asked(6)),
    ("answered", answered(6, 27)),
    ("asked", asked(7)),
    ("answered", answered(7)),
    ("asked", asked(8)),
    ("asked", asked(9)),
    ("answered", answered(8)),
    ("answered", answered(9)),
    ("asked", asked(10)),
    ("answered", answered(11)),
    ("answered", answered(10)),
    ("asked", asked(12, HeartbeatRequest(group_id="g", generation_id=2, member_id="m-1"))),
    ("answered", answered(12)),
    ("asked", asked(13, HeartbeatRequest(group_id="g", generation_id=2, member_id="m-1"))),
]


def rows() -> KeptRows:
    return KeptRows(heartbeats=True, details=True)


def play(dialogue: Dialogue) -> None:
    line = dialogue.opened(1, 1, "127.0.0.1", 4000, 0)
    for place, (what, frame) in enumerate(SCRIPT, 1):
        getattr(dialogue, what)(line, frame, 1000 * place)
    dialogue.closed(line, "client", "the client closed", 99_000)
    dialogue.ended()


def journal(*sinks: Any) -> Journal:
    made = Journal(header("beats", 0, {}), sinks)
    made.begin()
    return made


def test_the_rows_are_those_of_the_full_way() -> None:
    short, full = rows(), rows()
    play(Dialogue(journal(short), beats=True))
    play(Dialogue(journal(full)))
    assert short.rows == full.rows
    assert len(short.of("request")) == 12


def test_a_file_has_them_too(tmp_path: Path) -> None:
    kept, path = rows(), tmp_path / "j.jsonl"
    made = journal(kept, FileSink(str(path), pytest.fail))
    play(Dialogue(made, beats=True))
    made.close()
    assert [json.loads(line) for line in path.read_text().splitlines()[1:]] == [json.loads(line_of(row)) for row in kept.rows]


def test_most_of_them_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    real = Passing.read

    def counted(self: Passing) -> None:
        read.append(self)
        real(self)

    monkeypatch.setattr(Passing, "read", counted)
    play(Dialogue(journal(rows()), beats=True))
    assert len(read) < 12
