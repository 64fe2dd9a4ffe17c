"""The fields of a StreamsGroupHeartbeat are checked in Kafka's order before anything changes (ST-10 to ST-36)."""

from __future__ import annotations

from typing import Any, Final

from cases import for_each
from streams_world import PLAIN, StreamsWorld, subtopology, tasks, topology

from groupmock.core.settings import Quirks
from groupmock_codec.error_codes import INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY
from groupmock_codec.messages import k88_streams_group_heartbeat as k88

EVERY: Final[dict[str, Any]] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
ONE: Final = tasks({"0": []})
OFFSET: Final = k88.TaskOffset(subtopology_id="0", partition=1, offset=2)


@for_each(
    "fields, code, text",
    [
        ({"member_id": " "}, INVALID_REQUEST, "MemberId can't be empty."),
        ({"group_id": " "}, INVALID_REQUEST, "GroupId can't be empty."),
        ({"instance_id": ""}, INVALID_REQUEST, "InstanceId can't be empty."),
        ({"rack_id": " "}, INVALID_REQUEST, "RackId can't be empty."),
        ({"rebalance_timeout_ms": -1}, INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request."),
        ({"active_tasks": None}, INVALID_REQUEST, "ActiveTasks must be empty when (re-)joining."),
        ({"standby_tasks": ONE}, INVALID_REQUEST, "StandbyTasks must be empty when (re-)joining."),
        ({"warmup_tasks": ONE}, INVALID_REQUEST, "WarmupTasks must be empty when (re-)joining."),
        ({"topology": None}, INVALID_REQUEST, "Topology must be non-null when (re-)joining."),
        ({"member_epoch": -2}, INVALID_REQUEST, "InstanceId can't be null."),
        ({"member_epoch": -3}, INVALID_REQUEST, "MemberEpoch is -3, but must be greater than or equal to -2."),
        ({"member_epoch": 1, "active_tasks": None}, INVALID_REQUEST, "If one task-type is non-null, all must be non-null."),
        ({"member_epoch": 1}, INVALID_REQUEST, "Topology can only be provided when (re-)joining."),
        ({"task_offsets": [OFFSET, OFFSET]}, INVALID_REQUEST, "Task offsets contain a duplicate entry for subtopology 0 and partition 1."),
        ({"topology": topology(subtopology("0", "t"), epoch=-1)}, -1, None),
        ({"client_tags": [k88.KeyValue(key="a", value="1"), k88.KeyValue(key="a", value="2")]}, -1, None),
        (
            {"topology": topology(subtopology("0", source_topic_regex=["t.*"])), "member_id": ""},
            INVALID_REQUEST,
            "Regular expressions for source topics are not supported yet.",
        ),
        (
            {"topology": topology(subtopology("0", "t", state={"c": 2}))},
            STREAMS_INVALID_TOPOLOGY,
            "Changelog topic c must have an undefined partition count, but it is set to 2.",
        ),
        (
            {"topology": topology(subtopology("0", "__consumer_offsets", "t", "__transaction_state")), "member_id": ""},
            STREAMS_INVALID_TOPOLOGY,
            "Use of Kafka internal topics __consumer_offsets,__transaction_state in a Kafka Streams topology is prohibited.",
        ),
        (
            {"topology": topology(subtopology("0", "t", "a b", state=["c!"]), subtopology("1", "d?"))},
            STREAMS_INVALID_TOPOLOGY,
            "Topic names a b,c!,d? are not valid topic names.",
        ),
    ],
)
def test_bad_streams_heartbeat_is_refused_and_makes_no_group(fields: dict[str, Any], code: int, text: str | None) -> None:
    world = StreamsWorld()
    assert world.refused(world.raw_join(**fields)) == (code, text)
    assert world.cluster.groups.find("g") is None


def test_former_release_refuses_static_members_and_offsets_of_tasks() -> None:
    world = StreamsWorld(quirks=Quirks(streams_fields_not_served=True))
    assert world.refused(world.raw_join(version=0, instance_id="")) == (INVALID_REQUEST, "Static membership is not yet supported.")
    assert world.refused(world.raw_join(version=0, warmup_tasks=ONE)) == (INVALID_REQUEST, "WarmupTasks are not supported yet.")
    assert world.refused(world.raw_join(version=0, task_end_offsets=[])) == (INVALID_REQUEST, "TaskEndOffsets are not supported yet.")
    told = world.raw_join(version=0)
    assert (told.member_epoch, told.task_offset_interval_ms, told.acceptable_recovery_lag_legacy) == (2, 0, 0)


def test_odd_fields_of_a_streams_heartbeat_are_accepted() -> None:
    world = StreamsWorld()
    odd = topology(subtopology("0", "t", "t"))
    assert world.join(" A ", odd, process_id=None, client_tags=None).epoch == 2
    (group,) = world.described("g")
    assert (group.members[0].process_id, group.members[0].client_tags) == ("", [])


def test_group_and_member_of_a_streams_heartbeat_must_exist() -> None:
    world = StreamsWorld()
    assert world.refused(world.raw(member_epoch=1)) == (69, "Streams group g not found.")
    assert world.refused(world.raw(member_epoch=-1)) == (69, "Group g not found.")
    world.join()
    assert world.refused(world.raw(member_id="B", member_epoch=1)) == (25, "Member B is not a member of group g.")
    assert world.refused(world.raw(member_id="B", member_epoch=-1)) == (25, "Member B is not a member of group g.")
    assert world.refused(world.raw(instance_id="i", member_epoch=2)) == (25, "Instance id i is unknown.")


def test_member_epoch_of_a_streams_member_must_be_the_present_one() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    rest = "than the one known by the group coordinator (2). The member must abandon all its partitions and rejoin."
    assert world.refused(world.raw(member_epoch=3)) == (110, f"The streams group member has a greater member epoch (3) {rest}")
    assert world.refused(world.raw(member_epoch=1)) == (110, f"The streams group member has a smaller member epoch (1) {rest}")


def test_previous_epoch_is_accepted_with_owned_tasks_within_the_assigned_ones() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    assert world.beat("A").active == {"0": [0, 1]}
    assert world.confirm("A").epoch == 3
    for owned in ({"0": [0, 1]}, {}):
        told = world.raw(member_epoch=2, active_tasks=tasks(owned), standby_tasks=[], warmup_tasks=[])
        assert (told.error_code, told.member_epoch, told.active_tasks) == (0, 3, None)
    assert world.raw(member_epoch=2).error_code == 110
    assert world.raw(member_epoch=2, active_tasks=tasks({"0": [0, 2]}), standby_tasks=[], warmup_tasks=[]).error_code == 110


def test_waiting_streams_member_makes_its_epoch_the_previous_one() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.beat("A")
    waits = world.streams_group.members["B"]
    assert (waits.epoch, waits.previous_epoch) == (3, 0)
    world.beat("B")
    assert (waits.epoch, waits.previous_epoch) == (3, 3)


def test_owned_tasks_must_be_in_the_topology() -> None:
    world = StreamsWorld()
    world.join()
    unknown = world.raw(member_epoch=2, active_tasks=tasks({"9": [0]}), standby_tasks=[], warmup_tasks=[])
    assert world.refused(unknown) == (INVALID_REQUEST, "Subtopology 9 does not exist in the topology.")
    beyond = world.raw(member_epoch=2, active_tasks=[], standby_tasks=tasks({"0": [4]}), warmup_tasks=[])
    text = "Task 4 for subtopology 0 is invalid. Number of tasks for this subtopology: 4"
    assert world.refused(beyond) == (INVALID_REQUEST, text)


def test_full_streams_group_refuses_only_strangers() -> None:
    world = StreamsWorld(group_streams_max_size=1)
    world.join(instance_id="i")
    assert world.refused(world.raw_join("B")) == (81, "The streams group has reached its maximum capacity of 1 members.")
    assert world.join().epoch == 2
    world.raw(instance_id="i", member_epoch=-2)
    assert world.join("C", instance_id="i", process_id="p-A").epoch == 2


def test_full_streams_group_of_the_former_release_refuses_its_members() -> None:
    world = StreamsWorld(group_streams_max_size=1, quirks=Quirks(full_group_refuses_known_instances=True))
    world.join()
    assert world.raw_join().error_code == 81
    assert world.beat().epoch == 2


def test_streams_heartbeat_is_unsupported_without_the_protocol() -> None:
    world = StreamsWorld(group_coordinator_rebalance_protocols="classic,consumer")
    assert world.refused(world.raw_join(member_id="", of=PLAIN)) == (35, None)
    (group,) = world.described("g")
    assert (group.error_code, group.error_message, group.group_state) == (35, None, "")
