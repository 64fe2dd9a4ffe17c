"""Kafka keeps in memory what a heartbeat changed before it failed at endpoints (ST-137; read in 4.4.0 and 4.3.0, seen on 4.4.0)."""

from __future__ import annotations

from typing import Any, Final

from streams_world import PLAIN, StreamsWorld, subtopology, topology

from groupmock.core.groups.streams.group import MOST_STRAYS
from groupmock.core.settings import Quirks
from groupmock_codec.messages import k88_streams_group_heartbeat as k88

HERE: Final = k88.Endpoint(host="a", port=1)
ALL: Final = {"0": [0, 1, 2, 3]}
OFFSETS: Final = [k88.TaskOffset(subtopology_id="0", partition=1, offset=2)]


def _lose(world: StreamsWorld) -> None:
    world.topics.delete(world.turn(), "t")


def _fail(world: StreamsWorld, member: str = "A", **fields: Any) -> None:
    """Send a heartbeat that fails, because it asks for endpoints while the source topic is missing."""
    asked = {"member_id": member, "member_epoch": world.epochs[member], "user_endpoint": HERE, "endpoint_information_epoch": -1}
    assert world.refused(world.raw(**{**asked, **fields})) == (-1, None)


def test_leave_to_the_epoch_of_a_failed_heartbeat_leaves_the_topics_unseen_until_another_one_fails() -> None:
    """StreamsGroup.hasMetadataExpired compares the group epoch with the one that the failed heartbeat would have written. The group is
    not ready, because the failed heartbeat has configured it, but has the former hash of its topics."""
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.beat()
    world.confirm()
    _lose(world)
    _fail(world)
    world.leave("B")
    assert world.state() == ("Assigning", 4, 3)
    world.beat()
    assert [world.confirm().epoch for _ in range(2)] == [5, 5]
    _fail(world)
    assert [world.beat() for _ in range(2)] == [(6, None, None, [1])] * 2
    _fail(world)
    assert world.beat() == (6, None, None, [1])


def test_topic_that_changes_after_a_failed_heartbeat_is_seen_behind_a_leave_too() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    _lose(world)
    _fail(world)
    world.topic("t", 4)
    world.leave("B")
    assert world.confirm() == (5, None, None, [])


def test_targets_of_a_failed_heartbeat_withhold_tasks_for_one_epoch_except_in_the_former_release() -> None:
    """Kafka 4.4 copies the targets for warm-up tasks to come, and looks the copy up by the number of its epoch."""
    for quirks, at_three, later in (
        (Quirks(), {}, [(4, ALL, {}, []), (4, None, None, [])]),
        (Quirks(streams_fields_not_served=True), None, [(3, None, None, [])] * 2),
    ):
        world = StreamsWorld(quirks=quirks)
        world.join()
        _lose(world)
        _fail(world)
        world.topic("t", 4)
        assert world.beat("A", ({}, {}), version=0).epoch == 3
        assert world.owned["A"][0] == (ALL if at_three is None else at_three)
        assert world.streams_group.state == "Stable"
        assert [world.confirm(version=0) for _ in range(2)] == later


def test_members_that_wait_for_withheld_tasks_are_asked_again_one_by_one() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.beat()
    world.confirm()
    world.beat("B")
    _lose(world)
    _fail(world)
    world.topic("t", 4)
    assert world.beat("A", ({}, {})) == (4, {}, {}, [])
    assert world.beat("B", ({}, {})) == (4, {}, {}, [])
    assert world.beat() == (5, {"0": [0, 1]}, {}, [])
    assert world.state() == ("Reconciling", 5, 5)
    assert world.beat("B") == (5, {"0": [2, 3]}, {}, [])


def test_delay_that_ends_after_a_failed_heartbeat_computes_with_the_topics_that_it_found() -> None:
    world = StreamsWorld(group_streams_initial_rebalance_delay_ms=3000)
    world.join()
    world.join("B")
    _lose(world)
    _fail(world)
    world.sleep(3000)
    (group,) = world.described("g")
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert [each.target_assignment.active_tasks for each in group.members] == [[], []]


