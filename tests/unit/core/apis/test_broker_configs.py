"""groupmock returns and changes broker configs as Kafka 4.4.0, 4.3.0 and 3.9.1 did (tests/data/broker_configs, recorded by
tools/broker_configs)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from log_world import WALL_MS, LogWorld, batch

from groupmock.config import profiles
from groupmock.config.resolve import resolve
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig as Changed
from groupmock_codec.messages.k44_incremental_alter_configs import AlterConfigsResource as ChangedResource
from groupmock_codec.messages.k44_incremental_alter_configs import IncrementalAlterConfigsRequest

RELEASES: Final = profiles.releases()
TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
HOST: Final = frozenset(
    {
        "advertised.listeners",
        "controller.listener.names",
        "controller.quorum.voters",
        "listener.security.protocol.map",
        "listeners",
        "log.dirs",
        "process.roles",
        "zookeeper.connect",
    }
)
"""Configs that describe a broker's host; the recorded vectors leave them out."""


@cache
def recorded(release: str) -> list[tuple[str, list[Any], Any]]:
    """Return (request, arguments, answer) of each recorded step in order."""
    path = Path(__file__).parents[3] / "data" / "broker_configs" / f"{release}.jsonl.gz"
    return [tuple(json.loads(line)) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def world_of(release: str, **settings: Any) -> LogWorld:
    """Return a new node 1 with a topic and with the settings of the release's profile."""
    found = resolve({"profile": f"kafka-{release}"}).settings
    told = {field: getattr(found, field) for field in found.__struct_fields__ if field != "quirks"}
    world = LogWorld(quirks=found.quirks, **{**told, **settings})
    world.topic("story", node=1)
    return world


def show(world: LogWorld, kind: int, name: str, keys: list[str] | None, version: int = 4) -> Any:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    asked = DescribeConfigsRequest(resources=[resource], include_synonyms=version >= 1, include_documentation=version >= 3)
    (found,) = world.ask(32, version, asked).results
    if found.error_code:
        return [found.error_code, found.error_message]
    return [
        [
            one.name,
            one.value,
            one.config_type,
            one.config_source,
            one.read_only,
            one.is_sensitive,
            [[each.name, each.value, each.source] for each in one.synonyms],
            bool(one.documentation),
            one.is_default,
        ]
        for one in found.configs
        if one.name not in HOST
    ]


def change(world: LogWorld, name: str, validate_only: bool, changes: list[list[Any]]) -> Any:
    configs = [Changed(config_operation=operation, name=key, value=value) for operation, key, value in changes]
    resource = ChangedResource(resource_type=BROKER, resource_name=name, configs=configs)
    row = world.ask(44, 1, IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)).responses[0]
    return [row.error_code, row.error_message or None]


def replace(world: LogWorld, name: str, validate_only: bool, configs: dict[str, str | None]) -> Any:
    rows = [AlterableConfig(name=key, value=value) for key, value in configs.items()]
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=name, configs=rows)
    row = world.ask(33, 2, AlterConfigsRequest(resources=[resource], validate_only=validate_only)).responses[0]
    return [row.error_code, row.error_message or None]


ASK: Final[dict[str, Callable[..., Any]]] = {"show": show, "change": change, "replace": replace}


@pytest.mark.parametrize("release", RELEASES)
def test_broker_configs_are_told_and_changed_as_on_kafka(release: str) -> None:
    """The test compares whole answers in Kafka's order, tries good and bad values for every changeable config, and replays a sequence of
    changes."""
    world = world_of(release)
    for what, arguments, answer in recorded(release):
        if "log.remote.copy.lag.ms" in str(arguments) and "log.local.retention.ms" in str(answer):
            continue  # groupmock has no remote logs, so the configs of remote logs are compared with no other configs.
        assert ASK[what](world, *arguments) == answer, (what, arguments)


