"""Tasks of a streams group move step by step, and roles change inside a member at once (ST-80 to ST-96, ST-110 to ST-119, ST-160)."""

from __future__ import annotations

from typing import Any, Final

from cases import for_each
from streams_world import StreamsWorld, subtopology, topology

from groupmock.core.settings import Quirks
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic

STATEFUL: Final = topology(subtopology("0", "t", state=["c"]))
FORMER: Final = Quirks(streams_roles_change_in_turn=True, streams_assignor_reads_targets=True)


def _stateful(**settings: Any) -> StreamsWorld:
    world = StreamsWorld(group_streams_num_standby_replicas=1, **settings)
    world.topic("c", 4)
    return world


def _commit(world: StreamsWorld, epoch: int, partition: int, member: str = "A", topic: str = "t", version: int = 9) -> int:
    wanted = OffsetCommitRequestTopic(name=topic, partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=1)])
    request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=epoch, member_id=member, topics=[wanted])
    code: int = world.answers[world.rig.send(8, version, request, node=world.node).ticket].topics[0].partitions[0].error_code
    return code


def test_task_is_free_after_its_member_has_given_it_up() -> None:
    world = StreamsWorld()
    world.join()
    assert world.join("B") == (3, {}, {}, [])
    assert world.beat("B") == (3, None, None, [])
    assert world.beat("A") == (2, {"0": [0, 1]}, {}, [])
    assert world.beat("A") == (2, None, None, [])
    assert world.beat("A", ({"0": [0, 1, 2]}, {})) == (2, None, None, [])
    assert world.described("g")[0].members[-1].assignment is not None
    assert world.state() == ("Reconciling", 3, 3)
    assert world.confirm("A") == (3, None, None, [])
    assert world.beat("B", ({}, {})) == (3, {"0": [2, 3]}, {}, [])
    assert world.state() == ("Stable", 3, 3)


def test_second_revocation_right_after_the_first_has_an_epoch_in_between() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    assert world.beat("A") == (2, {"0": [0, 1]}, {}, [])
    for member in ("C", "D"):
        world.join(member)
    assert world.streams_group.generation == 5
    assert world.confirm("A") == (3, {"0": [0]}, {}, [])
    assert world.confirm("A") == (5, None, None, [])


def test_rejoining_streams_member_has_given_up_what_it_was_told_to() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.beat("A")
    assert world.join("A") == (3, {"0": [0, 1]}, {}, [])


def test_leave_frees_also_what_was_to_be_given_up() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.beat("A")
    world.leave("A")
    assert world.beat("B").active == {"0": [0, 1, 2, 3]}


def test_standby_task_is_granted_at_once_in_another_process() -> None:
    world = _stateful()
    world.join(of=STATEFUL)
    assert world.join("B", STATEFUL) == (3, {}, {"0": [0, 1]}, [])
    assert world.beat("A") == (2, {"0": [0, 1]}, {"0": [2, 3]}, [])
    assert world.confirm("A") == (3, None, None, [])
    assert world.confirm("B") == (3, {"0": [2, 3]}, {"0": [0, 1]}, [])


def test_one_process_alone_has_no_standby_tasks() -> None:
    world = _stateful()
    world.join(of=STATEFUL, process_id="p")
    world.join("B", STATEFUL, process_id="p")
    world.beat("A")
    world.confirm("A")
    assert world.beat("B") == (3, {"0": [2, 3]}, {}, [])


def test_former_release_gives_the_standby_task_two_heartbeats_later() -> None:
    world = _stateful(quirks=FORMER)
    world.join(of=STATEFUL)
    world.join("B", STATEFUL)
    assert world.beat("A") == (2, {"0": [0, 1]}, {}, [])
    assert world.confirm("A") == (3, None, None, [])
    assert world.confirm("A") == (3, {"0": [0, 1]}, {"0": [2, 3]}, [])


