"""Coordinators move with their groups to other nodes (docs/kafka/group-protocol.md#load-unload-deletion; P2-b1, P2-c1, P2-c2, P2-d11)."""

from __future__ import annotations

from cases import for_each
from core_world import World

from groupmock.core.settings import Quirks
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest

PARTITION = 3  # The partition of __consumer_offsets to which the group "g" belongs.
OLD = Quirks(refused_join_echoes_id=True, sync_while_loading_rebalances=True, list_while_loading_shows_groups=True)


def move(world: World, node: int = 1, loading_ms: int = 0) -> None:
    world.command("load_coordinator", partition=PARTITION, node=node, loading_ms=loading_ms)


def codes(world: World, node: int = 1) -> dict[str, object]:
    """Return the error code of every API at that node."""
    fetch = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="orders", partition_indexes=[0])])
    join = world.join("x", node=node)
    return {
        "join": (join.error, join.answer.member_id),
        "sync": world.sync("x", 1, node=node).error,
        "heartbeat": world.beat("x", 1, node=node),
        "leave": (world.leave("x", node=node).answer.error_code, world.leave("x", version=1, node=node).error),
        "commit": world.commit(node=node).answer.topics[0].partitions[0].error_code,
        "fetch": world.send(fetch, 9, 7, node=node).error,
        "fetch v1": world.send(fetch, 9, 1, node=node).answer.topics[0].partitions[0].error_code,
        "describe": world.send(DescribeGroupsRequest(groups=["g"]), 15, node=node).answer.groups[0].error_code,
        "list": world.send(ListGroupsRequest(), 16, node=node).error,
        "delete": world.send(DeleteGroupsRequest(groups_names=["g"]), 42, node=node).answer.results[0].error_code,
        "offset delete": world.send(OffsetDeleteRequest(group_id="g"), 47, node=node).error,
    }


def test_while_loading() -> None:
    world = World.make()
    move(world, loading_ms=1000)
    everything = dict.fromkeys(codes(world), 14)
    assert codes(world) == everything | {"join": (14, ""), "heartbeat": 0, "leave": (14, 14)}
    world.sleep(1000)
    assert world.beat("x", 1) == 25


def test_while_loading_in_old_releases() -> None:
    world = World.make(quirks=OLD)
    world.commit(group="my-group")
    move(world, loading_ms=1000)
    found = codes(world)
    assert (found["join"], found["sync"]) == ((14, "x"), 27)
    answer = world.send(ListGroupsRequest(), 16).answer
    assert (answer.error_code, [one.group_id for one in answer.groups]) == (14, ["my-group"])


@for_each(("quirks", "echo"), [(Quirks(), ""), (OLD, "x")])
def test_at_another_node(quirks: Quirks, echo: str) -> None:
    world = World.make(quirks=quirks)
    world.command("unload_coordinator", partition=PARTITION)
    everything = dict.fromkeys(codes(world), 16)
    assert codes(world) == everything | {"join": (16, echo), "leave": (16, 16), "list": 0}


def test_unload_answers_what_is_parked() -> None:
    world = World.make()
    (_leader, _), (follower, _) = world.enter(), world.enter()
    world.sleep(6000)
    parked = world.sync(follower)
    world.command("unload_coordinator", partition=PARTITION)
    assert (parked.error, parked.answer.assignment) == (16, b"")
    assert world.reasons()[-1] == f"partition {PARTITION} of __consumer_offsets left node 1"
    assert world.core.deadline() is None or not world.sleep(10_000_000)


def test_unload_answers_a_parked_join_with_its_own_id() -> None:
    world = World.make()
    member_id, asked = world.enter()
    world.command("unload_coordinator", partition=PARTITION)
    assert (asked.error, asked.answer.member_id, asked.answer.generation_id) == (16, member_id, -1)


def test_a_stable_group_comes_back_as_it_was_and_nobody_has_to_rejoin() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.commit(leader, 1)
    before = world.group()
    move(world)
    group = world.group()
    assert group is not before
    assert (group.state, group.generation, group.protocol_type, group.protocol_name, group.leader_id) == (
        "Stable",
        1,
        "consumer",
        "range",
        leader,
    )
    assert (world.beat(leader), world.beat(follower)) == (0, 0)
    assert world.sync(follower).answer.assignment == f"for {follower}".encode()
    assert group.offsets["orders", 0].offset == 1
    assert group.subscribed_to("orders")
    assert not group.subscribed_to("pay")


def test_sessions_run_after_a_load() -> None:
    world = World.make()
    leader, _follower = world.stable(2)
    move(world)
    world.sleep(5000)
    world.beat(leader)
    world.sleep(5000)
    assert set(world.group().members) == {leader}


@for_each("state", ["PreparingRebalance", "CompletingRebalance"])
def test_a_group_in_a_rebalance_comes_back_in_its_last_stored_generation(state: str) -> None:
    world = World.make()
    leader, follower = world.stable(2)
    newcomer, _ = world.enter()
    if state == "CompletingRebalance":
        world.join(leader)
        world.join(follower)
    assert world.group().state == state
    move(world)
    assert (world.group().state, world.group().generation) == ("Stable", 1)
    assert (world.beat(leader, 1), world.beat(leader, 2), world.beat(newcomer, 1)) == (0, 22, 25)


def test_reservations_are_lost() -> None:
    world = World.make()
    world.stable(1)
    reserved = world.join().answer.member_id
    move(world)
    assert world.join(reserved).error == 25


@for_each(("quirks", "known"), [(Quirks(), True), (Quirks(empty_group_not_recorded=True), False)])
def test_a_group_with_nothing_but_a_reservation(quirks: Quirks, known: bool) -> None:
    world = World.make(quirks=quirks)
    world.join()
    move(world)
    assert (world.cluster.groups.find("g") is not None) is known


def test_a_simple_group_comes_back_with_its_offsets() -> None:
    world = World.make()
    world.commit()
    move(world)
    assert (world.group().state, world.group().protocol_type, len(world.group().offsets)) == ("Empty", None, 1)


def test_an_emptied_group_keeps_the_time_it_became_empty() -> None:
    world = World.make()
    world.leave(*world.stable(1))
    before = world.group().state_since_ms
    world.sleep(5000)
    move(world)
    assert (world.group().state_since_ms, world.group().generation, world.group().protocol_type) == (before, 2, "consumer")


def test_moving_to_another_node() -> None:
    world = World.make(nodes=2)
    at = world.cluster.groups.hosting.node_of("g") or 0
    world.commit(node=at)
    move(world, node=3 - at)
    assert world.cluster.groups.hosting.node_of("g") == 3 - at
    assert codes(world, node=at)["commit"] == 16
    assert world.commit(node=3 - at).answer.topics[0].partitions[0].error_code == 0


def test_a_loaded_group_over_the_limit_rebalances() -> None:
    world = World.make()
    world.stable(3)
    world.environment.settings = type(world.environment.settings)(group_max_size=2)
    move(world)
    assert world.group().state == "PreparingRebalance"


def test_a_topic_deleted_meanwhile_takes_its_offsets() -> None:
    world = World.make()
    world.commit()
    world.command("unload_coordinator", partition=PARTITION)
    world.cluster.groups.topic_deleted(world.turn(), "orders")
    move(world)
    assert world.cluster.groups.find("g") is None
