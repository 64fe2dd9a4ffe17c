"""Same seed, same script: the same journal, byte for byte; and replay of it gives the same again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_script import Run

from groupmock.faults.kind import all_kinds
from groupmock.replay import replay

SEEDS = 160
"""`make search` plays fresh ones."""
SHARES = 4
NOT_SCRIPTED = {"move_leader", "stop_node"}
"""Need sockets or a leader elsewhere; their commands are replayed in the tests of steering."""


@pytest.mark.parametrize("share", range(SHARES))
def test_the_same_seed_is_the_same_journal_and_replays(tmp_path: Path, share: int) -> None:
    for seed in range(share, SEEDS, SHARES):
        first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
        for path in (first, second):
            Run(seed, path).play()
        assert first.read_bytes() == second.read_bytes(), f"seed {seed}: two runs differ"
        result = replay(first)
        assert result.difference is None, f"seed {seed}: {result.difference}"
        assert "internal error" not in first.read_text(), f"seed {seed}: a defect of groupmock itself"


def test_the_script_comes_to_every_kind_of_fault(tmp_path: Path) -> None:
    struck: set[str] = set()
    for seed in range(SEEDS):
        Run(seed, tmp_path / "run.jsonl").play()
        rows = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines()[1:])
        struck |= {row["action"] for row in rows if row["kind"] == "fault"}
    assert set(all_kinds()) - NOT_SCRIPTED <= struck


def test_another_seed_is_another_journal(tmp_path: Path) -> None:
    """The test above could not fail if the seed did not matter."""
    for seed in (1, 2):
        Run(seed, tmp_path / f"{seed}.jsonl").play()
    assert (tmp_path / "1.jsonl").read_bytes() != (tmp_path / "2.jsonl").read_bytes()
