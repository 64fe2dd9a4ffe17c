"""Commands move all leaders and coordinators at once, add a node, and let logs continue at a higher offset."""

from __future__ import annotations

from typing import Any

import pytest
from core_world import World
from log_world import LogWorld, batch, fetch_request

from groupmock.core.effects import NodeChanged
from groupmock.core.steering import BadArguments, NoSuch, NotNow
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k60_describe_cluster import DescribeClusterRequest
from groupmock_codec.records import decode_records

ID = "AAECAwQFBgcICQoLDA0ODw"


def leaders(world: LogWorld, topic: str = "t") -> list[int]:
    return [each.leader for each in world.topics.require(topic).partitions]


def world_of(nodes: int = 3, factor: int = 2, partitions: int = 4) -> LogWorld:
    world = LogWorld(nodes=nodes, default_replication_factor=factor)
    world.command("create_topic", name="t", partitions=partitions)
    return world


def test_all_leaders_move_to_their_next_replica() -> None:
    world = world_of()
    replicas = [each.replicas for each in world.topics.require("t").partitions]
    world.command("move_leaders")
    assert leaders(world) == [second for _, second in replicas]
    assert {each.leader_epoch for each in world.topics.require("t").partitions} == {1}
    world.command("move_leaders")
    assert leaders(world) == [first for first, _ in replicas]


def test_all_leaders_of_a_node_or_of_a_topic_or_to_a_node() -> None:
    world = world_of()
    world.command("create_topic", name="u", partitions=3)
    before = leaders(world, "u")
    world.command("move_leaders", node=before[0])
    assert before[0] not in leaders(world, "t") + leaders(world, "u")
    world.command("move_leaders", topic="u", to=before[0])
    assert set(leaders(world, "u")) == {before[0]}
    assert before[0] not in leaders(world, "t")


def test_a_fetch_that_waits_for_many_partitions_sees_all_of_them_move_at_once() -> None:
    world = world_of(factor=1, partitions=3)
    world.command("move_leaders", to=1)
    wanted = [("t", index, 0) for index in range(3)]
    ticket = world.send(1, 11, fetch_request(*wanted, world=world, max_wait_ms=60_000, min_bytes=1))
    assert world.outcome(ticket) == "parked"
    world.command("move_leaders", node=1, to=2)
    rows = [row.error_code for topic in world.answers[ticket].responses for row in topic.partitions]
    assert rows == [6, 6, 6], "one look at Metadata is enough for all"


def test_without_another_replica_it_goes_to_any_node_and_without_another_node_nowhere() -> None:
    world = world_of(factor=1, partitions=1)
    (before,) = leaders(world)
    world.command("move_leaders")
    assert leaders(world) != [before]
    alone = LogWorld()
    alone.topic("t")
    with pytest.raises(NotNow, match="no leader can be moved: topics: t; nodes that run: 1"):
        alone.command("move_leaders")


def test_coordinators_stay_where_they_are_when_leaders_move() -> None:
    world = LogWorld(nodes=2)
    world.command("move_coordinator", group="g")
    hosting = world.cluster.groups.hosting
    before = [hosting.leader_of(each) for each in range(hosting.hosted)]
    world.topic("t")
    world.command("move_leaders")
    assert [hosting.leader_of(each) for each in range(hosting.hosted)] == before


def test_all_coordinators_move_and_their_groups_are_known_where_they_are() -> None:
    world = World.make(nodes=3)
    hosting = world.cluster.groups.hosting
    member, _ = world.enter(node=hosting.node_of("g") or 0)
    world.command("move_coordinators", to=2)
    assert {hosting.leader_of(each) for each in range(hosting.hosted)} == {2}
    assert world.beat(member, node=1) == 16
    world.command("move_coordinators", node=2, loading_ms=500)
    assert hosting.led_by(2) == []
    assert world.join(member, node=3).error == 14


