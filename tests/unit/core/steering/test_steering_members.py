"""Commands on members expire sessions, fence instances, and hold requests."""

from __future__ import annotations

import pytest
from cases import for_each
from core_world import World

from groupmock.core.steering import NotNow


def expired(by_command: bool) -> World:
    """Return a Stable group of three whose last member sends nothing more and expires."""
    world = World.make(seed=5)
    ids = world.stable(3, session=10_000)
    if by_command:
        world.command("expire_member", group="g", member=ids[2])
        return world
    for _ in range(2):
        world.sleep(5_000)
        for one in ids[:2]:
            world.beat(one)
    return world


def test_an_expiry_by_command_is_what_kafka_does_when_the_session_ends() -> None:
    told, waited = expired(True), expired(False)
    assert (told.moves(), told.reasons(), told.fired()) == (waited.moves(), waited.reasons(), waited.fired())
    assert list(told.group().members) == list(waited.group().members)
    assert told.changes("removed") == waited.changes("removed")


def test_an_expired_member_is_unknown() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.command("expire_member", group="g", member=follower)
    assert (world.beat(follower), world.sync(follower).error, world.join(follower).error) == (25, 25, 25)
    assert world.beat(leader) == 27


def test_by_client_id_and_by_instance_id() -> None:
    world = World.make()
    world.join(instance="i1", client="a")
    world.join(instance="i2", client="b")
    world.finish_phase()
    for name, gone in (("a", "i1"), ("i2", "i2")):
        world.command("expire_member", group="g", member=name)
        assert gone not in world.group().static_members


def test_a_reserved_id_expires() -> None:
    world = World.make()
    reserved = world.join().answer.member_id
    world.command("expire_member", group="g", member=reserved)
    assert world.join(reserved).error == 25


@for_each("api", ["JoinGroup", "SyncGroup"])
def test_who_waits_for_an_answer_cannot_expire(api: str) -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.join(follower, protocols=[("range", b"changed")])
    if api == "SyncGroup":
        world.join(leader)
        world.sync(follower)
    with pytest.raises(NotNow, match=f"waits for the answer to its {api}"):
        world.command("expire_member", group="g", member=follower)


def test_the_last_awaited_member_ends_the_join_phase() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    join = world.join(leader)
    world.command("expire_member", group="g", member=follower)
    assert join.answer.generation_id == 2


# -- fencing -----------------------------------------------------------------------------------------------------------


def static_pair(world: World) -> list[str]:
    """Create a Stable group of two static members and return their instances, the leader's first."""
    ids = {instance: world.join(instance=instance) for instance in ("i1", "i2")}
    world.finish_phase()
    by_id = {join.answer.member_id: instance for instance, join in ids.items()}
    leader = world.group().leader_id or ""
    for member_id in sorted(by_id, key=lambda one: one == leader):
        world.sync(member_id, instance=by_id[member_id], assignments={one: by_id[one].encode() for one in by_id})
    return [by_id[leader], next(instance for one, instance in by_id.items() if one != leader)]


@for_each("place", [0, 1], ids=["leader", "follower"])
def test_a_fenced_instance_in_a_stable_group(place: int) -> None:
    """Fencing an instance has the effect of its JoinGroup without a member id: no rebalance, a fenced old id, and an inherited
    assignment."""
    world = World.make()
    instance = static_pair(world)[place]
    old = world.group().static_members[instance]
    world.command("fence_instance", group="g", instance=instance)
    new = world.group().static_members[instance]
    assert (world.group().state, world.group().generation) == ("Stable", 1)
    assert new != old
    assert (world.beat(old, instance=instance), world.beat(new, instance=instance)) == (82, 0)
    assert (world.join(old, instance=instance).error, world.sync(old, instance=instance).error) == (82, 82)
    assert world.group().members[new].assignment == instance.encode()
    assert (world.group().leader_id == new) == (place == 0)
    assert world.changes("replaced") == [new]


def test_whoever_waits_under_the_old_id_is_told() -> None:
    world = World.make()
    join = world.join(instance="i1")
    world.command("fence_instance", group="g", instance="i1")
    assert (join.error, world.group().state) == (82, "PreparingRebalance")


def test_a_fenced_instance_in_completing_rebalance_rebalances() -> None:
    world = World.make()
    for instance in ("i1", "i2"):
        world.join(instance=instance)
    world.finish_phase()
    follower = next(one for one in world.group().static_members if world.group().static_members[one] != world.group().leader_id)
    old = world.group().static_members[follower]
    sync = world.sync(old, instance=follower)
    world.command("fence_instance", group="g", instance=follower)
    assert (sync.error, world.group().state) == (82, "PreparingRebalance")


def test_nobody_speaks_for_the_new_id_so_it_expires() -> None:
    world = World.make()
    instance = static_pair(world)[1]
    world.command("fence_instance", group="g", instance=instance)
    world.sleep(9_999)
    assert instance in world.group().static_members
    world.sleep(1)
    assert instance not in world.group().static_members


# -- freezing ----------------------------------------------------------------------------------------------------------


def test_a_frozen_member_is_not_heard_and_becomes_a_zombie() -> None:
    world = World.make()
    leader, follower = world.stable(2, session=10_000)
    world.command("freeze_member", group="g", member=follower)
    asked = [world.beats(follower), world.commit(follower, 1), world.join(follower), world.leave(follower)]
    assert world.beat(leader) == 0
    world.sleep(9_000)
    world.beat(leader)
    world.sleep(1_000)
    assert [each.parked for each in asked] == [True] * 4
    assert world.changes("removed") == [follower]
    world.command("thaw_member", group="g", member=follower)  # The command finds the expired member, although it has left the group.
    assert asked[0].error == 25
    assert asked[1].answer.topics[0].partitions[0].error_code == 25
    assert (asked[2].error, asked[3].answer.members[0].error_code) == (25, 25)


def test_thawed_in_time_it_is_as_if_its_requests_had_been_late() -> None:
    world = World.make()
    leader, follower = world.stable(2, session=10_000)
    world.command("freeze_member", group="g", member=follower, ms=8_000)
    beat = world.beats(follower)
    world.sleep(7_999)
    assert beat.parked
    world.sleep(1)
    assert beat.error == 0
    assert world.fired()[-1] == ("thaw", ("g", follower))
    world.beat(leader)
    world.sleep(9_000)
    assert set(world.group().members) == {leader, follower}, "its session began again when it was heard"


def test_a_frozen_member_has_no_lease() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    lease = world.beats(leader).lease
    assert lease is not None
    world.command("freeze_member", group="g", member=leader)
    assert world.group().epoch != lease.epoch


def test_others_of_the_same_group_and_name_elsewhere_go_on() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    other = world.stable(1, group="h")[0]
    world.command("freeze_member", group="g", member=follower)
    assert (world.beat(leader), world.beat(other, group="h")) == (0, 0)


def test_a_thaw_of_who_is_not_frozen_is_harmless() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    world.command("thaw_member", group="g", member=leader)
    assert world.beat(leader) == 0
