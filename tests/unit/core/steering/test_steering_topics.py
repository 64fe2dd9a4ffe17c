"""Commands create, grow and delete topics; impossible ones are refused with a remedy and change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from log_world import LogWorld

from groupmock.core.steering import BadArguments, CannotSteer, NoSuch, NotNow

GROW_OR = "grow it, delete it first, or choose another name"
OTHER_NAME = "choose another name, 1 to 249 of a-z A-Z 0-9 . _ -"
REFUSED: dict[str, tuple[str, dict[str, Any], type[CannotSteer], str]] = {
    "exists": ("create_topic", {"name": "t"}, NotNow, f"Topic 't' already exists: {GROW_OR}"),
    "no name": ("create_topic", {"name": ""}, BadArguments, "create_topic: Expected `str` of length >= 1 - at `$.name`"),
    "not allowed": ("create_topic", {"name": "a b"}, BadArguments, f"'.', '_' and '-': {OTHER_NAME}"),
    "too long": ("create_topic", {"name": "x" * 250}, BadArguments, f"longer than the max allowed length 249: {OTHER_NAME}"),
    "collides": ("create_topic", {"name": "a.b"}, BadArguments, f"Topic 'a.b' collides with existing topic: a_b: {OTHER_NAME}"),
    "no partitions": ("create_topic", {"name": "u", "partitions": 0}, BadArguments, "create_topic: Expected `int` >= 1 - at"),
    "too many": ("create_topic", {"name": "u", "partitions": 10_001}, BadArguments, "10001 partitions are more than Kafka makes at once"),
    "unknown argument": ("create_topic", {"name": "u", "replicas": 1}, BadArguments, "contains unknown field `replicas`"),
    "grow what is not there": ("grow_topic", {"name": "u", "partitions": 3}, NoSuch, "no topic 'u': there are t, a_b"),
    "as many as now": ("grow_topic", {"name": "t", "partitions": 2}, NotNow, "2 would not be an increase: name a higher"),
    "fewer": ("grow_topic", {"name": "t", "partitions": 1}, NotNow, "1 would not be an increase: name a higher number"),
    "delete what is not there": ("delete_topic", {"name": "u"}, NoSuch, "no topic 'u': there are t, a_b"),
    "nowhere to append": ("append", {"topic": "u", "partition": 0, "batch": b""}, NoSuch, "no topic 'u': there are t, a_b"),
    "no such partition": ("append", {"topic": "t", "partition": 2, "batch": b""}, NoSuch, "no partition 2 of topic 't': there are 0 to 1"),
}


@for_each(("name", "arguments", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_refused_with_a_remedy_and_nothing_changed(name: str, arguments: dict[str, Any], kind: type[CannotSteer], text: str) -> None:
    world = LogWorld()
    world.topic("t", partitions=2)
    world.topic("a_b")
    with pytest.raises(kind) as refused:
        world.command(name, **arguments)
    assert text in str(refused.value) and "\n" not in str(refused.value)
    assert (world.topics.names(), world.topics.partitions("t")) == (["t", "a_b"], 2)


def test_without_a_number_a_topic_has_num_partitions() -> None:
    world = LogWorld(num_partitions=3)
    world.command("create_topic", name="t")
    world.command("create_topic", name="u", partitions=None)
    assert (world.topics.partitions("t"), world.topics.partitions("u")) == (3, 3)


def test_more_replicas_than_nodes_are_refused_with_both_ways_out() -> None:
    world = LogWorld(default_replication_factor=2)
    with pytest.raises(NotNow, match=r"only 1 broker.*: start with more nodes \(--nodes N\) or with a lower default.replication.factor"):
        world.command("create_topic", name="t")


def test_as_many_partitions_as_create_topics_makes() -> None:
    world = LogWorld()
    world.command("create_topic", name="t", partitions=10_000)
    with pytest.raises(BadArguments, match="10001 partitions are more than Kafka makes at once"):
        world.command("create_topic", name="u", partitions=10_001)
    assert world.topics.partitions("t") == 10_000
