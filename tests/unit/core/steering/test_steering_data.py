"""Commands on records, configs and offsets act where Kafka would allow an administrator or producer to, and otherwise change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from core_world import World
from log_world import LogWorld, batch, fetch_request

from groupmock.core.settings import Quirks
from groupmock.core.steering import BadArguments, CannotSteer, NoSuch, NotNow
from groupmock.core.steering.offsets import PartitionOffset, ResetOffsets, resets

ANY_TO = {"to": "latest"}


def world_of_two() -> LogWorld:
    """Return a cluster with the topics t (2 partitions, one with 5 records) and c (compacted)."""
    world = LogWorld(nodes=2)
    world.topic("t", partitions=2)
    world.command("create_topic", name="c", configs={"cleanup.policy": "compact"})
    world.command("produce", topic="t", partitions=[0], batches=batch(*[b"v"] * 5, timestamp=1000))
    return world


def ends(world: LogWorld) -> dict[str, list[int]]:
    return {name: [each.end for each in world.topics.require(name).partitions] for name in ("t", "c")}


def committed(world: LogWorld | World, group: str = "g") -> dict[tuple[str, int], int]:
    found = world.cluster.groups.find(group)
    return {} if found is None else {at: offset.offset for at, offset in found.offsets.items()}


# -- records and topics ------------------------------------------------------------------------------------------------


def test_records_of_several_partitions_wake_a_waiting_fetch() -> None:
    world = LogWorld()
    world.topic("t", partitions=2)
    ticket = world.send(1, 11, fetch_request(("t", 0, 0), max_wait_ms=300, min_bytes=1))
    assert world.outcome(ticket) == "parked"
    world.command("produce", topic="t", partitions=[0, 1, 0], batches=batch(b"a") + batch(b"b") + batch(b"c", b"d"))
    assert [each.end for each in world.topics.require("t").partitions] == [3, 1]
    assert world.answers[ticket].responses[0].partitions[0].high_watermark == 3


REFUSED_RECORDS: dict[str, tuple[dict[str, Any], type[CannotSteer], str]] = {
    "no topic": ({"topic": "u", "partitions": [0], "batches": batch()}, NoSuch, "no topic 'u': there are t, c"),
    "no partition": ({"topic": "t", "partitions": [2], "batches": batch()}, NoSuch, "no partition 2 of topic 't': there are 0 to 1"),
    "one batch too few": ({"topic": "t", "partitions": [0, 1], "batches": batch()}, BadArguments, "1 batches for 2 partitions"),
    "no batch": ({"topic": "t", "partitions": [0], "batches": b"x"}, BadArguments, "CORRUPT_MESSAGE"),
    "no key": ({"topic": "c", "partitions": [0], "batches": batch(b"v")}, BadArguments, "c-0: INVALID_RECORD: Compacted topic cannot"),
    "too large": ({"topic": "t", "partitions": [0, 1], "batches": batch() + batch(b"x" * 2**21)}, BadArguments, "t-1: MESSAGE_TOO_LARGE"),
    "of tomorrow": ({"topic": "t", "partitions": [0], "batches": batch(timestamp=2**42)}, BadArguments, "INVALID_TIMESTAMP: Timestamp 43"),
    "broken": ({"topic": "t", "partitions": [0], "batches": batch()[:-1] + b"\1"}, BadArguments, "CORRUPT_MESSAGE"),
}  # fmt: skip


@for_each(("arguments", "kind", "text"), REFUSED_RECORDS.values(), ids=REFUSED_RECORDS)
def test_records_that_a_log_refuses(arguments: dict[str, Any], kind: type[CannotSteer], text: str) -> None:
    world = world_of_two()
    with pytest.raises(kind) as refused:
        world.command("produce", **arguments)
    assert text in str(refused.value)
    assert ends(world) == {"t": [5, 0], "c": [0]}


def test_nobody_writes_to_kafkas_own_topics_nor_where_nobody_leads() -> None:
    world = world_of_two()
    world.command("commit_offsets", group="g", offsets=[{"topic": "t", "partition": 0, "offset": 1}])
    with pytest.raises(BadArguments, match="'__consumer_offsets' is Kafka's own"):
        world.command("produce", topic="__consumer_offsets", partitions=[0], batches=batch())
    node = world.topics.require("t").partitions[0].leader
    world.command("stop_node", node=node)
    with pytest.raises(NotNow, match="t-0: NOT_LEADER_OR_FOLLOWER: no node that runs leads it"):
        world.command("produce", topic="t", partitions=[0], batches=batch())


def test_a_topic_with_replicas_and_configs() -> None:
    world = LogWorld(nodes=3)
    world.command("create_topic", name="t", partitions=2, replication_factor=3, configs={"retention.ms": "5"})
    topic = world.topics.require("t")
    assert ([len(each.replicas) for each in topic.partitions], topic.configs) == ([3, 3], {"retention.ms": "5"})
    for configs, text in (({"nope": "1"}, "Unknown topic config name: nope"), ({"retention.ms": "x"}, "Not a number of type LONG")):
        with pytest.raises(BadArguments, match=f"{text}.*`groupmock topic configs TOPIC` lists"):
            world.command("create_topic", name="u", configs=configs)
    assert world.topics.names() == ["t"]


# -- configs -----------------------------------------------------------------------------------------------------------


def test_configs_are_set_and_go_back() -> None:
    world = world_of_two()
    world.command("configure_topic", name="t", set={"retention.ms": "5", "cleanup.policy": "compact"})
    world.command("configure_topic", name="t", unset=["cleanup.policy"])
    world.command("configure_node", node=0, set={"message.max.bytes": "3000"})
    world.command("configure_node", node=1, set={"message.max.bytes": "4000"})
    topic = world.topics.require("t")
    assert topic.configs == {"retention.ms": "5"}
    assert [world.topics.config(topic, "max.message.bytes", node) for node in (1, 2)] == ["4000", "3000"]


REFUSED_CONFIGS: dict[str, tuple[str, dict[str, Any], type[CannotSteer], str]] = {
    "nothing": ("configure_topic", {"name": "t"}, BadArguments, "nothing to change: name configs to set or to unset"),
    "no topic": ("configure_topic", {"name": "u", "set": {"retention.ms": "1"}}, NoSuch, "no topic 'u'"),
    "no config": ("configure_topic", {"name": "t", "set": {"retention.ms": "1", "nope": "1"}}, BadArguments, "Unknown topic config"),
    "no value": ("configure_topic", {"name": "t", "set": {"retention.ms": "x"}}, BadArguments, "Not a number of type LONG"),
    "both": ("configure_topic", {"name": "t", "set": {"retention.ms": "1"}, "unset": ["retention.ms"]}, BadArguments, "duplicate config"),
    "no node": ("configure_node", {"node": 3, "set": {"message.max.bytes": "1"}}, NoSuch, "no node 3: there are 1 to 2"),
    "read at start": ("configure_node", {"node": 1, "set": {"log.dirs": "x"}}, BadArguments, "Cannot update these configs dynamically"),
}  # fmt: skip


@for_each(("name", "arguments", "kind", "text"), REFUSED_CONFIGS.values(), ids=REFUSED_CONFIGS)
def test_configs_that_are_refused(name: str, arguments: dict[str, Any], kind: type[CannotSteer], text: str) -> None:
    world = world_of_two()
    with pytest.raises(kind) as refused:
        world.command(name, **arguments)
    assert text in str(refused.value)
    assert world.topics.require("t").configs == {}


# -- offsets -----------------------------------------------------------------------------------------------------------


def test_a_commit_makes_a_group_and_takes_any_offset() -> None:
    world = world_of_two()
    world.command("commit_offsets", group="g", offsets=[{"topic": "t", "partition": 1, "offset": 99, "metadata": "m"}])
    group = world.cluster.groups.find("g")
    assert group is not None and (group.state, committed(world)) == ("Empty", {("t", 1): 99})
    assert group.offsets["t", 1].metadata == "m"


RESETS: dict[str, tuple[dict[str, Any], dict[tuple[str, int], int]]] = {
    "earliest": ({"to": "earliest"}, {("t", 0): 1, ("t", 1): 0}),
    "latest": ({"to": "latest"}, {("t", 0): 5, ("t", 1): 0}),
    "current": ({"to": "current"}, {("t", 0): 3, ("t", 1): 0}),
    "an offset": ({"offset": 2}, {("t", 0): 2, ("t", 1): 0}),
    "an offset behind the end": ({"offset": 99}, {("t", 0): 5, ("t", 1): 0}),
    "an offset before the start": ({"offset": 0}, {("t", 0): 1, ("t", 1): 0}),
    "a time": ({"timestamp": 1003}, {("t", 0): 3, ("t", 1): 0}),
    "a time after the last record": ({"timestamp": 9999}, {("t", 0): 5, ("t", 1): 0}),
    "on": ({"shift": 1, "partitions": [0]}, {("t", 0): 4}),
    "back beyond the start": ({"shift": -99, "partitions": [0]}, {("t", 0): 1}),
    "one partition": ({"to": "latest", "partitions": [1]}, {("t", 1): 0}),
}
"""Results of Kafka 4.3.0's kafka-consumer-groups.sh for t/0, with offsets 1 to 5 and 3 committed, and for the empty t/1."""


