"""Hostile topologies of streams groups are refused before anything is built from them."""

from __future__ import annotations

from typing import Any, Final

import pytest
from cases import for_each
from streams_world import StreamsWorld, subtopology, topology

from groupmock.core.effects import Close
from groupmock.core.groups.streams import readiness
from groupmock_codec.messages import k88_streams_group_heartbeat as k88

MANY: Final = 100_000
FEWER: Final = 3000
"""The number of subtopologies that depend on each other: so few cost too much, too."""


def _lonely() -> k88.Topology:
    return topology(*(subtopology(str(number), "t") for number in range(MANY)))


def _chain() -> k88.Topology:
    return topology(*(subtopology(str(number), "t", sinks=[f"r{number + 1}"], repartition=[f"r{number}"]) for number in range(FEWER)))


def _cycle() -> k88.Topology:
    names = [f"r{number}" for number in range(FEWER)]
    return topology(*(subtopology(name, sinks=[names[number - 1]], repartition=[name]) for number, name in enumerate(names)))


def _indexes() -> k88.Topology:
    return topology(subtopology("0", "t", copartition_groups=[k88.CopartitionGroup(source_topics=[0] * MANY)]))


def _configs() -> k88.Topology:
    state = k88.TopicInfo(name="c", topic_configs=[k88.KeyValue(key=str(number), value="v") for number in range(MANY)])
    return topology(k88.Subtopology(subtopology_id="0", source_topics=["t"], state_changelog_topics=[state]))


def _long() -> k88.Topology:
    state = k88.TopicInfo(name="c", topic_configs=[k88.KeyValue(key=str(number), value="v" * 30_000) for number in range(2000)])
    return topology(k88.Subtopology(subtopology_id="0", source_topics=["t"], state_changelog_topics=[state]))


@for_each("make", [_lonely, _chain, _cycle, _indexes, _configs, _long])
def test_hostile_topology_is_refused_before_it_is_configured(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def configure(*_: object) -> None:
        raise AssertionError("a hostile topology was configured")

    monkeypatch.setattr(readiness, "configure", configure)
    world = StreamsWorld()
    _refused(world, make())


def test_topology_with_a_million_tasks_is_refused() -> None:
    world = StreamsWorld()
    world.topic("wide", 5000)
    _refused(world, topology(*(subtopology(str(number), "wide") for number in range(200))))


def _refused(world: StreamsWorld, hostile: k88.Topology) -> None:
    request = k88.StreamsGroupHeartbeatRequest(
        group_id="g", member_id="A", rebalance_timeout_ms=1, topology=hostile, active_tasks=[], standby_tasks=[], warmup_tasks=[]
    )
    world.rig.send(88, 1, request)
    (closed,) = world.rig.of(Close)
    assert closed.over_budget and "raise that setting" in closed.reason
    assert world.cluster.groups.find("g") is None
