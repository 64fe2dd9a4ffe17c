"""The cached heartbeat answer is never repeated when a fault rule, a held group or a steering command would have changed the answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from fault_script import Run

SEEDS = 160
SHARES = 2
HEARTBEATS = (12, 68)
"""Heartbeat (12) for classic groups and ConsumerGroupHeartbeat (68) for consumer groups."""


def play(seed: int, path: Path, leases: bool) -> tuple[bytes, int]:
    run = Run(seed, path, leases)
    run.play()
    return path.read_bytes(), run.driver.counters.repeated_heartbeats


@pytest.mark.parametrize("share", range(SHARES))
def test_leases_change_nothing_whatever_rules_and_holds_there_are(tmp_path: Path, share: int) -> None:
    repeated, struck = 0, Counter[int]()
    for seed in range(10_000 + share, 10_000 + SEEDS, SHARES):
        with_leases, count = play(seed, tmp_path / "on.jsonl", True)
        without, none = play(seed, tmp_path / "off.jsonl", False)
        assert with_leases == without, f"seed {seed}: {first_difference(with_leases, without)}"
        assert none == 0
        repeated += count
        rows = [json.loads(line) for line in without.splitlines()[1:]]
        for key in HEARTBEATS:
            beats = {row["ticket"] for row in rows if row["kind"] == "request" and row["api_key"] == key}
            struck[key] += sum(row["kind"] == "fault" and row.get("ticket") in beats for row in rows)
    assert repeated > 50 and all(struck[key] > 5 for key in HEARTBEATS), f"{repeated} repeated, {struck} struck: the script proves nothing"


def first_difference(one: bytes, other: bytes) -> str:
    return next(f"{a!r} / {b!r}" for a, b in zip(one.splitlines(), other.splitlines(), strict=False) if a != b)
