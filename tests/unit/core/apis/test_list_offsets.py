"""ListOffsets and OffsetForLeaderEpoch answer like Apache Kafka 4.3.0 (v0: 3.9.1), recorded on 2026-11-21.

The log holds batches of two records with timestamps (1000, 1005), (3000, 3005), (2000, 2005).
"""

from __future__ import annotations

from typing import Any

from cases import for_each
from log_world import WALL_MS, LogWorld

from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.messages.k23_offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic
from groupmock_codec.records import NewRecord, encode_batch

Answer = dict[str, Any]


def pair(timestamp: int, **how: Any) -> bytes:
    return encode_batch([NewRecord(value=b"a", timestamp=timestamp), NewRecord(value=b"b", timestamp=timestamp + 5)], **how)


def filled(**how: Any) -> LogWorld:
    world = LogWorld(**how)
    world.topic("t", node=1)
    world.topic("empty", node=1)
    world.append(*(pair(timestamp) for timestamp in (1000, 3000, 2000)))
    return world


def ask(
    world: LogWorld, timestamp: int, version: int = 11, *, topic: str = "t", partition: int = 0, node: int = 1, epoch: int = -1, **how: Any
) -> Answer:
    wanted = ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=how.pop("most", 1)
    )
    request = ListOffsetsRequest(**{"replica_id": -1, **how}, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
    found: Answer = world.show(2, version, request, node=node)["topics"][0]["partitions"][0]
    return found


def at(offset: int, timestamp: int = -1, epoch: int = 0) -> Answer:
    return {"offset": offset, "leader_epoch": epoch} | ({"timestamp": timestamp} if timestamp != -1 else {})


NOTHING: Answer = {}
UNSUPPORTED: Answer = {"error_code": 35}
OBSERVED: list[tuple[int, Answer]] = [
    (-1, at(6)),
    (-2, at(0)),
    (-3, at(3, 3005)),
    (-4, at(0)),
    (-5, NOTHING),
    (-6, NOTHING),
    (-7, UNSUPPORTED),
    (0, at(0, 1000)),
    (1000, at(0, 1000)),
    (1003, at(1, 1005)),
    (2000, at(2, 3000)),
    (2006, at(2, 3000)),
    (3005, at(3, 3005)),
    (3006, NOTHING),
]


@for_each(("timestamp", "expected"), OBSERVED)
def test_every_kind_of_timestamp(timestamp: int, expected: Answer) -> None:
    assert ask(filled(), timestamp) == expected


@for_each(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_special_timestamps_came_one_by_one(timestamp: int, since: int) -> None:
    world = filled()
    refused = [version for version in range(12) if ask(world, timestamp, version).get("error_code") == 35]
    assert refused == list(range(since))


@for_each(("timestamp", "expected"), [(-1, at(0)), (-2, at(0)), (-3, NOTHING), (-4, at(0)), (-5, NOTHING), (0, NOTHING)])
def test_an_empty_log(timestamp: int, expected: Answer) -> None:
    assert ask(filled(), timestamp, topic="empty") == expected


@for_each(("timestamp", "expected"), [(-1, at(6)), (-2, at(3)), (-3, at(3, 3005)), (-4, at(3)), (0, at(3, 3005)), (1000, at(3, 3005))])
def test_a_log_whose_beginning_was_deleted(timestamp: int, expected: Answer) -> None:
    world = filled()
    deletion = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=3)])
    world.ask(21, 2, DeleteRecordsRequest(topics=[deletion]))
    assert ask(world, timestamp) == expected


def test_of_equal_timestamps_the_first_counts() -> None:
    world = filled()
    same = encode_batch([NewRecord(value=b"v", timestamp=9000)] * 2)
    world.append(same, same, topic="empty")
    assert [ask(world, timestamp, topic="empty") for timestamp in (-3, 9000)] == [at(0, 9000)] * 2


def test_records_without_timestamp() -> None:
    world = filled()
    world.append(encode_batch([NewRecord(value=b"v", timestamp=-1)]), topic="empty")
    assert [ask(world, timestamp, topic="empty") for timestamp in (-3, 0)] == [at(0), NOTHING]


def test_an_opaque_batch_answers_with_its_first_offset_and_largest_timestamp() -> None:
    world = filled()
    data = bytearray(pair(5000))
    data[22] = 4
    world.append(bytes(data))
    assert ask(world, 5003) == at(6, 5005)


