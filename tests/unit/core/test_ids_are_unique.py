"""Ids are unique although `reseed` can repeat a seed and thus the random numbers drawn before."""

from __future__ import annotations

from core_world import World

from groupmock.core.steering.chance import Reseed, reseed


def again(world: World) -> None:
    reseed(world.cluster, Reseed(seed=1), world.turn())


def topic_id(world: World, name: str) -> bytes:
    world.cluster.topics.create(world.turn(), name, 1)
    found = world.cluster.topics.topic_id(name)
    assert found is not None
    return found


def test_topics_made_after_the_same_seed_have_ids_of_their_own_and_can_be_deleted() -> None:
    world, ids = World.make(real_topics=True), {}
    for name in ("first", "second", "third"):
        again(world)
        ids[name] = topic_id(world, name)
    assert len(set(ids.values())) == 3
    for name in ids:
        # Deleting the topics shows that no two have the same id, which would raise KeyError here.
        world.cluster.topics.delete(world.turn(), name)
    assert [world.cluster.topics.name_of(each) for each in ids.values()] == [None, None, None]


def test_a_seed_that_was_given_once_gives_what_it_always_gave() -> None:
    one, other = World.make(real_topics=True), World.make(real_topics=True)
    again(one)
    again(other)
    again(other)
    assert topic_id(one, "t") == topic_id(other, "t")


def test_members_named_after_the_same_seed_have_ids_of_their_own() -> None:
    world, ids = World.make(), []
    for kind in range(3):
        again(world)
        # Before version 4 an id is never reserved, so the client becomes a member at once.
        asked = world.join(version=3) if kind == 2 else world.join()
        ids.append(asked.answer.member_id if not asked.parked else next(iter(world.group().members)))
        world.group().invariants()
    assert len(set(ids)) == 3
    again(world)
    reserved, joined = world.enter()
    assert reserved not in ids and joined.parked
    world.group().invariants()


def test_a_static_member_that_is_replaced_after_the_same_seed_gets_another_id() -> None:
    world, ids = World.make(), []
    for _ in range(3):
        again(world)
        world.join(instance="i")
        ids.append(world.group().static_members["i"])
        world.group().invariants()
    assert len(set(ids[1:])) == len(set(ids[:2])) == 2
