"""A scripted member that keeps every rule reaches every situation of `groupmock audit --drive` and causes no finding.

It is a classic member; stock clients play those of consumer groups (tests/interop/audit).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import driven_member
import pytest

from groupmock.audit.drive.situation import CONSUMER, situations
from groupmock.cli import main


@pytest.mark.parametrize("name", [name for name, each in situations().items() if each.protocol != CONSUMER])
def test_a_member_that_keeps_every_rule(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    table, program = tmp_path / "table.json", str(Path(driven_member.__file__))
    words = ["--situations", name, "--copies", "2", "--seed", "5", "--topic", "orders:4", "--table", str(table)]
    code = main(["audit", "--drive", *words, "--", sys.executable, program])
    said = capsys.readouterr()
    (situation,) = json.loads(table.read_text())["situations"]
    assert situation["findings"] == []
    assert (situation["why"], code) == (None, 0), said.err
