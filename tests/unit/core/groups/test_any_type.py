"""What speaks of any group asks its type: listing, deletion, commits, retention, moves of the coordinator; and one id is one group."""

from __future__ import annotations

import pytest
from core_world import World
from toy_group import SESSION_MS, ToyGroup

from groupmock.core.groups import causes
from groupmock.core.groups.offsets.committed import Offset
from groupmock.core.steering import NotNow
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest


def ticking(world: World, group_id: str = "g") -> ToyGroup:
    """A toy group with one member."""
    turn = world.turn()
    group = world.cluster.groups.claim(turn, group_id, ToyGroup, causes.first_join("me"))
    assert group is not None
    group.tick(turn, "m1")
    world.effects += turn.out
    return group


def committed(world: World, member_id: str, generation: int = 1) -> int:
    code: int = world.commit(member_id, generation).answer.topics[0].partitions[0].error_code
    return code


def listed(world: World, *types: str) -> list[tuple[str, str, str]]:
    answer = world.send(ListGroupsRequest(types_filter=list(types)), 16).answer
    return [(one.group_id, one.group_state, one.group_type) for one in answer.groups]


def deleted(world: World) -> int:
    code: int = world.send(DeleteGroupsRequest(groups_names=["g"]), 42).answer.results[0].error_code
    return code


def test_a_listing_names_each_groups_type() -> None:
    world = World.make()
    ticking(world)
    world.join(group="other")
    toy, classic = ("g", "Ticking", "toy"), ("other", "Empty", "classic")
    assert sorted(listed(world)) == [toy, classic]
    assert (listed(world, "Toy"), listed(world, "classic"), listed(world, "consumer")) == ([toy], [classic], [])


def test_describe_groups_does_not_find_a_group_with_a_description_of_its_own() -> None:
    world = World.make()
    ticking(world)
    (one,) = world.send(DescribeGroupsRequest(groups=["g"]), 15).answer.groups
    assert (one.error_code, one.group_state) == (69, "Dead")


def test_the_type_says_who_may_commit_and_delete() -> None:
    world = World.make()
    group = ticking(world)
    assert (committed(world, "m1"), committed(world, "m2"), deleted(world)) == (0, 25, 68)
    world.sleep(SESSION_MS)
    assert (group.state, world.moves()[-1], world.fired()) == ("Empty", ("Ticking", "Empty", 2), [("session", ("g", "m1"))])
    assert group.view().offsets == {"orders": {0: 1}}
    assert (deleted(world), world.cluster.groups.find("g")) == (0, None)


def test_the_type_says_from_when_offsets_age() -> None:
    world = World.make(offsets_retention_minutes=1, offsets_retention_check_interval_ms=60_000)
    group = ticking(world)
    committed(world, "m1")
    world.sleep(SESSION_MS)
    assert group.offsets
    world.sleep(120_000)
    assert world.cluster.groups.find("g") is None


def test_classic_members_are_refused_while_a_group_of_another_type_is_in_use() -> None:
    world = World.make()
    ticking(world)
    assert (world.join().error, world.join("m1").error) == (23, 23)
    assert (world.beat("m1", 1), world.leave("m1").answer.members[0].error_code, world.sync("m1", 1).error) == (25, 25, 25)
    with pytest.raises(NotNow, match="group 'g' is a toy group"):
        world.command("force_rebalance", group="g")


def test_an_empty_group_gives_way_to_another_type_which_takes_over_its_offsets() -> None:
    world = World.make()
    committed(world, "", -1)
    group = ticking(world)
    assert group.offsets[("orders", 0)].offset == 1
    world.sleep(SESSION_MS)
    assert world.join("m1").error == 25
    assert world.cluster.groups.find("g") is group, "who has an id makes no group"
    assert world.join().error == 79
    assert world.group().offsets[("orders", 0)].offset == 1


def test_it_comes_back_as_what_it_was_when_its_partition_is_loaded() -> None:
    world = World.make(nodes=2, real_topics=True)
    group = ticking(world)
    group.offsets["orders", 0] = Offset(7, -1, "", 0)
    world.command("move_coordinator", group="g")
    again = world.cluster.groups.find("g")
    assert isinstance(again, ToyGroup) and again is not group
    assert (again.generation, list(again.members), again.offsets["orders", 0].offset) == (1, [], 7)


def test_it_hears_of_topics_that_come_and_grow() -> None:
    world = World.make(real_topics=True)
    group = ticking(world)
    world.command("create_topic", name="orders", partitions=1)
    world.command("grow_topic", name="orders", partitions=2)
    assert group.heard_of[-2:] == ["orders", "orders"]
