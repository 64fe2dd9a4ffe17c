"""Every known difference from Apache Kafka 4.3 in the docstring of groupmock.core.log has a test here."""

from __future__ import annotations

import re
from typing import Final

import pytest
from log_world import WALL_MS, LogWorld, batch

from groupmock.config import profiles
from groupmock.core import log
from groupmock.core.log.transactions import Marker
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest
from groupmock_codec.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from groupmock_codec.messages.k33_alter_configs import AlterConfigsRequest, AlterConfigsResource

MONTH_MS: Final = 31 * 24 * 3600 * 1000
ZSTD: Final = 4
COLLIDES: Final = 17
SHOWN: Final = {
    "One copy of each record": "test_every_running_replica_is_in_sync_and_has_all_records",
    "Compaction comes by command only": "test_nobody_compacts_unless_told_to",
    "Compression other than none and gzip": "test_other_compressions_are_not_opened",
    "Markers of transactions outlive compaction": "test_markers_outlive_compaction",
    "ListOffsets v0 knows one segment": "test_one_segment_is_listed_whatever_segment_bytes_says",
    "Partition leaders follow": "test_a_leader_moves_by_command_or_with_its_node_and_stays_where_it_is",
    "Two topics of one CreateTopics": "test_topics_of_one_request_may_collide_under_no_profile",
    "AlterConfigs with a resource listed twice": "test_a_resource_listed_twice_is_refused_but_where_a_profile_leaves_it_unanswered",
    "Configs of clients": "test_configs_of_clients_and_loggers_are_not_served",
}


def test_every_line_of_the_docstring_is_shown_here() -> None:
    """The docstring once listed a difference of topic configs for months after it was gone."""
    lines = re.findall(r"^- (.*)", log.__doc__ or "", re.MULTILINE)
    assert [next((head for head in SHOWN if line.startswith(head)), line) for line in lines] == list(SHOWN)
    assert [test for test in SHOWN.values() if test not in globals()] == []


def quirks_of(profile: str) -> Quirks:
    return Quirks(**dict.fromkeys(profiles.load(profile).quirks, True))


def opaque(*values: bytes, keys: list[bytes | None] | None = None, timestamp: int = WALL_MS) -> bytes:
    """Return a batch whose header says zstd although its records are not compressed."""
    return batch(*values, keys=keys, timestamp=timestamp, attributes=ZSTD)


def listed(world: LogWorld, version: int, timestamp: int) -> object:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=10)
    return world.ask(2, version, ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[partition])])).topics[0].partitions[0]


def test_every_running_replica_is_in_sync_and_has_all_records() -> None:
    world = LogWorld(nodes=3)
    world.topics.add(world.turn(), "t", [[1, 2, 3]], {})
    world.produce(batch(b"a", b"b"))
    before = world.ask(3, 12, MetadataRequest(topics=None)).topics[0].partitions[0].isr_nodes
    world.command("stop_node", node=1)
    after = world.ask(3, 12, MetadataRequest(topics=None), node=2).topics[0].partitions[0]
    assert (before, after.leader_id, after.isr_nodes) == ([1, 2, 3], 2, [2, 3])
    assert world.fetch(node=2).high_watermark == 2


def test_nobody_compacts_unless_told_to() -> None:
    world = LogWorld()
    world.topic("t", retention_ms="1", cleanup_policy="compact", min_cleanable_dirty_ratio="0", max_compaction_lag_ms="1")
    world.produce(batch(b"old", b"new", keys=[b"k", b"k"]))
    world.sleep(MONTH_MS)
    world.produce(batch(b"newer", keys=[b"k"], timestamp=WALL_MS + MONTH_MS))
    held = [sum(each.records_count for each in world.topics.batches("t", 0))]
    world.command("compact_topic", topic="t")
    held.append(sum(each.records_count for each in world.topics.batches("t", 0)))
    assert held == [3, 2], "the segment that max.compaction.lag.ms rolled is cleaned, the active one stays"


@pytest.mark.parametrize(
    ("configs", "sent"),
    [
        ({}, {}),
        ({"cleanup_policy": "compact"}, {"keys": [None]}),
        ({"message_timestamp_before_max_ms": "1"}, {"timestamp": WALL_MS - MONTH_MS}),
    ],
)
def test_other_compressions_are_not_opened(configs: dict[str, str], sent: dict[str, object]) -> None:
    world = LogWorld()
    world.topic("t", **configs)
    assert "error_code" not in world.produce(opaque(b"a", **sent))  # type: ignore[arg-type]


def test_markers_outlive_compaction() -> None:
    world = LogWorld()
    world.topic("t", cleanup_policy="compact", segment_bytes="1048576", delete_retention_ms="0")
    partition = world.topics.require_partition("t", 0)
    for pid in range(2):
        partition.mark(Marker(pid, 0, committed=True), world.topics.limits(world.topics.require("t"), 1), WALL_MS)
    world.sleep(MONTH_MS)
    world.append(batch(b"newer", keys=[b"k"]))
    world.command("compact_topic", topic="t")
    world.command("compact_topic", topic="t")
    assert [each.control for each in world.topics.batches("t", 0)] == [True, True, False]


def test_one_segment_is_listed_whatever_segment_bytes_says() -> None:
    world = LogWorld()
    world.topic("t", segment_bytes="1048576")
    for _ in range(3):
        world.produce(batch(bytes(600_000)))
    assert listed(world, 0, -1).old_style_offsets == [3, 0]  # type: ignore[attr-defined]


def test_a_leader_moves_by_command_or_with_its_node_and_stays_where_it_is() -> None:
    world = LogWorld(nodes=3)
    world.topics.add(world.turn(), "t", [[1, 2]], {})
    leaders = []
    for steer in (("move_leader", {"topic": "t", "partition": 0, "node": 2}), ("stop_node", {"node": 2}), ("start_node", {"node": 2})):
        world.command(steer[0], **steer[1])
        leaders.append((world.topics.leader_of("t", 0), world.topics.controller()))
    assert leaders == [(2, 1), (1, 1), (1, 1)]


@pytest.mark.parametrize("profile", profiles.names())
def test_topics_of_one_request_may_collide_under_no_profile(profile: str) -> None:
    world = LogWorld(quirks=quirks_of(profile))
    wanted = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("a.b", "a_b")]
    answer = world.ask(19, 5, CreateTopicsRequest(topics=wanted, timeout_ms=1000))
    assert [topic.error_code for topic in answer.topics] == [0, COLLIDES]


@pytest.mark.parametrize(("profile", "outcome"), [("groupmock", "answered"), ("kafka-4.3", "abandoned"), ("kafka-3.9", "answered")])
def test_a_resource_listed_twice_is_refused_but_where_a_profile_leaves_it_unanswered(profile: str, outcome: str) -> None:
    world = LogWorld(quirks=quirks_of(profile))
    world.topic("t")
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[])
    ticket = world.send(33, 2, AlterConfigsRequest(resources=[resource, resource]))
    assert world.outcome(ticket) == outcome
    assert outcome == "abandoned" or {row.error_code for row in world.answers[ticket].responses} == {42}


def test_configs_of_clients_and_loggers_are_not_served() -> None:
    world = LogWorld()
    kinds = [DescribeConfigsResource(resource_type=kind, resource_name="1", configuration_keys=None) for kind in (4, 8, 16, 32)]
    results = world.ask(32, 4, DescribeConfigsRequest(resources=kinds)).results
    assert [result.error_code for result in results] == [0, 42, 42, 0]
