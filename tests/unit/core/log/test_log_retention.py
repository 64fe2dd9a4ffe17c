"""retention.ms removes old records as on Kafka 4.3.0 and 3.9.1 (docs/kafka/differences.md#records-that-are-too-old)."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from log_world import WALL_MS, LogWorld, batch

from groupmock.core.effects import TimerFired
from groupmock.core.settings import Settings
from groupmock_codec.error_codes import OFFSET_OUT_OF_RANGE
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.messages.k44_incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest

DAY_MS = 86_400_000


def world_of(**configs: Any) -> LogWorld:
    """Return a cluster with a topic t whose log is checked every second."""
    world = LogWorld(log_retention_check_interval_ms=1000)
    world.topic("t", **configs)
    return world


def earliest(world: LogWorld) -> int:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-2)
    answer = world.ask(2, 4, ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[partition])]))
    offset: int = answer.topics[0].partitions[0].offset
    return offset


def written(world: LogWorld, ago_ms: int = 0) -> None:
    """Append a batch with one record of that age."""
    row = world.produce(batch(b"v", timestamp=world.environment.wall_ms(world.rig.now) - ago_ms))
    assert "error_code" not in row, row


def test_a_log_that_nobody_writes_to_ends_up_empty() -> None:
    world = world_of(retention_ms="3000")
    for _ in range(3):
        written(world)
        world.sleep(100)
    world.sleep(2800)
    assert (earliest(world), world.fetch().error_code) == (0, 0), "not yet: it is looked at each full second"
    world.sleep(900)
    row = world.fetch()
    assert (earliest(world), row.error_code, row.high_watermark, row.log_start_offset) == (3, OFFSET_OUT_OF_RANGE, -1, -1)
    at_the_end = world.fetch(3)
    assert (at_the_end.error_code, at_the_end.high_watermark, at_the_end.log_start_offset) == (0, 3, 3)
    assert world.notes("records_expired") == [{"topic": "t", "partition": 0, "log_start_offset": 3}]
    assert world.rig.of(TimerFired) == [TimerFired("log_retention", ())]
    assert world.core.deadline() is None, "nothing is left that ages"
    written(world)
    assert (world.fetch(3).high_watermark, earliest(world)) == (4, 3)


def test_a_log_that_is_written_to_keeps_what_lies_in_its_last_segment() -> None:
    world = world_of(retention_ms="3000")
    for _ in range(20):
        written(world)
        world.sleep(700)
    assert (earliest(world), len(world.notes("records_expired"))) == (0, 0)


def test_segments_go_one_by_one_where_the_log_rolls() -> None:
    world, seen = world_of(retention_ms="3000", segment_ms="1000"), []
    for _ in range(14):
        written(world)
        world.sleep(700)
        seen.append(earliest(world))
    assert seen == sorted(seen) and {0, 2, 4} <= set(seen) and all(start % 2 == 0 for start in seen), "two batches a segment, as on 4.3.0"


def test_a_segment_of_so_many_bytes_rolls_too() -> None:
    world = world_of(retention_ms="3000", segment_bytes="150")
    for _ in range(4):
        written(world)
    world.sleep(2000)
    written(world)
    world.sleep(2000)
    assert earliest(world) == 4


@for_each(("ago", "gone"), [(3_600_000, True), (59_000, False), (-30_000, False)])
def test_the_records_own_timestamps_count(ago: int, gone: bool) -> None:
    world = world_of(retention_ms="60000")
    written(world, ago)
    written(world, 3_600_000)
    world.sleep(1000)
    assert earliest(world) == (2 if gone else 0), "the largest of a segment decides"


def test_no_time_at_all_waits_for_the_next_look() -> None:
    world = world_of(retention_ms="0")
    written(world)
    assert earliest(world) == 0
    world.sleep(1001)
    assert earliest(world) == 1


@for_each("configs", [{"retention_ms": "-1"}, {"retention_ms": "1", "cleanup_policy": "compact"}])
def test_what_has_no_age_stays(configs: dict[str, str]) -> None:
    world = world_of(**configs)
    world.produce(batch(b"v", keys=[b"k"]))
    world.sleep(30 * DAY_MS)
    assert (earliest(world), world.core.deadline()) == (0, None)


def test_seven_days_unless_told_otherwise() -> None:
    world = LogWorld()
    world.topic("t")
    written(world)
    world.sleep(7 * DAY_MS)
    assert earliest(world) == 0
    world.sleep(Settings().log_retention_check_interval_ms)
    assert earliest(world) == 1
    assert len(world.rig.of(TimerFired)) == 1, "one look in seven days, and not one every five minutes"


@pytest.mark.parametrize(("kind", "name", "config"), [(2, "t", "retention.ms"), (4, "", "log.retention.ms"), (4, "1", "log.retention.ms")])
def test_a_change_of_the_config_counts_at_the_next_look(kind: int, name: str, config: str) -> None:
    world = LogWorld(log_retention_check_interval_ms=1000)
    world.topic("t")
    written(world)
    world.sleep(5500)
    change = AlterableConfig(name=config, value="2000")
    asked = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(resource_type=kind, resource_name=name, configs=[change])])
    assert world.ask(44, 1, asked).responses[0].error_code == 0
    assert earliest(world) == 0
    world.sleep(500)
    assert earliest(world) == 1


def test_a_log_whose_start_was_moved_loses_the_rest() -> None:
    world = world_of(retention_ms="3000", segment_ms="1000")
    for _ in range(4):
        written(world)
        world.sleep(1500)
    partition = DeleteRecordsPartition(partition_index=0, offset=3)
    world.ask(21, 2, DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[partition])]))
    assert earliest(world) == 3
    world.sleep(3000)
    assert (earliest(world), world.topics.require_partition("t", 0).size) == (4, 0)


def test_a_deleted_topic_is_not_looked_at() -> None:
    world = world_of(retention_ms="3000")
    written(world)
    world.command("delete_topic", name="t")
    world.sleep(10_000)
    assert (world.notes("records_expired"), world.core.deadline()) == ([], None)


def test_the_look_can_be_had_at_once() -> None:
    world = world_of(retention_ms="3000")
    written(world, 10_000)
    world.command("jump_timer", timer="log_retention")
    assert earliest(world) == 1
    assert world.environment.wall_ms(world.rig.now) == WALL_MS, "and the clock stood still"