def test_a_node_is_added_and_leads_what_is_moved_there() -> None:
    world = world_of(nodes=1, factor=1)
    world.command("add_node", node=2, host="127.0.0.1", port=9999, rack="b")
    assert world.rig.of(NodeChanged) == [NodeChanged(2, "added")]
    brokers = world.show(60, 0, DescribeClusterRequest())["brokers"]
    assert [(each["broker_id"], each["port"], each.get("rack")) for each in brokers] == [(1, 9092, None), (2, 9999, "b")]
    assert set(leaders(world)) == {1}, "what is there stays where it is"
    world.command("move_leaders", to=2)
    assert set(leaders(world)) == {2}
    answer = world.show(3, 9, MetadataRequest(topics=None), node=2)
    assert [each["node_id"] for each in answer["brokers"]] == [1, 2]
    world.command("create_topic", name="u", partitions=2, replication_factor=2)
    assert sorted(leaders(world, "u")) == [1, 2], "new topics live there too"
    world.command("stop_node", node=2)
    assert set(leaders(world, "u")) == {1}


def test_nodes_are_added_one_by_one() -> None:
    with pytest.raises(NotNow, match="the next node is node 2"):
        LogWorld().command("add_node", node=4, host="h", port=1)


def test_a_log_without_records_begins_where_it_is_told() -> None:
    world = world_of(nodes=1, factor=1)
    world.command("set_next_offset", topic="t", partition=0, offset=100)
    log = world.topics.require_partition("t", 0)
    assert (log.start, log.end, log.epoch_at(100)) == (100, 100, 0)
    assert world.produce(batch(b"v"))["base_offset"] == 100
    assert (world.fetch(99).error_code, world.fetch(100).high_watermark) == (1, 101)


def test_who_reads_a_hole_gets_past_it() -> None:
    world = world_of(nodes=1, factor=1)
    world.command("set_next_offset", topic="t", partition=0, offset=2**31 + 50, start=7)
    log = world.topics.require_partition("t", 0)
    assert (log.start, log.end, log.size) == (7, 2**31 + 50, 122), "two batches: offsets in a batch are 32 bits"
    batches = list(log.batches(7))
    assert (batches[0].base_offset, batches[-1].next_offset, [decode_records(each) for each in batches]) == (7, 2**31 + 50, [[], []])
    assert all(each.crc_holds for each in batches)
    world.append(batch(b"v"))
    world.command("set_next_offset", topic="t", partition=0, offset=log.end + 10)
    assert [decode_records(each) != [] for each in log.batches(7)] == [False, False, True, False]


def test_who_waits_at_the_end_hears_that_it_moved() -> None:
    world = world_of(nodes=1, factor=1)
    world.append(batch(b"v"))
    ticket = world.send(1, 11, fetch_request(("t", 0, 1), world=world, max_wait_ms=60_000, min_bytes=1))
    world.command("set_next_offset", topic="t", partition=0, offset=5)
    assert world.answers[ticket].responses[0].partitions[0].high_watermark == 5


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"offset": 0}, NotNow, "partition 0 of topic 't' goes to 1 already: no offset comes again"),
        ({"offset": 9, "start": 4}, NotNow, "has records: it begins where it begins"),
        ({"offset": 2**60}, BadArguments, "a log leaps over 0 to"),
        ({"offset": 9, "partition": 9}, NoSuch, "no partition 9 of topic 't': there are 0 to 3"),
    ],
)
def test_offsets_that_cannot_be(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    world = world_of(nodes=1, factor=1)
    world.append(batch(b"v"))
    with pytest.raises(kind, match=text):
        world.command("set_next_offset", **{"topic": "t", "partition": 0} | arguments)


def test_a_topic_may_have_a_given_id() -> None:
    world = LogWorld()
    world.command("create_topic", name="t", topic_id=ID)
    assert world.topic_id("t") == bytes(range(16))
    with pytest.raises(NotNow, match=f"topic 't' has the id {ID} already"):
        world.command("create_topic", name="u", topic_id=ID)
    for bad in ("", "short", "A" * 22, "no id at all, far from it"):
        with pytest.raises(BadArguments, match="is no topic id"):
            world.command("create_topic", name="u", topic_id=bad)
