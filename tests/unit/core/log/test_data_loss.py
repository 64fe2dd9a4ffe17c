"""A log that was truncated, or whose new leader lacks records, answers as Kafka's logs do after KIP-101 and KIP-320."""

from __future__ import annotations

from typing import Any

import pytest
from cases import for_each
from log_world import LogWorld, batch, fetch_request

from groupmock.core.log.transactions import Marker
from groupmock_codec.error_codes import (
    ELIGIBLE_LEADERS_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    NONE,
    OFFSET_OUT_OF_RANGE,
)
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.messages.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from groupmock_codec.messages.k43_elect_leaders import ElectLeadersRequest, TopicPartitions
from groupmock_codec.records import TRANSACTIONAL_BIT, read_batches

UNCLEAN = 1


def world_of(nodes: int = 2) -> LogWorld:
    """Return a cluster with the topic t on all nodes, led by node 1, with six records in three batches."""
    world = LogWorld(nodes=nodes)
    world.topics.add(world.turn(), "t", [list(range(1, nodes + 1))], {})
    world.append(batch(b"0", b"1"), batch(b"2", b"3"), batch(b"4", b"5"))
    return world


def epoch_end(world: LogWorld, epoch: int, current: int = -1, node: int = 1) -> tuple[int, int, int]:
    """Return error, epoch and end offset of OffsetForLeaderEpoch."""
    asked = OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(replica_id=-1, topics=[OffsetForLeaderTopic(topic="t", partitions=[asked])])
    row = world.ask(23, 4, request, node=node).topics[0].partitions[0]
    return row.error_code, row.leader_epoch, row.end_offset


def end_of(world: LogWorld, node: int = 1) -> int:
    topic = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    offset: int = world.ask(2, 7, ListOffsetsRequest(topics=[topic]), node=node).topics[0].partitions[0].offset
    return offset


def read(world: LogWorld, offset: int, node: int = 1, **how: Any) -> tuple[int, list[int], tuple[int, int]]:
    """Return error, base offsets of the batches, and the diverging epoch of a Fetch."""
    row = world.fetch(offset, node=node, version=12, **how)
    return (
        row.error_code,
        [each.base_offset for each in read_batches(row.records or b"")],
        (row.diverging_epoch.epoch, row.diverging_epoch.end_offset),
    )


@for_each(("offset", "left"), [(6, [0, 2, 4]), (4, [0, 2]), (3, [0]), (2, [0]), (0, [])])
def test_a_truncated_log_loses_whole_batches_and_goes_on_at_the_offset(offset: int, left: list[int]) -> None:
    world = world_of()
    world.command("truncate_log", topic="t", partition=0, offset=offset)
    assert (end_of(world), read(world, 0)) == (offset, (NONE, left, (-1, -1)))
    assert world.notes("log_truncated") == [{"topic": "t", "partition": 0, "offset": offset, "lost": 6 - offset}]
    world.append(batch(b"new"))
    assert (end_of(world), read(world, 0)) == (offset + 1, (NONE, [*left, offset], (-1, -1)))


def test_a_consumer_beyond_the_end_is_out_of_range_or_told_where_it_diverges() -> None:
    world = world_of()
    ticket = world.send(1, 11, fetch_request(("t", 0, 6), world=world, max_wait_ms=60_000, min_bytes=1))
    world.command("truncate_log", topic="t", partition=0, offset=2)
    assert world.answers[ticket].responses[0].partitions[0].error_code == OFFSET_OUT_OF_RANGE
    assert read(world, 6)[0] == OFFSET_OUT_OF_RANGE
    assert read(world, 6, partition={"last_fetched_epoch": 0}) == (NONE, [], (0, 2))
    assert epoch_end(world, 0) == (NONE, 0, 2)


def test_an_unclean_leader_raises_the_epoch_and_lacks_records() -> None:
    world = world_of()
    world.command("elect_unclean_leader", topic="t", partition=0, offset=4)
    assert world.topics.leader_of("t", 0) == 2
    assert read(world, 6, 2, partition={"current_leader_epoch": 0})[0] == FENCED_LEADER_EPOCH
    assert read(world, 6, 2, partition={"current_leader_epoch": 1})[0] == OFFSET_OUT_OF_RANGE
    assert read(world, 6, 2, partition={"current_leader_epoch": 1, "last_fetched_epoch": 0}) == (NONE, [], (0, 4))
    assert epoch_end(world, 0, 1, 2) == (NONE, 0, 4)
    assert epoch_end(world, 0, 0, 2)[0] == FENCED_LEADER_EPOCH
    world.append(batch(b"a", b"b", b"c", b"d"))
    assert epoch_end(world, 0, 1, 2) == (NONE, 0, 4), "the offset exists again, and the epoch tells"
    assert epoch_end(world, 1, 1, 2) == (NONE, 1, 8)
    assert read(world, 6, 2, partition={"current_leader_epoch": 1, "last_fetched_epoch": 0}) == (NONE, [], (0, 4))


