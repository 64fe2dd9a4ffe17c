"""ListGroups has the order in which Kafka 4.3.0 and 3.9.1 listed groups that were created and deleted (tests/data/listed_groups.json).

Each play: simple groups made by a commit in the order given, then deleted by DeleteGroups, then listed. Among the names are twenty with
one hash code. With offsets.topic.num.partitions=1 all groups of 4.3.0 share a table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from cases import for_each
from core_world import World

from groupmock.config.profiles import load as profile_named
from groupmock.core.groups.listing import ByPartition
from groupmock.core.java.hashes import java_hash, partition_for, spread_bits
from groupmock.core.java.tables import Concurrent
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest

PROFILES: Final = {"4.3.0": "kafka-4.3", "3.9.1": "kafka-3.9"}
PLAYS: Final[list[dict[str, Any]]] = json.loads((Path(__file__).parents[3] / "data" / "listed_groups.json").read_text())
EACH: Final = [(play, release) for play in PLAYS for release in play["releases"]]


def world_of(release: str, **settings: Any) -> World:
    return World.make(quirks=Quirks(**dict.fromkeys(profile_named(PROFILES[release]).quirks, True)), **settings)


def listed(world: World, node: int = 1) -> list[str]:
    return [one.group_id for one in world.send(ListGroupsRequest(), 16, 3, node=node).answer.groups]


@for_each(("play", "release"), EACH, ids=[f"{release} with {play['partitions']} partitions" for play, release in EACH])
def test_groups_are_listed_as_kafka_listed_them(play: dict[str, Any], release: str) -> None:
    world = world_of(release, offsets_topic_num_partitions=play["partitions"])
    names = play["names"]
    for number, step in enumerate(play["steps"]):
        for index in step["create"]:
            world.commit(group=names[index])
        world.send(DeleteGroupsRequest(groups_names=[names[index] for index in step["delete"]]), 42, 2)
        assert listed(world) == [names[index] for index in step["listed"]], f"after step {number}"


def test_the_plays_hold_what_makes_orders_differ() -> None:
    assert {release for play in PLAYS for release in play["releases"]} == set(PROFILES)
    for play in PLAYS:
        assert max(len(step["listed"]) for step in play["steps"]) == 199
        assert any(step["delete"] for step in play["steps"])
        assert len({java_hash(name) for name in play["names"]}) == len(play["names"]) - 19


@for_each("release", list(PROFILES))
def test_a_coordinator_that_moves_takes_its_groups_into_the_other_nodes_listing(release: str) -> None:
    names = [f"g{number}" for number in range(40)]
    world = world_of(release, nodes=2)
    for name in names:
        world.commit(group=name, node=world.cluster.groups.hosting.node_of(name) or 0)
    first, second = listed(world), listed(world, 2)
    assert len(first) > 5 < len(second) and sorted(first + second) == sorted(names)
    world.command("move_coordinator", group="g7", node=3 - (world.cluster.groups.hosting.node_of("g7") or 0))
    moved = {name for name in names if partition_for(name, 50) == partition_for("g7", 50)}
    assert set(listed(world)) == set(first) ^ moved and set(listed(world, 2)) == set(second) ^ moved


LISTED_BY_THREE: Final = [
    [16, 45, 14, 11, 41, 21, 18, 30, 27, 26, 8, 37, 4, 1, 33],
    [15, 47, 48, 13, 9, 42, 23, 24, 20, 32, 29, 7, 40, 5, 2, 34],
    [46, 44, 12, 10, 22, 19, 17, 49, 31, 0, 28, 25, 39, 6, 38, 35],
]
"""Partitions of __consumer_offsets in the order in which three nodes of Kafka 4.3.0 listed their groups."""


@for_each("seen", LISTED_BY_THREE)
def test_partitions_stand_as_the_map_of_an_election_had_them(seen: list[int]) -> None:
    """The keys 44 and 12 share a bucket, and the partition that the broker reached first in the election comes first."""
    listing = ByPartition("__consumer_offsets")
    listing.led(sorted(seen), 1)
    for index in seen:
        listing.add(f"in {index}", index, 1)
    assert listing.on(1) == [f"in {index}" for index in seen]


def test_a_node_that_starts_again_has_small_tables() -> None:
    """On Kafka 3.9 the map of a node that never stopped would have stayed large."""
    world, fresh = world_of("3.9.1"), world_of("3.9.1")
    some = [name for name in (f"g{number}" for number in range(100)) if spread_bits(java_hash(name)) & 16][:8]
    for name in some:
        world.commit(group=name)
        fresh.commit(group=name)
    small = listed(world)
    for number in range(100, 150):
        world.commit(group=f"g{number}")
    world.send(DeleteGroupsRequest(groups_names=[f"g{number}" for number in range(100, 150)]), 42, 2)
    assert listed(world) != small
    world.command("stop_node", node=1)
    world.command("start_node", node=1)
    assert listed(world) == listed(fresh) == small


def test_a_long_bucket_makes_a_small_table_grow() -> None:
    """Nine keys with one hash code make Java's map grow from 16 slots to 128 (tryPresize), so that 20 and 100 change places."""
    held: Concurrent[int] = Concurrent(lambda key: max(key, 0))
    for key in (100, 20):
        held.add(key)
    assert list(held) == [100, 20]
    for key in range(-9, 0):
        held.add(key)
    assert list(held)[-2:] == [20, 100]