def test_standby_task_is_promoted_with_the_next_heartbeat() -> None:
    world = _stateful()
    _settle(world)
    world.leave("A")
    assert world.confirm("B") == (4, {"0": [0, 1, 2, 3]}, {}, [])


def test_former_release_promotes_a_standby_task_in_three_heartbeats() -> None:
    world = _stateful(quirks=FORMER)
    _settle(world)
    world.leave("A")
    assert world.confirm("B") == (3, {"0": [2, 3]}, {}, [])
    assert world.confirm("B") == (4, None, None, [])
    assert world.confirm("B") == (4, {"0": [0, 1, 2, 3]}, {}, [])


def _settle(world: StreamsWorld) -> None:
    world.join(of=STATEFUL)
    world.join("B", STATEFUL)
    world.beat("A")
    for _ in range(3):
        world.confirm("A")
        world.confirm("B")
    assert world.state() == ("Stable", 3, 3)


def test_number_of_standbys_takes_effect_with_the_next_heartbeat() -> None:
    world = StreamsWorld()
    world.topic("c", 4)
    world.join(of=STATEFUL)
    world.join("B", STATEFUL)
    world.beat("A")
    world.confirm("A")
    world.beat("B")
    world.command("configure_group", group="g", set={"streams.num.standby.replicas": "1"})
    assert world.beat("B") == (4, {"0": [2, 3]}, {"0": [0, 1]}, [])


def test_static_streams_member_is_kept_while_it_is_away() -> None:
    world = StreamsWorld()
    world.join(instance_id="i")
    away = world.raw(instance_id="i", member_epoch=-2)
    assert (away.error_code, away.member_epoch, away.heartbeat_interval_ms, away.active_tasks) == (0, -2, 0, None)
    assert world.state() == ("Reconciling", 2, 2)
    assert world.raw(instance_id="i", member_epoch=-2).error_code == 0
    assert world.raw(instance_id="i", member_epoch=2).error_code == 110
    assert world.join("B", instance_id="i", process_id="p-A") == (2, {"0": [0, 1, 2, 3]}, {}, [])
    assert world.state() == ("Stable", 2, 2)
    fenced = "Static member A with instance id i was fenced by member B."
    assert world.refused(world.raw(instance_id="i", member_epoch=2)) == (82, fenced)
    assert world.raw(member_epoch=2).error_code == 25
    assert _commit(world, 0, 1, "B") == 0


def test_static_streams_member_that_returns_with_another_process_keeps_its_tasks() -> None:
    world = StreamsWorld()
    world.join(instance_id="i")
    world.raw(instance_id="i", member_epoch=-2)
    assert world.join("B", instance_id="i") == (3, {"0": [0, 1, 2, 3]}, {}, [])


def test_instance_in_use_cannot_join() -> None:
    world = StreamsWorld()
    world.join(instance_id="i")
    for member in ("A", "B"):
        text = f"Static member {member} with instance id i cannot join the group because the instance id is owned by A member."
        assert world.refused(world.raw_join(member, instance_id="i")) == (111, text)
    assert world.join().epoch == 2
    world.leave()
    assert world.join("B", instance_id="i").epoch == 4


def test_dynamic_streams_member_becomes_static_by_a_join() -> None:
    world = StreamsWorld()
    world.join()
    assert world.raw(instance_id="i", member_epoch=2).error_code == 25
    assert world.join(instance_id="i").epoch == 2
    assert world.join(instance_id="j").epoch == 2
    assert world.raw(instance_id="i", member_epoch=2).error_code == 25
    assert world.beat(instance_id="j").epoch == 2


def test_away_streams_member_expires() -> None:
    world = StreamsWorld()
    world.join(instance_id="i")
    world.raw(instance_id="i", member_epoch=-2)
    world.sleep(30_000)
    assert world.state() == ("Empty", 3, 3)