def test_a_node_tells_its_own_ids_and_addresses() -> None:
    """The recorded vectors cannot contain the ids and addresses of this host."""
    world = LogWorld(nodes=2, quirks=resolve({"profile": "kafka-4.3"}).settings.quirks)
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name="2", configuration_keys=["node.id", *HOST])
    found = world.ask(32, 4, DescribeConfigsRequest(resources=[resource]), node=2).results[0].configs
    assert {one.name: one.value for one in found if one.config_source == 4} == {
        "node.id": "2",
        "process.roles": "broker",
        "listeners": "PLAINTEXT://127.0.0.1:9093",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:9093",
    }


LISTENERS: Final = [
    ("PLAINTEXT://127.0.0.1:9092", [0, None]),
    ("x", [42, "Error creating broker listeners from '[x]': Unable to parse x to a broker endpoint"]),
    ("PLAINTEXT://127.0.0.1:9999", [42, "groupmock cannot change listeners while it runs"]),
]


@pytest.mark.parametrize(("address", "outcome"), LISTENERS)
def test_a_listener_stays_where_it_is(address: str, outcome: list[Any]) -> None:
    assert change(world_of("4.3"), "1", True, [[SET, "listeners", address]]) == outcome


# -- what follows from a change


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_drops_nothing_until_it_is_told_to(release: str) -> None:
    world = world_of(release)
    size = len(batch(b"x" * 500))
    (log,) = world.topics.require("story").partitions
    world.append(*[batch(b"x" * 500)] * 20, topic="story")
    assert log.start == 0 and world.topics.limits(world.topics.require("story"), 1).retention_bytes == -1
    assert change(world, "", False, [[SET, "log.retention.bytes", str(3 * size)]]) == [0, None]
    world.append(batch(b"x" * 500), topic="story")
    assert log.start > 0
    assert change(world, "", False, [[DELETE, "log.retention.bytes", None]]) == [0, None]
    assert world.topics.limits(world.topics.require("story"), 1).retention_bytes == -1


@pytest.mark.parametrize(("release", "code"), [("4.3", -1), ("3.9", 28)])
def test_a_coordinator_goes_by_the_largest_batch_of_now(release: str, code: int) -> None:
    """On Kafka 4.3.0 and 3.9.1 a change of message.max.bytes at run time also limits what groups may commit."""
    world = world_of(release)
    assert commit(world, "m" * 3000) == 0
    assert change(world, "", False, [[SET, "message.max.bytes", "500"]]) == [0, None]
    assert commit(world, "m" * 3000) == code
    assert change(world, "", False, [[DELETE, "message.max.bytes", None]]) == [0, None]
    assert commit(world, "m" * 3000) == 0


def commit(world: LogWorld, metadata: str) -> int:
    """Commit an offset for a group without members and return the error code."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=metadata)
    topic = OffsetCommitRequestTopic(name="story", partitions=[partition])
    asked = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=[topic])
    return int(world.ask(8, 8, asked).topics[0].partitions[0].error_code)


def test_stamps_are_bounded_on_both_sides_by_their_difference() -> None:
    """On Kafka 3.9.1 the timestamp limit for one direction (before or after the clock) overrides the common limit for both."""
    world = world_of("3.9")
    assert [stamped(world, by) for by in (-10_000, 10_000)] == [0, 0]
    assert change(world, "", False, [[SET, "log.message.timestamp.difference.max.ms", "1000"]]) == [0, None]
    assert [stamped(world, by) for by in (-10_000, 10_000, -500)] == [32, 32, 0]
    assert change(world, "", False, [[SET, "log.message.timestamp.before.max.ms", "20000"]]) == [0, None]
    assert [stamped(world, by) for by in (-10_000, 10_000)] == [0, 32]


def stamped(world: LogWorld, by: int) -> int:
    """Produce a record whose timestamp differs from the clock by so many ms, and return the error code."""
    found: int = world.produce(batch(timestamp=WALL_MS + by), topic="story", version=8).get("error_code", 0)
    return found


def test_producers_are_remembered_as_long_as_is_said_now() -> None:
    world = world_of("4.3")
    assert change(world, "1", False, [[SET, "producer.id.expiration.ms", "5"]]) == [0, None]
    assert world.topics.limits(world.topics.require("story"), 1).producer_expiration_ms == 5
