"""In whole recorded groups every heartbeat has the answer that Apache Kafka 4.4.0 gave: 546 heartbeats of 16 groups."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

from cases import for_each
from streams_world import StreamsWorld, subtopology, topology

from groupmock_codec.messages.k88_streams_group_heartbeat import Topology

DATA: Final = Path(__file__).resolve().parents[4] / "data" / "streams_assignments.json.gz"
WALKS: Final[list[dict[str, Any]]] = json.loads(gzip.decompress(DATA.read_bytes()))["walks"]


@for_each("walk", WALKS, [f"walk {number}" for number in range(len(WALKS))])
def test_every_heartbeat_of_a_recorded_group_is_answered_as_by_kafka(walk: dict[str, Any]) -> None:
    world, subtopologies = StreamsWorld(topics=False), []
    for name, count in walk["tasks"].items():
        state = [f"changelog-{name}"] if name in walk["stateful"] else []
        for topic in (f"in-{name}", *state):
            world.topic(topic, count)
        subtopologies.append(subtopology(name, f"in-{name}", state=state))
    for number, step in enumerate(walk["steps"]):
        _take(world, topology(*subtopologies), step, f"step {number} {step}")
        if world.epochs:
            world.streams_group.invariants()


def _take(world: StreamsWorld, of: Topology, step: dict[str, Any], where: str) -> None:
    if "standbys" in step:
        world.command("configure_group", group="g", set={"streams.num.standby.replicas": str(step["standbys"])})
        return
    if "leave" in step:
        world.leave(step["leave"])
        return
    fields = {"process_id": step["process"]} if "process" in step else {}
    member = step["member"]
    told = world.join(member, of, **fields) if "join" in step else world.beat(member, step.get("owned"), **fields)
    assert (told.epoch, [told.active, told.standby]) == (step["epoch"], step.get("tasks", [None, None])), where
