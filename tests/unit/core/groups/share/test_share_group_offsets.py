"""Describe, alter and delete the start offsets of share groups, with Kafka's texts (SG-100 to SG-109)."""

from __future__ import annotations

from log_world import batch
from share_world import ShareWorld

from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

NOT_HOSTED = (3, "This server does not host this topic-partition.")
FRESH = (-1, 0, -1)


def world_with_group() -> ShareWorld:
    """Return a world whose group has initialised both topics and has no members any more."""
    world = ShareWorld()
    world.join("A", "t", "u")
    world.settle("A")
    world.leave()
    return world


def test_offsets_of_what_is_not_there_are_no_error() -> None:
    world = ShareWorld()
    assert world.offsets() == {}
    assert world.offsets({}) == {}
    assert world.offsets({"t": [0, 9], "none": [3]}) == {"t": {0: FRESH, 9: FRESH}, "none": {3: FRESH}}
    assert world.offsets(group="") == {}
    assert world.offsets({"t": [0]}, group="") == (-1, "The server experienced an unexpected error when processing the request.")


def test_initialised_partitions_are_described_if_no_topics_are_named() -> None:
    world = world_with_group()
    assert world.offsets() == {"t": dict.fromkeys(range(4), FRESH), "u": dict.fromkeys(range(2), FRESH)}
    assert world.offsets({"u": [1]}) == {"u": {1: FRESH}}


def test_altered_offsets_are_described_with_their_lag() -> None:
    world = world_with_group()
    world.append(batch(b"a", b"b", b"c"), topic="t", partition=1)
    assert world.alter({"t": {1: 2, 7: 0}, "none": {0: 1}}) == {"t": {1: (0, None), 7: NOT_HOSTED}, "none": {0: NOT_HOSTED}}
    assert world.offsets({"t": [1]}) == {"t": {1: (2, 0, 1)}}
    assert world.offsets({"t": [1]}, version=0)["t"][1][:2] == (2, 0)
    assert world.alter({"t": {1: -5, 2: 1000}}) == {"t": {1: (0, None), 2: (0, None)}}, "any number is taken"


def test_a_group_with_members_keeps_its_offsets() -> None:
    world = ShareWorld()
    world.join()
    assert world.alter({"t": {0: 1}}) == (68, "The group is not empty.")
    assert world.alter({}) == (68, "The group is not empty.")
    assert world.delete_offsets("t") == (68, "The group is not empty.")
    assert world.delete_offsets() == (68, "The group is not empty.")


def test_altering_an_unknown_group_makes_it() -> None:
    world = ShareWorld()
    assert world.alter({}) == {}
    assert world.alter({"none": {0: 1}}) == {"none": {0: NOT_HOSTED}}
    assert world.cluster.groups.find("g") is None
    assert world.alter({"t": {0: 1}}) == {"t": {0: (0, None)}}
    assert world.state()[0] == "Empty"
    assert world.offsets() == {"t": {0: (1, 0, -1)}}
    assert world.join().has == {"t": [0]}, "what is initialised comes at once"


def test_deleted_offsets_are_initialised_again_by_the_next_join() -> None:
    world = world_with_group()
    nothing = (3, "There is no offset information to delete.")
    assert world.delete_offsets("t", "none") == {"t": (0, None), "none": NOT_HOSTED}
    assert world.delete_offsets("t") == {"t": nothing}
    assert world.delete_offsets() == {}
    assert world.offsets() == {"u": dict.fromkeys(range(2), FRESH)}
    assert world.join("A", "t", "u").has == {"u": [0, 1]}
    world.sleep(1)
    assert world.beat().has == {"t": [0, 1, 2, 3], "u": [0, 1]}


def test_groups_that_are_none_or_of_another_type_are_refused() -> None:
    world = ShareWorld()
    assert world.delete_offsets("t") == (69, "Group g not found.")
    for asked in (world.alter({"t": {0: 1}}, group=""), world.delete_offsets("t", group="")):
        assert asked == (24, "The group id is invalid.")
    consumer = ConsumerGroupHeartbeatRequest("c", "m", rebalance_timeout_ms=9000, topic_partitions=[])
    consumer.subscribed_topic_names = ["t"]
    world.ask(68, 1, consumer)
    for asked in (world.alter({"t": {0: 1}}, group="c"), world.delete_offsets("t", group="c")):
        assert asked == (69, "Group c is not a share group.")
    assert world.offsets(group="c") == {}
