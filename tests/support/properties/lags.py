"""A group's lag always equals the log end offset minus the committed offset, after any write, delete, commit or reset.

Case: `steps`: ["write", partition, records], ["trim", partition, offset], ["commit", partition, offset], ["reset", how].
"""

from __future__ import annotations

from typing import Any

from data_world import DataWorld
from found import Case, Property

from groupmock.core.steering import CannotSteer
from groupmock.data.lag import lag_of

PARTITIONS = 2


def _holds(case: Case) -> None:
    world = DataWorld()
    world.topic("t", partitions=PARTITIONS)
    committed: dict[int, int] = {}
    for name, *values in case["steps"]:
        _take(world, committed, name, values)
        _judge(world, committed)


def _take(world: DataWorld, committed: dict[int, int], name: str, values: list[Any]) -> None:
    logs = world.topics.require("t").partitions
    if name == "write":
        world.write("t", [{"value": number} for number in range(values[1])], values[0])
    elif name == "trim":
        logs[values[0]].delete_before(min(values[1], logs[values[0]].end))
    elif name == "commit":
        world.command("commit_offsets", group="g", offsets=[{"topic": "t", "partition": values[0], "offset": values[1]}])
        committed[values[0]] = values[1]
    else:
        try:
            world.command("reset_offsets", group="g", topic="t", **values[0])
        except CannotSteer:
            assert "shift" in values[0] and len(committed) < PARTITIONS, "only what was never committed cannot be shifted"
            return
        committed |= {log.index: _wanted(log, committed.get(log.index), values[0]) for log in logs}


def _wanted(log: Any, before: int | None, how: dict[str, Any]) -> int:
    if how == {"to": "current"} and before is None:
        return int(log.end)
    wanted = {"earliest": log.start, "latest": log.end, "current": before}.get(how.get("to", ""), how.get("offset"))
    wanted = (before or 0) + how["shift"] if "shift" in how else wanted
    return int(min(max(wanted, log.start), log.end))


def _judge(world: DataWorld, committed: dict[int, int]) -> None:
    group = world.cluster.groups.find("g")
    if group is None:
        assert committed == {}
        return
    told = lag_of(world.cluster, group.view())
    ends = [log.end for log in world.topics.require("t").partitions]
    assert {row.partition: (row.committed, row.end_offset, row.lag) for row in told.partitions} == {
        partition: (offset, ends[partition], max(0, ends[partition] - offset)) for partition, offset in committed.items()
    }
    assert told.lag == (sum(row.lag or 0 for row in told.partitions) if committed else None)


LAGS = Property("lags", _holds)