def test_failed_heartbeat_within_the_interval_takes_the_tasks_of_a_member_that_needs_no_new_target() -> None:
    """The endpoint epoch is raised by each of them, so that the next one fails too (seed 12997)."""
    world = StreamsWorld(group_streams_assignment_interval_ms=1000)
    world.join(user_endpoint=HERE)
    world.sleep(1000)
    world.join("B")
    world.sleep(1000)
    _lose(world)
    world.beat("B", endpoint_information_epoch=0)
    assert world.state() == ("NotReady", 4, 4)
    for sent in (-1, 0, 1):
        _fail(world, user_endpoint=None, endpoint_information_epoch=sent)
    assert world.streams_group.endpoint_epoch == 3


def test_delay_computes_nothing_unless_a_heartbeat_followed_the_one_that_made_the_group() -> None:
    world = StreamsWorld(group_streams_initial_rebalance_delay_ms=3000)
    world.join()
    world.sleep(3000)
    assert world.state() == ("Assigning", 2, 1)
    assert world.beat() == (2, ALL, {}, [])


def test_delay_of_an_emptied_group_ends_without_a_target_in_the_former_release() -> None:
    world = StreamsWorld(quirks=Quirks(emptied_group_keeps_assignment_epoch=True), group_streams_initial_rebalance_delay_ms=3000)
    world.join()
    world.beat()
    world.leave()
    world.sleep(3000)
    assert world.state() == ("Empty", 3, 1)


def test_initial_delay_begins_with_a_join_that_failed() -> None:
    world = StreamsWorld(group_streams_initial_rebalance_delay_ms=3000)
    missing = topology(subtopology("0", "nowhere"))
    assert world.refused(world.raw_join("B", missing, user_endpoint=HERE)) == (-1, None)
    world.sleep(2000)
    assert world.join().statuses == [5]
    world.sleep(1000)
    assert world.beat() == (2, ALL, {}, [])


def test_joins_that_failed_in_many_groups_leave_no_timers_and_few_ends_of_delays() -> None:
    world = StreamsWorld(group_streams_initial_rebalance_delay_ms=3000)
    missing = topology(subtopology("0", "nowhere"))
    timers = len(world.cluster.environment.timers)
    for number in range(200):
        world.refused(world.raw_join("B", missing, group_id=f"g{number}", user_endpoint=HERE))
    assert (len(world.cluster.environment.timers), len(world.cluster.early_delays.ends())) == (timers, 100)


def _reported(world: StreamsWorld) -> dict[str, list[tuple[int, int]]]:
    (group,) = world.described("g")
    return {each.member_id: [(sums.partition, sums.offset) for sums in each.task_offsets] for each in group.members}


def test_offsets_of_a_join_that_failed_are_those_of_the_member_that_joins_later() -> None:
    world = StreamsWorld()
    world.join()
    _lose(world)
    assert world.refused(world.raw_join("B", user_endpoint=HERE, endpoint_information_epoch=-1, task_offsets=OFFSETS)) == (-1, None)
    assert _reported(world) == {"A": []}
    world.topic("t", 4)
    world.join("B")
    assert _reported(world) == {"A": [], "B": [(1, 2)]}
    world.leave("B")
    world.join("B")
    assert _reported(world) == {"A": [], "B": []}


def test_offsets_of_a_static_member_that_fails_to_return_stay_with_its_member_id() -> None:
    world = StreamsWorld()
    world.join(instance_id="i")
    world.raw(instance_id="i", member_epoch=-2)
    _lose(world)
    asked: dict[str, Any] = {"instance_id": "i", "user_endpoint": HERE, "endpoint_information_epoch": -1, "task_offsets": OFFSETS}
    for member in ("A", "B"):
        assert world.refused(world.raw_join(member, **asked)) == (-1, None)
    assert _reported(world) == {"A": [(1, 2)]}
    world.join("B", instance_id="i", endpoint_information_epoch=0)
    assert _reported(world) == {"B": [(1, 2)]}


def test_offsets_of_few_joins_that_failed_are_kept() -> None:
    world = StreamsWorld()
    world.join()
    _lose(world)
    for number in range(MOST_STRAYS + 1):
        failed = world.raw_join(f"m{number}", PLAIN, user_endpoint=HERE, endpoint_information_epoch=-1, task_end_offsets=OFFSETS)
        assert world.refused(failed) == (-1, None)
    assert list(world.streams_group.strays) == [f"m{number}" for number in range(1, MOST_STRAYS + 1)]