def test_epochs_that_began_in_the_lost_part_are_forgotten() -> None:
    world = world_of()
    world.command("move_leader", topic="t", partition=0, node=2)
    world.append(batch(b"6"))
    world.command("elect_unclean_leader", topic="t", partition=0, node=1, offset=4)
    assert [epoch_end(world, epoch, 2) for epoch in (0, 1, 2)] == [(NONE, 0, 4), (NONE, 0, 4), (NONE, 2, 4)]
    world.command("truncate_log", topic="t", partition=0, offset=2)
    assert [epoch_end(world, epoch, 2) for epoch in (0, 1, 2)] == [(NONE, 0, 2), (NONE, 0, 2), (NONE, 2, 2)]


def test_a_replica_that_lags_is_elected_with_what_it_has() -> None:
    world = world_of(nodes=3)
    world.command("lag_replica", topic="t", partition=0, node=3)
    world.append(batch(b"6"))
    world.command("elect_unclean_leader", topic="t", partition=0)
    assert (world.topics.leader_of("t", 0), end_of(world, 3)) == (3, 6)


def elect(world: LogWorld, node: int) -> int:
    request = ElectLeadersRequest(election_type=UNCLEAN, topic_partitions=[TopicPartitions(topic="t", partitions=[0])], timeout_ms=1000)
    code: int = world.ask(43, 2, request, node=node).replica_election_results[0].partition_result[0].error_code
    return code


def test_an_unclean_election_of_an_administrator_takes_the_replica_that_lags() -> None:
    world = world_of(nodes=3)
    world.command("lag_replica", topic="t", partition=0, node=2)
    world.append(batch(b"6"))
    for node in (3, 1):
        world.command("stop_node", node=node)
    assert world.topics.leader_of("t", 0) == -1
    assert elect(world, 2) == NONE
    assert (world.topics.leader_of("t", 0), end_of(world, 2)) == (2, 6)


def test_an_unclean_election_without_a_running_replica_is_refused() -> None:
    world = LogWorld(nodes=2)
    world.topics.add(world.turn(), "t", [[1]], {})
    world.command("stop_node", node=1)
    assert elect(world, 2) == ELIGIBLE_LEADERS_NOT_AVAILABLE


def test_a_single_node_leads_again_with_a_shorter_log() -> None:
    world = world_of(nodes=1)
    world.command("elect_unclean_leader", topic="t", partition=0, offset=2)
    assert (world.topics.leader_of("t", 0), epoch_end(world, 0, 1)) == (1, (NONE, 0, 2))


def test_a_transaction_whose_marker_was_lost_is_open_again_and_a_lost_batch_can_be_written_again() -> None:
    world = LogWorld()
    world.topic()
    how: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "attributes": TRANSACTIONAL_BIT}
    first, second = batch(b"0", base_sequence=0, **how), batch(b"1", base_sequence=1, **how)
    world.append(first, second)
    partition = world.topics.require_partition("t", 0)
    partition.mark(Marker(7, 0, committed=False), world.topics.limits(world.topics.require("t"), 1), 5)
    assert (partition.stable(), len(partition.aborted(0, 1000, 3))) == (3, 1)
    world.command("truncate_log", topic="t", partition=0, offset=2)
    assert (partition.stable(), partition.aborted(0, 1000, 2)) == (0, [])
    world.command("truncate_log", topic="t", partition=0, offset=1)
    world.append(second)
    assert partition.end == 2, "it is no duplicate, because the log has forgotten it"
    world.append(first)
    assert partition.end == 2, "this one still is"


def test_segments_after_the_new_end_are_gone() -> None:
    world = LogWorld()
    world.topic(cleanup_policy="compact", segment_bytes="100")
    world.append(*[batch(b"v" * 50, keys=[b"k"]) for _ in range(4)])
    partition = world.topics.require_partition("t", 0)
    before = partition.segments.kept()
    assert len(before) == 4
    world.command("truncate_log", topic="t", partition=0, offset=2)
    assert [(each.base_offset, each.size) for each in partition.segments.kept()] == [(each.base_offset, each.size) for each in before[:2]]
    assert partition.size == sum(each.size for each in before[:2])


@for_each(
    ("name", "arguments", "why"),
    [
        ("truncate_log", {"offset": 7}, "partition 0 of topic 't' goes from 0 to 6: name an offset between these"),
        ("elect_unclean_leader", {"offset": 7}, "goes from 0 to 6"),
        ("elect_unclean_leader", {}, r"node 2 has the whole log: name the offset where its log ends, or let the replica lag first"),
        ("elect_unclean_leader", {"node": 9, "offset": 1}, "no node 9"),
    ],
)
def test_an_impossible_loss_is_refused(name: str, arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        world_of().command(name, topic="t", partition=0, **arguments)


def test_records_of_internal_topics_cannot_be_lost() -> None:
    world = world_of()
    world.cluster.groups.hosting.make_topic(world.turn())
    with pytest.raises(ValueError, match="Kafka's own"):
        world.command("truncate_log", topic="__consumer_offsets", partition=0, offset=0)
