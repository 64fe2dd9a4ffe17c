"""Commands on nodes move coordinators and leaders, stop, start and stall nodes, and jump to a timer or step the clock."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from core_world import World
from log_world import LogWorld

from groupmock.core.effects import ClockStepped, NodeChanged
from groupmock.core.steering import NoSuch, NotNow
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k10_find_coordinator import FindCoordinatorRequest
from groupmock_codec.messages.k60_describe_cluster import DescribeClusterRequest
from groupmock_codec.messages.k75_describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest


def home(world: World) -> int:
    return world.cluster.groups.hosting.node_of("g") or 0


def stable(world: World, count: int = 2) -> list[str]:
    """Create a Stable group on any node and return the member ids."""
    node = home(world)
    entered = [world.enter(node=node)[0] for _ in range(count)]
    world.finish_phase()
    for member_id in sorted(entered, key=lambda one: one == world.group().leader_id):
        world.sync(member_id, assignments=dict.fromkeys(entered, b"a"), node=node)
    return entered


def test_a_moved_coordinator_answers_16_where_it_was_and_knows_the_group_where_it_is() -> None:
    world = World.make(nodes=3)
    first, _ = stable(world)
    before = home(world)
    world.command("move_coordinator", group="g")
    after = home(world)
    assert after == before % 3 + 1, "the next node"
    assert (world.beat(first, node=before), world.beat(first, node=after)) == (16, 0)


def test_a_move_to_a_named_node_that_loads() -> None:
    world = World.make(nodes=3)
    first, _ = stable(world)
    target = home(world) % 3 + 1
    world.command("move_coordinator", group="g", node=target, loading_ms=500)
    assert world.join(first, node=target).error == 14
    world.sleep(500)
    assert world.beat(first, 1, node=target) == 0


def test_a_move_on_the_only_node_unloads_and_loads() -> None:
    world = World.make()
    (first,) = stable(world, 1)
    world.command("move_coordinator", group="g")
    assert world.beat(first) == 0
    assert world.moves()[-2:] == [("Stable", "Dead", 1), ("", "Stable", 1)]


def test_whoever_waits_while_its_coordinator_moves_is_told() -> None:
    world = World.make(nodes=2)
    join = world.enter(node=home(world))[1]
    world.command("move_coordinator", group="g")
    assert join.error == 16


def test_an_unloaded_coordinator_is_not_available_until_it_is_moved() -> None:
    world = World.make(nodes=2)
    stable(world)
    world.command("unload_coordinator", group="g")
    assert find(world) == (15, -1)
    with pytest.raises(NotNow, match="led by nobody already"):
        world.command("unload_coordinator", group="g")
    world.command("move_coordinator", group="g", node=2)
    assert find(world) == (0, 2)
    assert world.group().state == "Stable"


def find(world: World) -> tuple[int, int]:
    answer = world.send(FindCoordinatorRequest(key="g", key_type=0), 10, 3).answer
    return answer.error_code, answer.node_id


# -- nodes that stop and start -----------------------------------------------------------------------------------------


def cluster_of(nodes: int, **settings: Any) -> LogWorld:
    world = LogWorld(nodes=nodes, **settings)
    world.command("create_topic", name="orders", partitions=nodes)
    return world


def metadata(world: LogWorld, version: int = 13) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """Return node ids and a dict of partition -> (error, leader)."""
    answer = world.ask(3, version, MetadataRequest(topics=None))
    rows = {row.partition_index: (row.error_code, row.leader_id) for row in answer.topics[0].partitions}
    return [row.node_id for row in answer.brokers], rows


def test_a_stopped_node_is_no_broker_and_its_partitions_without_a_replica_have_no_leader() -> None:
    world = cluster_of(3)
    leaders = {index: leader for index, (_, leader) in metadata(world)[1].items()}
    world.command("stop_node", node=2)
    nodes, rows = metadata(world)
    assert nodes == [1, 3]
    assert rows == {index: (5, -1) if leader == 2 else (0, leader) for index, leader in leaders.items()}
    assert [row.broker_id for row in world.ask(60, 2, DescribeClusterRequest()).brokers] == [1, 3]
    (topic,) = world.ask(75, 0, DescribeTopicPartitionsRequest(topics=[TopicRequest(name="orders")])).topics
    assert sorted(row.leader_id for row in topic.partitions) == [-1, 1, 3]
    world.command("start_node", node=2)
    assert {index: leader for index, (_, leader) in metadata(world)[1].items()} == leaders


def test_a_partition_with_replicas_is_led_by_the_next_and_stays_there() -> None:
    world = cluster_of(3, default_replication_factor=3)
    world.command("stop_node", node=2)
    assert {leader for _, leader in metadata(world)[1].values()} == {1, 3}
    rows = world.ask(3, 13, MetadataRequest(topics=None)).topics[0].partitions
    assert [(row.offline_replicas, sorted(row.isr_nodes)) for row in rows] == [([2], [1, 3])] * 3
    world.command("start_node", node=2)
    assert 2 not in {leader for _, leader in metadata(world)[1].values()}


@for_each("clean", [True, False])
def test_the_coordinators_of_a_stopped_node_go_to_the_next_and_who_waits_is_told_only_by_a_clean_stop(clean: bool) -> None:
    """The core answers waiting requests whether the node stops cleanly or dies, but a dying node closes its connections before it sends
    the answers."""
    world = LogWorld(nodes=3)
    mark = len(world.effects)
    world.command("stop_node", node=2, clean=clean)
    effects = [type(one).__name__ for one in world.effects[mark:]]
    assert effects.index("NodeChanged") == (len(effects) - 1 if clean else 0)
    assert world.cluster.groups.hosting.led_by(2) == []
    assert len(world.cluster.groups.hosting.led_by(3)) == 33


def test_the_only_node_stops_and_its_groups_come_back_with_it() -> None:
    world = World.make(real_topics=True)  # The test needs real topics, because only these have leaders.
    (first,) = stable(world, 1)
    world.command("stop_node", node=1)
    assert find(world) == (15, -1)
    world.command("start_node", node=1, loading_ms=200)
    assert world.join(first).error == 14
    world.sleep(200)
    assert world.beat(first, 1) == 0


def test_stopped_and_started_twice_is_once() -> None:
    world = LogWorld(nodes=2)
    for name in ("stop_node", "stop_node", "start_node", "start_node"):
        world.command(name, node=2)
    assert [one.what for one in world.effects if isinstance(one, NodeChanged)] == ["stopped", "started"]


def test_nothing_moves_to_a_stopped_node() -> None:
    world = LogWorld(nodes=2)
    world.command("stop_node", node=2)
    for name, more in (("move_coordinator", {"group": "g", "node": 2}), ("stall_node", {"node": 2})):
        with pytest.raises(NotNow, match="node 2 is stopped: start it first"):
            world.command(name, **more)


@for_each("by", ["time", "start_node"])
def test_a_stalled_node_goes_on(by: str) -> None:
    world = World.make(nodes=2)
    world.command("stall_node", node=2, ms=1000)
    world.command("stall_node", node=2, ms=3000)
    world.sleep(2999)
    assert [one.what for one in world.effects if isinstance(one, NodeChanged)] == ["stalled"]
    if by == "time":
        world.sleep(1)
        assert world.fired() == [("stall", ("2",))]
    else:
        world.command("start_node", node=2)
        world.sleep(5000)
    assert [one.what for one in world.effects if isinstance(one, NodeChanged)] == ["stalled", "resumed"]


# -- time --------------------------------------------------------------------------------------------------------------


def test_a_step_of_the_clock_is_the_drivers_to_do() -> None:
    world = World.make()
    world.command("step_clock", ms=1500)
    assert world.effects == [ClockStepped(1_500_000_000)]


def test_a_timer_jumps_to_its_end() -> None:
    world = World.make()
    _, join = world.enter()
    world.command("jump_timer", timer="join", subject=["g"])
    assert (join.answer.generation_id, world.fired()) == (1, [("join", ("g",))])
    world.command("jump_timer", timer="sync", subject=["g"])
    assert world.fired()[-1] == ("sync", ("g",))
    assert world.group().state == "Empty"


def test_a_session_jumps_as_it_expires() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.command("jump_timer", timer="session", subject=["g", follower])
    assert (world.fired()[-1], world.beat(leader)) == (("session", ("g", follower)), 27)


def test_a_coordinator_that_loads_is_done_at_once() -> None:
    world = World.make()
    (first,) = world.stable(1)
    world.command("move_coordinator", group="g", loading_ms=60_000)
    with pytest.raises(NoSuch, match="no timer 'load' is armed for 4: there are 3"):
        world.command("jump_timer", timer="load", subject=["4"])
    world.command("jump_timer", timer="load", subject=["3"])
    assert world.beat(first) == 0