REFUSED: list[tuple[str, dict[str, Any], Answer]] = [
    ("unknown topic", {"topic": "nope"}, {"error_code": 3}),
    ("unknown partition", {"partition": 4}, {"partition_index": 4, "error_code": 3}),
    ("wrong node", {"node": 2}, {"error_code": 6}),
    ("wrong node, debugging", {"node": 2, "replica_id": -2}, {"error_code": 6}),
    ("epoch to come", {"epoch": 1}, {"error_code": 75}),
    ("epoch known", {"epoch": 0}, at(6)),
    ("somebody's replica", {"replica_id": 5}, at(6)),
    ("read committed", {"isolation_level": 1}, at(6)),
    ("isolation that is none", {"isolation_level": 9}, {"error_code": -1}),
]


@for_each(("how", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_gates(how: dict[str, Any], expected: Answer) -> None:
    assert ask(filled(nodes=2), -1, **how) == expected


def test_epochs_after_a_leader_moved() -> None:
    world = filled(nodes=2)
    world.topics.lead(world.turn(), "t", 0, 2)
    assert ask(world, -1, node=2, epoch=0) == {"error_code": 74}
    assert ask(world, -1, node=2) == at(6, epoch=1)
    assert ask(world, -2, node=2) == at(0)
    world.append(pair(9000))
    assert ask(world, 9000, node=2) == at(6, 9000, epoch=1)


def test_a_partition_listed_twice() -> None:
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 0, 7)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=wanted)])
    assert filled().show(2, 5, request)["topics"] == [
        {"name": "t", "partitions": [{"error_code": 42}, {"partition_index": 7, "error_code": 3}]}
    ]


OLD_STYLE: list[tuple[int, int, Answer]] = [
    (-1, 0, {}),
    (-1, 1, {"old_style_offsets": [6]}),
    (-1, 2, {"old_style_offsets": [6, 0]}),
    (-2, 10, {"old_style_offsets": [0]}),
    (2000, 10, {}),
    (WALL_MS + 100_000, 5, {"old_style_offsets": [6, 0]}),
    (-1, -1, {"error_code": -1}),
]


@for_each(("timestamp", "most", "expected"), OLD_STYLE)
def test_v0_lists_segments(timestamp: int, most: int, expected: Answer) -> None:
    assert ask(filled(), timestamp, 0, most=most) == expected


def test_v0_of_an_empty_log() -> None:
    assert ask(filled(), -1, 0, topic="empty", most=5) == {"old_style_offsets": [0]}


# -- OffsetForLeaderEpoch


def epoch_end(
    world: LogWorld, epoch: int, *, current: int = -1, topic: str = "t", partition: int = 0, node: int = 1, version: int = 4
) -> Answer:
    wanted = OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])])
    found: Answer = world.show(23, version, request, node=node)["topics"][0]["partitions"][0]
    return found


EPOCHS: list[tuple[dict[str, Any], int, Answer]] = [
    ({}, 0, {"leader_epoch": 0, "end_offset": 6}),
    ({"topic": "empty"}, 0, {"leader_epoch": 0, "end_offset": 0}),
    ({}, 1, {}),
    ({}, -1, {}),
    ({}, -2, {"leader_epoch": -2, "end_offset": 0}),
    ({"current": 0}, 0, {"leader_epoch": 0, "end_offset": 6}),
    ({"current": 1}, 0, {"error_code": 75}),
    ({"topic": "nope"}, 0, {"error_code": 3}),
    ({"partition": 3}, 0, {"error_code": 3, "partition": 3}),
    ({"node": 2}, 0, {"error_code": 6}),
    ({"version": 0}, 0, {"end_offset": 6}),
]


@for_each(("how", "epoch", "expected"), EPOCHS)
def test_where_an_epoch_ended(how: dict[str, Any], epoch: int, expected: Answer) -> None:
    assert epoch_end(filled(nodes=2), epoch, **how) == expected


def test_epochs_of_several_leaders() -> None:
    world = filled(nodes=2)
    world.topics.lead(world.turn(), "t", 0, 2)  # Leader epoch 1 gets no record, because the leader changes again at once.
    world.topics.lead(world.turn(), "t", 0, 1)
    world.append(pair(1))
    ends = [epoch_end(world, epoch) for epoch in (0, 1, 2, 3)]
    old, now = {"leader_epoch": 0, "end_offset": 6}, {"leader_epoch": 2, "end_offset": 8}
    assert ends == [old, old, now, {}]
    assert epoch_end(world, 0, current=1) == {"error_code": 74}
