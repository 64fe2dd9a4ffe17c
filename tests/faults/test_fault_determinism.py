"""The same seed and script write the same journal byte for byte, and a replay of the journal gives the same journal again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_script import Run
from properties.fault_scripts import FAULT_SCRIPT
from searching import seeds

from groupmock.faults.kind import all_kinds

SEEDS = 160
"""Number of fixed seeds; `make search` plays fresh ones."""
SHARES = 4
NOT_SCRIPTED = {"move_leader", "stop_node"}
"""Fault kinds that the script leaves out, because they need sockets or a leader on another node. The tests of steering commands replay
them."""
OF_PRODUCERS = {"abort_transaction", "fence_transaction", "hold_markers", "move_transaction_coordinator"}
"""Fault kinds that need a producer. The scripted members are consumers, so test_fault_transactions.py plays and replays these kinds."""
OF_RECORDS = {"corrupt_batch", "corrupt_value", "duplicate_records", "invalid_schema_id"}
"""Fault kinds that need fetched records. The scripted members fetch none, so test_fault_records.py replays these kinds."""


@pytest.mark.property
@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_the_same_seed_is_the_same_journal_and_replays(share: int) -> None:
    for seed in seeds(SEEDS)[share::SHARES]:
        FAULT_SCRIPT.check({"seed": seed})


def test_the_script_comes_to_every_kind_of_fault(tmp_path: Path) -> None:
    struck: set[str] = set()
    for seed in range(SEEDS):
        Run(seed, tmp_path / "run.jsonl").play()
        rows = map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines()[1:])
        struck |= {row["action"] for row in rows if row["kind"] == "fault"}
    secured = {name for name, kind in all_kinds().items() if kind.SECURED}  # tests/faults/test_fault_security.py replays these.
    assert set(all_kinds()) - secured - NOT_SCRIPTED - OF_PRODUCERS - OF_RECORDS <= struck


def test_another_seed_is_another_journal(tmp_path: Path) -> None:
    """A journal that ignored its seed would pass the other tests of this module."""
    for seed in (1, 2):
        Run(seed, tmp_path / f"{seed}.jsonl").play()
    assert (tmp_path / "1.jsonl").read_bytes() != (tmp_path / "2.jsonl").read_bytes()