@for_each(("how", "wanted"), RESETS.values(), ids=RESETS)
def test_a_reset_leads_to_an_offset_that_the_log_has(how: dict[str, Any], wanted: dict[tuple[str, int], int]) -> None:
    world = world_of_two()
    world.topics.require("t").partitions[0].delete_before(1)
    world.command("commit_offsets", group="g", offsets=[{"topic": "t", "partition": 0, "offset": 3}])
    planned = resets(world.cluster, ResetOffsets(group="g", topic="t", **how))
    assert {(each.topic, each.partition): each.after for each in planned} == wanted
    world.command("reset_offsets", group="g", topic="t", **how)
    assert committed(world) == {("t", 0): 3} | wanted


def test_without_a_topic_all_that_was_committed_is_reset() -> None:
    world = world_of_two()
    world.command("commit_offsets", group="g", offsets=[{"topic": name, "partition": 0, "offset": 0} for name in "ct"])
    world.command("reset_offsets", group="g", to="latest")
    assert committed(world) == {("c", 0): 0, ("t", 0): 5}


REFUSED_OFFSETS: dict[str, tuple[str, dict[str, Any], type[CannotSteer], str]] = {
    "no way": ("reset_offsets", {"topic": "t"}, BadArguments, "say where by exactly one of to, offset, timestamp, shift"),
    "two ways": ("reset_offsets", {"topic": "t", "to": "latest", "shift": 1}, BadArguments, "exactly one of"),
    "no such way": ("reset_offsets", {"topic": "t", "to": "end"}, BadArguments, "Invalid enum value 'end' - at `$.to`"),
    "nothing committed": ("reset_offsets", ANY_TO, NoSuch, "group 'g' has committed nothing: name a topic"),
    "partitions of nothing": ("reset_offsets", {"partitions": [0], **ANY_TO}, BadArguments, "partitions of which topic?"),
    "no topic": ("reset_offsets", {"topic": "u", **ANY_TO}, NoSuch, "no topic 'u'"),
    "no partition": ("reset_offsets", {"topic": "t", "partitions": [7], **ANY_TO}, NoSuch, "no partition 7 of topic 't'"),
    "nothing to shift": ("reset_offsets", {"topic": "t", "shift": 1}, NotNow, "t/0: there is no committed offset to shift"),
    "commit of no topic": ("commit_offsets", {"offsets": [{"topic": "u", "partition": 0, "offset": 1}]}, NoSuch, "no topic 'u'"),
    "commit of nothing": ("commit_offsets", {"offsets": []}, BadArguments, "length >= 1"),
    "commit of one twice": ("commit_offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": 1}] * 2}, BadArguments, "named twice"),
    "commit below 0": ("commit_offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": -1}]}, BadArguments, "`int` >= 0"),
    "long metadata": ("commit_offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": 1, "metadata": "x" * 5000}]}, BadArguments,
                      "t/0: metadata of more than offset.metadata.max.bytes (4096)"),
}  # fmt: skip


