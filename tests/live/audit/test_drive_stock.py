"""Stock libraries, in programs as users write them, go through the situations of `groupmock audit --drive`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from groupmock.cli import main

PROGRAM = Path(__file__).resolve().parents[3] / "tests" / "interop" / "members" / "python" / "audited.py"
SITUATIONS = (
    "works", "rebalance", "stopped", "killed", "frozen", "static-restart", "coordinator-moves-stable", "session-ends", "partitions-added",
    "long-join", "long-sync", "closed-at-JoinGroup", "answer-lost-SyncGroup", "silence-at-Heartbeat", "twin",
)  # fmt: skip
KNOWN = {"aiokafka": {"CLIENT-21", "CLIENT-68"}, "kafka-python": set(), "confluent-kafka": set()}
"""Real findings about each library in these situations, which docs/proof/client-audit.md explains."""


@pytest.mark.parametrize("library", KNOWN)
def test_a_stock_client_goes_through(library: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.json"
    code = main([
        "audit", "--drive", "--situations", ",".join(SITUATIONS), "--seconds-per", "60", "--keep", str(tmp_path), "--table", str(table),
        "--", sys.executable, str(PROGRAM), library,
    ])  # fmt: skip
    said = capsys.readouterr()
    found = json.loads(table.read_text())
    assert code in (0, 1), said.err
    assert {each["name"]: each["why"] for each in found["situations"] if not each["reached"]} == {}, said.err
    broken = {code for code, rule in found["rules"].items() if rule["verdict"] == "broken" and rule["severity"] == "error"}
    assert broken <= KNOWN[library], said.out
    exercised = sum(rule["verdict"] != "not exercised" for rule in found["rules"].values())
    assert exercised >= 20, said.out
