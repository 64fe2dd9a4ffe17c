"""Expired offsets and empty groups are removed periodically (KIP-211; docs/kafka/offsets.md#retention; P2-d2)."""

from __future__ import annotations

from cases import for_each
from core_world import EPOCH_MS, World, subscription

from groupmock.core.groups.classic.group import Group
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic

MINUTE = 60_000
SWEEP = 2000


def world_with_sweeps() -> World:
    return World.make(offsets_retention_minutes=1, offsets_retention_check_interval_ms=SWEEP, topics={"orders": 4, "pay": 4})


def found(world: World) -> Group | None:
    return world.find()


def gone_at(world: World) -> int:
    """Return the time in ms at which the group is removed, checked after each cleanup."""
    while found(world) is not None:
        world.sleep(SWEEP - world.now % SWEEP)
        assert world.now < 30 * MINUTE
    return world.now


def test_a_simple_group_expires_after_its_commit() -> None:
    world = world_with_sweeps()
    world.sleep(500)
    world.commit()
    assert gone_at(world) == 62_000
    assert world.reasons()[-1] == "no members and no offsets are left"


def test_an_emptied_group_expires_after_it_became_empty() -> None:
    world = world_with_sweeps()
    (leader,) = world.stable(1, session=1_000_000)
    world.commit(leader, 1)
    world.sleep(40_000 - world.now)
    world.leave(leader)
    assert gone_at(world) == 40_000 + MINUTE


def test_a_stable_consumer_group_loses_what_it_does_not_subscribe_to() -> None:
    world = world_with_sweeps()
    (leader,) = world.stable(1, session=1_000_000, protocols=[("range", subscription("orders"))])
    world.commit(leader, 1, [("orders", 0, 5), ("pay", 0, 6)])
    world.sleep(10 * MINUTE)
    assert list(world.group().offsets) == [("orders", 0)]


@for_each(("protocol_type", "metadata"), [("connect", subscription("orders")), ("consumer", b"\0")])
def test_nothing_expires_without_a_known_subscription(protocol_type: str, metadata: bytes) -> None:
    world = world_with_sweeps()
    (leader,) = world.stable(1, session=1_000_000, protocols=[("range", metadata)], protocol_type=protocol_type)
    world.commit(leader, 1, [("pay", 0, 6)])
    world.sleep(10 * MINUTE)
    assert world.group().offsets


def test_nothing_expires_during_a_rebalance() -> None:
    world = world_with_sweeps()
    (leader,) = world.stable(1, session=1_700_000, rebalance=1_700_000)
    world.commit(leader, 1, [("pay", 0, 6)])
    world.enter(session=1_700_000, rebalance=1_700_000)
    world.sleep(4 * MINUTE)
    assert (world.group().state, len(world.group().offsets)) == ("PreparingRebalance", 1)


@for_each(("version", "retention", "end"), [(2, 4000, 4000), (4, 0, 2000), (4, -1, 60_000), (5, 4000, 60_000)])
def test_a_commit_may_ask_for_a_retention_of_its_own(version: int, retention: int, end: int) -> None:
    world = world_with_sweeps()
    world.commit(version=version, retention_ms=retention)
    assert gone_at(world) == end


@for_each(("timestamp", "end"), [(EPOCH_MS - 50_000, 10_000), (-1, 60_000)])
def test_v1_timestamps_are_the_commit_time(timestamp: int, end: int) -> None:
    world = world_with_sweeps()
    partition = OffsetCommitRequestPartition(committed_offset=1, commit_timestamp=timestamp)
    world.send(OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])]), 8, 1)
    assert gone_at(world) == end


def test_a_group_with_nothing_but_a_reservation_goes_with_the_next_sweep() -> None:
    world = world_with_sweeps()
    reserved = world.join(session=30_000).answer.member_id
    assert gone_at(world) == SWEEP
    assert world.join(reserved).error == 25
    assert world.core.deadline() is None


def test_a_deleted_topic_takes_its_offsets_along() -> None:
    world = world_with_sweeps()
    world.commit(offsets=[("orders", 0, 1), ("pay", 1, 2)])
    turn = world.turn()
    world.cluster.groups.topic_deleted(turn, "orders")
    assert list(world.group().offsets) == [("pay", 1)]
    assert len(turn.out) == 1


def test_a_sweep_that_finds_nothing_tells_nothing() -> None:
    world = world_with_sweeps()
    world.stable(1, session=1_000_000)
    assert world.sleep(10 * SWEEP) == []


def test_a_reborn_group_starts_at_generation_one() -> None:
    world = world_with_sweeps()
    world.leave(*world.stable(1))
    gone_at(world)
    world.stable(1)
    assert world.group().generation == 1
