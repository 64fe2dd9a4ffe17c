"""A journal with faults and commands, written on real sockets in real time, replays to the same journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fault_world import GROUP_APIS, TOPIC, World, ends

from groupmock import Broker
from groupmock.journal.read import read
from groupmock.journal.rows import CommandRow, FaultRow
from groupmock.rig.replay import replay
from groupmock_codec.messages.k18_api_versions import ApiVersionsRequest

DOINGS: list[tuple[dict[str, Any], str | None]] = [
    ({"kind": "error", "code": 16}, "request"),
    ({"kind": "delay", "seconds": 0.01}, "request"),
    ({"kind": "delay", "seconds": 0.01}, "reply"),
    ({"kind": "split", "pieces": 2, "seconds": 0.01}, None),
    ({"kind": "garble"}, None),
    ({"kind": "swallow"}, None),
    ({"kind": "drop"}, "request"),
    ({"kind": "close"}, "reply"),
    ({"kind": "reset"}, "request"),
    ({"kind": "truncate", "at": 5}, None),
    ({"kind": "move_coordinator"}, None),
    ({"kind": "stall_node", "seconds": 0.02}, None),
    ({"kind": "stop_node"}, None),
    ({"kind": "force_rebalance"}, None),
]


@pytest.mark.parametrize(("do", "stage"), DOINGS, ids=lambda each: each["kind"] if isinstance(each, dict) else each)
def test_each_kind_at_each_group_api(tmp_path: Path, do: dict[str, Any], stage: str | None) -> None:
    path = tmp_path / "run.jsonl"
    settings: dict[str, Any] = {"group_initial_rebalance_delay_ms": 0, "seed": 4}
    with Broker(topics={TOPIC: 2}, nodes=2, journal=str(path), **settings) as broker:
        world = World(broker)
        for key in GROUP_APIS:
            asked = world.occasion(key, ends(key)[-1])
            if key == 16 and do["kind"] in ("move_coordinator", "force_rebalance"):
                continue
            name = broker.add_fault(asked.when(), do, stage=stage, times=1)
            asked.send()
            broker.wait_for_fault(name)
            if do["kind"] == "stop_node":
                for node in (1, 2):
                    broker.start_node(node)
            elif do["kind"] not in ("drop", "close", "reset", "truncate", "garble"):
                asked.wire.send(18, 0, ApiVersionsRequest())
                asked.wire.receive()
        world.close()
    rows = read(path)[1]
    assert sum(isinstance(row, FaultRow) for row in rows) >= len(GROUP_APIS) - 1
    assert sum(isinstance(row, CommandRow) and row.name == "add_faults" for row in rows) >= len(GROUP_APIS) - 1
    result = replay(path)
    assert result.difference is None, result.difference
    assert result.rows == len(rows)
