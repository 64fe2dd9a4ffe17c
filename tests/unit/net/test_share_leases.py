"""Repeating heartbeats of share groups from a lease changes nothing that clients, journal or group can observe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from share_wire import ShareWire

from groupmock.rig import KeptRows

SCRIPT: list[tuple[str, Any]] = [
    ("join", "anna"), ("beat", "anna"), ("beats", ("anna", 30)), ("sleep", 19_000), ("beats", ("anna", 2)), ("sleep", 19_000),
    ("beats", ("anna", 2)), ("join", "ben"), ("beats", ("anna", 3)), ("beats", ("ben", 3)), ("grow", 4), ("beats", ("ben", 2)),
    ("beats", ("anna", 2)), ("sleep", 10_000), ("beats", ("ben", 2)), ("sleep", 10_001), ("beats", ("ben", 5)), ("beats", ("anna", 1)),
    ("leave", "ben"),
]  # fmt: skip
"""Members settle, one is silent until its session ends, and what changes an answer comes between heartbeats that are alike."""


def played(path: Path, leases: bool) -> tuple[ShareWire, KeptRows, list[Any]]:
    kept = KeptRows(heartbeats=True, details=False)
    world = ShareWire(path, [kept])
    world.rig.driver.use_leases(leases)
    heard: list[Any] = []
    for step, about in SCRIPT:
        if step == "beats":
            heard += [world.beat(about[0]) for _ in range(about[1])]
        elif step == "sleep":
            world.rig.sleep(about)
        elif step == "grow":
            world.rig.command("grow_topic", name="t", partitions=about)
        else:
            heard.append(getattr(world, step)(about))
    return world, kept, heard


def test_share_leases_on_equal_share_leases_off(tmp_path: Path) -> None:
    leased, rows, heard = played(tmp_path / "leased.jsonl", leases=True)
    plain, all_rows, all_heard = played(tmp_path / "plain.jsonl", leases=False)
    assert heard == all_heard
    assert rows.rows == all_rows.rows
    assert leased.rig.driver.counters.handled == plain.rig.driver.counters.handled
    assert leased.rig.driver.counters.repeated_heartbeats > 30
    assert plain.rig.driver.counters.repeated_heartbeats == 0
    assert heard[-2][0] == 25, "anna's session ended, although her heartbeats were repeated before"