def test_deleted_source_takes_the_tasks_and_a_new_one_gives_them_again() -> None:
    world = StreamsWorld()
    world.join()
    world.topics.delete(world.turn(), "t")
    assert world.beat() == (2, {}, {}, [1])
    assert world.state() == ("NotReady", 3, 3)
    assert world.confirm() == (3, None, None, [1])
    world.topic("t", 2)
    assert world.beat() == (4, {"0": [0, 1]}, {}, [])


def test_added_partitions_are_assigned_by_one_heartbeat() -> None:
    world = StreamsWorld()
    world.join()
    world.topics.grow(world.turn(), "t", 6)
    assert world.beat() == (3, {"0": [0, 1, 2, 3, 4, 5]}, {}, [])


def test_missing_internal_topics_are_made_in_the_background() -> None:
    world = StreamsWorld()
    of = topology(subtopology("0", "t", sinks=["r"]), subtopology("1", repartition=["r"], state=["c"]))
    assert world.join(of=of) == (2, {}, {}, [3])
    assert world.state() == ("NotReady", 2, 2)
    world.sleep(1)
    assert (world.topics.partitions("r"), world.topics.partitions("c")) == (4, 4)
    assert world.beat() == (3, {"0": [0, 1, 2, 3], "1": [0, 1, 2, 3]}, {}, [])
    assert [each["topic"] for each in world.notes("internal_topic_created")] == ["r", "c"]


@for_each("factor", [0, -1])
def test_internal_topics_have_the_default_replication_factor_unless_one_is_given(factor: int) -> None:
    world = StreamsWorld()
    of = topology(subtopology("0", "t", state=["c"]))
    of.subtopologies[0].state_changelog_topics[0].replication_factor = factor
    world.join(of=of)
    world.sleep(1)
    assert world.topics.partitions("c") == 4


def test_internal_topic_that_cannot_be_made_is_in_the_status() -> None:
    world = StreamsWorld()
    of = topology(subtopology("0", "t", state=["c_"]))
    world.topic("c.")
    assert world.join(of=of).statuses == [3]
    world.sleep(1)
    told = world.raw(member_epoch=2).status
    text = "Internal topics are missing: c_; Creation failed: c_ (Topic 'c_' collides with existing topic: c.)."
    assert [(each.status_code, each.status_detail) for each in told] == [(3, text)]
    world.topics.delete(world.turn(), "c.")
    world.sleep(5_998)
    world.beat()
    world.sleep(1)
    assert world.topics.partitions("c_") is None
    assert world.beat().statuses == [3]
    world.sleep(1)
    assert world.beat().active == {"0": [0, 1, 2, 3]}


def test_commits_of_a_streams_member_are_checked_task_by_task() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.beat("A")
    assert [_commit(world, 2, number) for number in (0, 3)] == [0, 0]
    world.confirm("A")
    assert [_commit(world, epoch, number) for epoch, number in ((3, 3), (2, 0), (2, 3), (4, 0), (-1, 0))] == [0, 0, 113, 113, 113]
    assert _commit(world, 2, 0, topic="u") == 113
    assert (_commit(world, 3, 0, version=8), _commit(world, 3, 0, "X", version=8), _commit(world, -1, 0, "")) == (35, 25, 25)
    world.leave("A")
    world.leave("B")
    assert (_commit(world, -1, 0, ""), _commit(world, 3, 0, "A")) == (0, 25)


def test_transactional_commits_and_fetches_of_a_streams_member_are_checked() -> None:
    from groupmock.core.groups.type import NOBODY, Committer

    world = StreamsWorld()
    world.join()
    group, turn = world.streams_group, world.turn()
    by = [Committer(2, "A", None), Committer(3, "A", None), Committer(-1, "B", None), Committer(2, "", None), NOBODY]
    assert [group.admit_transactional_commit(turn, each, 5, [("t", 0)]) for each in by] == [0, 22, 25, 25, 0]
    fetches = [("A", 2), (None, -1), ("A", 1), ("A", -1), ("B", 2), (None, 2)]
    assert [group.admit_fetch(member, epoch) for member, epoch in fetches] == [0, 0, 113, 113, 25, -1]