@for_each(("name", "arguments", "kind", "text"), REFUSED_OFFSETS.values(), ids=REFUSED_OFFSETS)
def test_offsets_that_are_refused(name: str, arguments: dict[str, Any], kind: type[CannotSteer], text: str) -> None:
    world = world_of_two()
    with pytest.raises(kind) as refused:
        world.command(name, group="g", **arguments)
    assert text in str(refused.value)
    assert world.cluster.groups.find("g") is None


def test_more_than_one_batch_holds_makes_no_group() -> None:
    world = LogWorld(quirks=Quirks(group_record_limit=True))
    world.topic("t", partitions=300)
    world.command("create_topic", name="__consumer_offsets", partitions=50, configs={"max.message.bytes": "10000"})
    offsets = [{"topic": "t", "partition": partition, "offset": 1} for partition in range(300)]
    with pytest.raises(BadArguments, match="offsets of 300 partitions are more than one batch of __consumer_offsets holds"):
        world.command("commit_offsets", group="g", offsets=offsets)
    assert world.cluster.groups.find("g") is None


def test_while_a_group_has_members_only_they_commit() -> None:
    world = World.make()
    world.stable()
    for name, arguments, text in (
        ("reset_offsets", {"topic": "orders", **ANY_TO},
         "Assignments can only be reset if the group 'g' is inactive, but the current state is Stable: stop its members "),
        ("commit_offsets", {"offsets": [{"topic": "orders", "partition": 0, "offset": 1}]},
         "group 'g' is Stable: nobody but its members may commit for it (UNKNOWN_MEMBER_ID): stop its members "),
    ):  # fmt: skip
        with pytest.raises(NotNow) as refused:
            world.command(name, group="g", **arguments)
        assert str(refused.value).startswith(text)
    assert committed(world) == {}


def test_without_a_coordinator_nothing_is_committed() -> None:
    world = world_of_two()
    world.command("unload_coordinator", group="g")
    with pytest.raises(NotNow, match="nobody coordinates group 'g' now: move its coordinator"):
        world.command("commit_offsets", group="g", offsets=[{"topic": "t", "partition": 0, "offset": 1}])


def test_an_offset_as_a_word_of_a_command_line() -> None:
    assert PartitionOffset.parse("a.b-c:3=17") == PartitionOffset("a.b-c", 3, 17)
    for word in ("t", "t:0", "t=1", ":0=1", "t:x=1", "t:0=-1", "t:0="):
        with pytest.raises(ValueError, match="is not TOPIC:PARTITION=OFFSET: orders:0=17"):
            PartitionOffset.parse(word)
