"""Other parts of the core use the topics for names, ids, leaders, appends and commands."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from cases import for_each
from log_world import LogWorld, batch

from groupmock.core.log import names, placement
from groupmock.core.log.refusal import TopicRefused
from groupmock.core.log.topics import Topics
from groupmock.core.work import at_once
from groupmock_codec import error_codes
from groupmock_codec.records import RecordsError


def test_names_ids_and_partitions() -> None:
    world = LogWorld()
    world.command("create_topic", name="a", partitions=3)
    world.command("create_topic", name="b", partitions=1)
    world.command("grow_topic", name="b", partitions=2)
    topics = world.topics
    assert (topics.names(), topics.partitions("a"), topics.partitions("b"), topics.partitions("c")) == (["a", "b"], 3, 2, None)
    topic_id = topics.topic_id("a")
    assert topic_id is not None and (len(topic_id), topics.name_of(topic_id), topics.topic_id("c"), topics.name_of(bytes(16))) == (
        16,
        "a",
        None,
        None,
    )
    world.command("delete_topic", name="a")
    assert (topics.names(), topics.name_of(topic_id)) == (["b"], None)


@for_each(
    ("change", "code"),
    [
        (lambda topics, turn: topics.create(turn, "t", 1), error_codes.TOPIC_ALREADY_EXISTS),
        (lambda topics, turn: topics.create(turn, "a b", 1), error_codes.INVALID_TOPIC_EXCEPTION),
        (lambda topics, turn: topics.create(turn, "u", 0), error_codes.INVALID_PARTITIONS),
        (lambda topics, turn: topics.grow(turn, "t", 2), error_codes.INVALID_PARTITIONS),
        (lambda topics, turn: topics.grow(turn, "u", 3), error_codes.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda topics, turn: topics.delete(turn, "u"), error_codes.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda topics, turn: topics.append(turn, "t", 2, batch()), error_codes.UNKNOWN_TOPIC_OR_PARTITION),
    ],
    ids=["exists", "no name", "no partitions", "no growth", "nothing to grow", "nothing to delete", "nowhere to append"],
)
def test_changes_that_cannot_be(change: Callable[[Topics], object], code: int) -> None:
    world = LogWorld()
    world.topic("t", partitions=2)
    with pytest.raises(TopicRefused) as refused:
        change(world.topics, world.turn())
    assert isinstance(refused.value, ValueError) and refused.value.code is code


def test_appends_return_the_first_offset() -> None:
    world = LogWorld()
    world.topic()
    assert [world.topics.append(world.turn(), "t", 0, batch(b"a", b"b")) for _ in range(3)] == [0, 2, 4]
    assert world.topics.append(world.turn(), "t", 0, batch() + batch()) == 6
    assert [stored.base_offset for stored in world.topics.batches("t", 0)] == [0, 2, 4, 6, 7]
    with pytest.raises(RecordsError):
        world.topics.append(world.turn(), "t", 0, b"")


def leaders_of(name: str, partitions: range, nodes: list[int]) -> list[int]:
    return [leader for (leader,) in at_once(placement.replicas(name, partitions, 1, nodes))]


def test_leaders_are_spread_and_named_by_their_topic() -> None:
    for nodes in (1, 2, 3, 5):
        ids = list(range(1, nodes + 1))
        for name in ("orders", "payments", "a"):
            leaders = leaders_of(name, range(10), ids)
            assert leaders == leaders_of(name, range(10), ids)
            assert all((after - before) % nodes == 1 % nodes for before, after in pairwise(leaders))
            assert set(leaders) == set(ids)
    assert len({leader for name in "abcdefgh" for leader in leaders_of(name, range(1), [1, 2, 3])}) == 3


def test_replicas_are_distinct() -> None:
    assert all(sorted(each) == [1, 2, 3] for each in at_once(placement.replicas("t", range(9), 3, [1, 2, 3])))


def test_leading_a_partition_elsewhere() -> None:
    world = LogWorld(nodes=3)
    world.topic("t", node=1)
    world.topics.lead(world.turn(), "t", 0, 3)
    found = world.topics.find("t", 0)
    assert found is not None and (found.leader, found.leader_epoch, found.replicas) == (3, 1, [3])
    assert world.topics.leader_of("t", 0) == 3
    with pytest.raises(TopicRefused):
        world.topics.lead(world.turn(), "t", 0, 4)


@for_each(("name", "fine"), [("a", True), ("a.b_c-D9", True), ("x" * 249, True), ("...", True), ("a/b", False), ("a\n", False)])
def test_which_names_are_fine(name: str, fine: bool) -> None:
    assert (names.why_invalid(name) is None) is fine


def test_a_small_retention_keeps_memory_small() -> None:
    world = LogWorld(log_retention_bytes=1000)
    world.topic("small")
    world.topic("large", retention_bytes="5000")
    for _ in range(100):
        world.append(batch(b"x" * 100), topic="small")
        world.append(batch(b"x" * 100), topic="large")
    small, large = world.topics.find("small", 0), world.topics.find("large", 0)
    assert small is not None and large is not None
    assert 1000 <= small.size < 1200 and 5000 <= large.size < 5200
    assert world.fetch(0, topic="small").error_code == error_codes.OFFSET_OUT_OF_RANGE
    assert world.fetch(small.start, topic="small").log_start_offset == small.start > 0


def test_nothing_stays_of_topics_that_are_deleted() -> None:
    world = LogWorld()
    world.topic("kept", max_message_bytes="1000")
    world.produce(batch(b"v"), topic="kept")
    for number in range(50):
        world.topic(f"a.{number}", max_message_bytes="1000")
        world.produce(batch(b"v"), topic=f"a.{number}")
        world.command("delete_topic", name=f"a.{number}")
    assert list(world.topics._limits) == ["kept"]
    assert (len(world.topics._names), len(world.topics._printed)) == (1, 1)


def test_a_name_that_collided_is_free_when_the_other_is_deleted() -> None:
    world = LogWorld()
    world.topic("a.b")
    with pytest.raises(TopicRefused, match=r"Topic 'a_b' collides with existing topic: a\.b"):
        world.topics.check_name("a_b")
    world.command("delete_topic", name="a.b")
    world.topics.check_name("a_b")


def test_limits_follow_a_topic_that_is_made_anew() -> None:
    world = LogWorld()
    for size in ("100", "200"):
        world.topic("t", max_message_bytes=size)
        topic = world.topics.require("t")
        assert world.topics.limits(topic, 1).max_message_bytes == int(size)
        world.command("delete_topic", name="t")
