"""Members of streams groups join, change, leave and expire, with the epochs and states of Kafka (ST-30 to ST-58, ST-100 to ST-145)."""

from __future__ import annotations

from typing import Any, Final

import pytest
from cases import for_each
from streams_world import PLAIN, SESSION_MS, StreamsWorld, subtopology, topology

from groupmock.core.settings import Quirks
from groupmock_codec.messages import k88_streams_group_heartbeat as k88

STATEFUL: Final = topology(subtopology("0", "t", state=["c"]))


def _stateful(**settings: Any) -> StreamsWorld:
    world = StreamsWorld(**settings)
    world.topic("c", 4)
    return world


def test_first_streams_member_gets_all_tasks_at_epoch_two() -> None:
    world = StreamsWorld()
    found = world.raw_join()
    assert (found.member_epoch, found.heartbeat_interval_ms, found.acceptable_recovery_lag) == (2, 3000, 10_000)
    assert (found.task_offset_interval_ms, found.status, found.topology_description_required) == (60_000, [], False)
    assert (found.endpoint_information_epoch, found.partitions_by_user_endpoint) == (0, None)
    assert world.state() == ("Stable", 2, 2)


def test_quiet_streams_heartbeat_answers_null_lists() -> None:
    world = StreamsWorld()
    world.join()
    assert world.beat() == (2, None, None, [])
    assert world.confirm() == (2, None, None, [])
    assert world.beat(owned=({}, {})) == (2, None, None, [])
    assert world.join().active == {"0": [0, 1, 2, 3]}
    assert world.state() == ("Stable", 2, 2)


@for_each(
    "fields",
    [
        {"process_id": "q"},
        {"client_tags": [k88.KeyValue(key="zone", value="a")]},
        {"rack_id": "r"},
        {"user_endpoint": k88.Endpoint(host="h", port=1)},
        {"rebalance_timeout_ms": 1000},
        {"client": None},
        {"host": "/10.0.0.8"},
    ],
)
def test_change_in_a_dynamic_streams_member_raises_the_group_epoch(fields: dict[str, Any]) -> None:
    world = StreamsWorld()
    world.join()
    assert world.beat(**fields).epoch == 3
    assert world.beat(**fields).epoch == 3
    assert world.state() == ("Stable", 3, 3)


@for_each(
    "fields, bumps",
    [
        ({"process_id": "q"}, True),
        ({"client_tags": [k88.KeyValue(key="zone", value="a")]}, True),
        ({"rack_id": "r"}, True),
        ({"user_endpoint": k88.Endpoint(host="h", port=1)}, False),
        ({"rebalance_timeout_ms": 1000}, False),
        ({"client": "other"}, False),
    ],
)
def test_less_of_a_static_streams_member_raises_the_group_epoch(fields: dict[str, Any], bumps: bool) -> None:
    world = StreamsWorld()
    world.join(instance_id="i")
    assert world.beat(instance_id="i", **fields).epoch == (3 if bumps else 2)
    assert world.beat(client="third").epoch == (4 if bumps else 3), "without its instance id it counts as a dynamic one"


def test_reported_offsets_are_described_and_raise_nothing() -> None:
    world = StreamsWorld()
    world.join()
    offsets = [k88.TaskOffset(subtopology_id="z", partition=9, offset=1), k88.TaskOffset(subtopology_id="0", partition=1, offset=2)]
    assert world.beat(task_offsets=offsets).epoch == 2
    (group,) = world.described("g")
    assert [(each.subtopology_id, each.partition, each.offset) for each in group.members[0].task_offsets] == [("0", 1, 2), ("z", 9, 1)]
    world.beat(task_offsets=[])
    assert world.described("g")[0].members[0].task_offsets == []


def test_offsets_of_the_join_that_makes_the_group_are_gone_after_it() -> None:
    world = StreamsWorld()
    world.join(task_offsets=[k88.TaskOffset(subtopology_id="0", partition=1, offset=2)])
    assert world.described("g")[0].members[0].task_offsets == []


def test_offsets_of_a_static_member_that_returns_with_its_member_id_are_gone() -> None:
    world = StreamsWorld()
    world.join(instance_id="i")
    world.raw(instance_id="i", member_epoch=-2)
    world.join(instance_id="i", task_offsets=[k88.TaskOffset(subtopology_id="0", partition=1, offset=2)])
    assert world.described("g")[0].members[0].task_offsets == []


def test_a_negative_topology_epoch_is_an_error_in_a_group_too() -> None:
    """Kafka's code throws before it compares the topology with the group's."""
    world = StreamsWorld()
    world.join()
    for other in (topology(subtopology("0", "t"), epoch=-1), topology(subtopology("0", "u"), epoch=-1)):
        assert world.refused(world.raw_join("B", other)) == (-1, None)
    assert world.state() == ("Stable", 2, 2)


def _changelogs(world: StreamsWorld) -> list[int]:
    """Return the described numbers of partitions of the first subtopology's changelogs."""
    (group,) = world.described("g")
    assert group.topology is not None and group.topology.subtopologies is not None
    return [each.partitions for each in group.topology.subtopologies[0].state_changelog_topics]


def test_topology_is_described_as_sent_until_the_heartbeat_after_the_first() -> None:
    """Kafka forgets what the first heartbeat has made of the topology, and what a former coordinator has (seen on 4.4.0)."""
    world = _stateful(nodes=2)
    world.join(of=STATEFUL)
    assert (world.state(), _changelogs(world)) == (("Stable", 2, 2), [0])
    world.beat()
    assert _changelogs(world) == [4]
    world.command("move_coordinator", group="g", node=3 - world.node)
    world.sleep(1000)
    assert _changelogs(world) == [0]


def test_refused_heartbeat_lets_the_topology_be_described_with_the_present_topics() -> None:
    """Kafka configures the topology before it checks tasks and offsets (seen on 4.4.0)."""
    world = _stateful()
    world.join(of=STATEFUL)
    world.beat()
    world.topics.grow(world.turn(), "c", 5)
    twice = [k88.TaskOffset(subtopology_id="0", partition=1, offset=each) for each in (1, 2)]
    assert world.raw(member_epoch=2, task_offsets=twice).error_code == 42
    assert (world.state(), _changelogs(world)) == (("Stable", 2, 2), [0])


def test_tag_with_two_values_fails_after_the_member_was_checked() -> None:
    world = StreamsWorld(group_streams_max_size=1)
    world.join()
    tags = [k88.KeyValue(key="zone", value=each) for each in "ab"]
    assert world.refused(world.raw(member_epoch=2, client_tags=tags)) == (-1, None)
    assert world.raw_join("B", client_tags=tags).error_code == 81
    world.leave(client_tags=tags)


def test_stranger_shuts_down_an_empty_group_for_the_member_to_come() -> None:
    """Kafka notes the wish before it looks for the member (seen on 4.4.0)."""
    world = StreamsWorld()
    world.join()
    world.leave()
    assert world.raw(member_id="B", member_epoch=-1, shutdown_application=True).error_code == 25
    assert world.join().statuses == [4]


def test_a_group_without_members_is_empty_although_its_topics_are_missing() -> None:
    world = StreamsWorld()
    world.join(of=topology(subtopology("0", "nowhere")))
    assert world.state() == ("NotReady", 2, 2)
    world.leave()
    assert world.state() == ("Empty", 3, 3)


def test_a_topology_that_is_not_ready_is_described_sorted() -> None:
    world = StreamsWorld()
    world.join(of=topology(subtopology("10", "t"), subtopology("1", "t", "missing", sinks=["z", "y"], state=["d", "c"])))
    (group,) = world.described("g")
    assert group.topology is not None and group.topology.subtopologies is not None
    first, second = group.topology.subtopologies
    assert (first.subtopology_id, first.source_topics, first.repartition_sink_topics) == ("1", ["missing", "t"], ["y", "z"])
    assert [(each.name, each.partitions) for each in first.state_changelog_topics] == [("c", 0), ("d", 0)]
    assert second.subtopology_id == "10"


def test_leaving_streams_member_is_answered_with_little() -> None:
    world = StreamsWorld()
    world.join()
    found = world.raw(member_epoch=-1)
    assert (found.member_epoch, found.heartbeat_interval_ms, found.acceptable_recovery_lag, found.status) == (-1, 0, -1, [])
    assert world.state() == ("Empty", 3, 3)
    assert world.join("B").epoch == 4


def test_last_leave_of_the_former_release_leaves_the_assignment_epoch_behind() -> None:
    world = StreamsWorld(quirks=Quirks(emptied_group_keeps_assignment_epoch=True), group_streams_assignment_interval_ms=1000)
    world.join()
    world.leave()
    assert world.state() == ("Empty", 3, 2)
    assert world.join("B").statuses == [5]


def test_leave_is_noticed_by_the_next_heartbeat() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.beat("A")
    world.confirm("A")
    world.beat("B")
    assert world.state() == ("Stable", 3, 3)
    world.leave("A")
    assert world.state() == ("Assigning", 4, 3)
    assert world.confirm("B") == (4, {"0": [0, 1, 2, 3]}, {}, [])


def test_silent_streams_member_expires() -> None:
    world = StreamsWorld()
    world.join()
    world.sleep(SESSION_MS - 1)
    world.beat()
    world.sleep(SESSION_MS - 1)
    assert world.state()[0] == "Stable"
    world.sleep(1)
    assert world.state() == ("Empty", 3, 3)
    assert world.raw(member_epoch=2).error_code == 25


def test_streams_member_that_gives_nothing_up_is_removed_although_it_heartbeats() -> None:
    world = StreamsWorld()
    world.join(rebalance_timeout_ms=10_000)
    world.join("B")
    assert world.beat("A").active == {"0": [0, 1]}
    world.sleep(9_999)
    assert world.beat("A").epoch == 2
    world.sleep(1)
    assert world.raw(member_epoch=2).error_code == 25
    assert world.beat("B").active == {"0": [0, 1, 2, 3]}


def test_initial_delay_ends_with_a_target_that_no_heartbeat_computes() -> None:
    world = StreamsWorld(group_streams_initial_rebalance_delay_ms=3000)
    assert world.join() == (1, {}, {}, [5])
    assert world.join("B") == (1, {}, {}, [5])
    assert world.beat() == (1, None, None, [5])
    assert world.state() == ("Assigning", 3, 1)
    world.sleep(3000)
    assert world.state() == ("Reconciling", 3, 3)
    assert world.beat("A").epoch == 3
    assert world.beat("B").epoch == 3
    assert sorted(map(len, (world.owned["A"][0]["0"], world.owned["B"][0]["0"]))) == [2, 2]
    assert world.join("C").statuses == []


def test_emptied_streams_group_waits_anew_once_the_first_delay_is_over() -> None:
    """The delay of a group that is emptied within it goes on (seen on 4.4.0)."""
    world = StreamsWorld(group_streams_initial_rebalance_delay_ms=3000)
    world.join()
    world.sleep(2000)
    world.leave()
    assert world.join("B") == (3, {}, {}, [5])
    world.sleep(1000)
    assert world.beat("B") == (4, {"0": [0, 1, 2, 3]}, {}, [])
    world.leave("B")
    assert world.join("C") == (5, {}, {}, [5])
    world.sleep(2999)
    assert world.beat("C").statuses == [5]
    world.sleep(1)
    assert world.beat("C") == (6, {"0": [0, 1, 2, 3]}, {}, [])


def test_return_of_the_only_member_ends_the_wish_to_shut_down() -> None:
    """Kafka removes the former record of a static member before it writes the new one (seen on 4.4.0)."""
    world = StreamsWorld()
    world.join(instance_id="i")
    world.beat(shutdown_application=True)
    world.raw(instance_id="i", member_epoch=-2)
    assert world.join(instance_id="i").statuses == [4]
    assert world.beat().statuses == []


def test_assignment_interval_delays_every_streams_member() -> None:
    world = StreamsWorld(group_streams_assignment_interval_ms=1000)
    world.join()
    assert world.join("B") == (2, {}, {}, [5])
    assert world.beat("A") == (2, None, None, [5])
    world.sleep(1000)
    assert world.state() == ("Assigning", 3, 2)
    assert world.beat("B") == (3, None, None, [])


def test_shutdown_is_told_to_every_member_until_the_group_is_empty() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    told = world.raw(member_id="B", member_epoch=3, shutdown_application=True)
    text = "Streams group member B encountered a fatal error and requested a shutdown for the entire application."
    assert [(each.status_code, each.status_detail) for each in told.status] == [(4, text)]
    assert world.beat("A", shutdown_application=True).statuses == [4]
    assert world.raw_join("C").status[0].status_detail == text
    for member in "ABC":
        world.leave(member)
    assert world.join("D").statuses == []


def test_strangers_leave_shuts_the_application_down_all_the_same() -> None:
    world = StreamsWorld()
    world.join()
    assert world.raw(member_id="X", member_epoch=-1, shutdown_application=True).error_code == 25
    assert world.beat().statuses == [4]


def test_shutdown_with_the_join_that_makes_the_group_is_forgotten() -> None:
    world = StreamsWorld()
    assert world.join(shutdown_application=True).statuses == [4]
    assert world.beat().statuses == []


def test_streams_group_is_described_with_topology_and_members() -> None:
    world = _stateful()
    world.join(of=STATEFUL, user_endpoint=k88.Endpoint(host="h", port=9), rack_id="r", instance_id="i")
    world.beat()
    (group,) = world.described("g", include_topology_description=True)
    assert group.topology is not None and group.topology.subtopologies is not None
    assert (group.assignor_name, group.topology_description_status, group.topology_description) == ("sticky", 1, None)
    assert [(each.name, each.partitions) for each in group.topology.subtopologies[0].state_changelog_topics] == [("c", 4)]
    (member,) = group.members
    assert (member.instance_id, member.rack_id, member.process_id, member.is_classic) == ("i", "r", "p-A", False)
    assert member.user_endpoint is not None and (member.user_endpoint.host, member.user_endpoint.port) == ("h", 9)


def test_unknown_streams_groups_are_described_with_errors() -> None:
    world = StreamsWorld()
    world.join()
    found = [(each.group_id, each.error_code, each.error_message) for each in world.described("no", "", "g")]
    assert found[0] == ("", 24, None)
    assert set(found[1:]) == {("no", 69, "Group no not found."), ("g", 0, None)}


def test_stale_topology_is_let_in_and_a_different_one_is_refused() -> None:
    world = StreamsWorld()
    world.join(of=topology(subtopology("0", "t"), epoch=2))
    for epoch in (2, 3):
        other = world.raw_join("B", topology(subtopology("0", "u"), epoch=epoch))
        assert world.refused(other) == (42, "Topology updates are not supported yet.")
    assert world.refused(world.raw_join("B", topology(subtopology("0", "t"), epoch=3)))[0] == 42
    told = world.raw_join("B", topology(subtopology("0", "u"), epoch=1))
    text = "The member's topology epoch 1 is behind the group's topology epoch 2."
    assert [(each.status_code, each.status_detail) for each in told.status] == [(0, text)]
    world.epochs["B"] = told.member_epoch
    assert world.beat("B").statuses == [0]
    world.beat("A")
    world.confirm("A")
    assert world.beat("B") == (3, {"0": [2, 3]}, {}, [0])


def test_topology_stays_with_an_empty_group_until_it_is_deleted() -> None:
    world = StreamsWorld()
    world.join()
    world.leave()
    assert world.raw_join("B", topology(subtopology("0", "u"))).error_code == 42
    assert world.join("B", PLAIN).epoch == 4


def test_missing_rack_aware_tags_are_told_until_the_member_has_them() -> None:
    world = StreamsWorld()
    world.join()
    world.command("configure_group", group="g", set={"streams.rack.aware.assignment.tags": "zone,dc"})
    told = world.raw(member_epoch=2)
    missing = "Missing required client tags for rack-aware standby assignment: [zone, dc]."
    text = f"{missing} Configure them via 'client.tag.<tagKey>' in your Streams config."
    assert (told.member_epoch, [(each.status_code, each.status_detail) for each in told.status]) == (3, [(6, text)])
    assert world.raw(member_epoch=3, version=0).status == []
    tags = [k88.KeyValue(key=key, value="1") for key in ("dc", "zone")]
    world.epochs["A"] = 3
    assert world.beat(client_tags=tags) == (4, None, None, [])


def test_held_streams_group_lets_joins_and_expiries_wait() -> None:
    world = StreamsWorld()
    world.join()
    world.command("hold_group", group="g", state="Stable")
    sent = len(world.answers)
    assert world.beat() == (2, None, None, [])
    for waits in (world.raw_join, lambda: world.raw(member_epoch=2, process_id="q"), lambda: world.raw(member_epoch=-1)):
        with pytest.raises(KeyError):
            waits()
    world.sleep(SESSION_MS)
    assert (len(world.answers), world.state()) == (sent + 1, ("Stable", 2, 2))
    world.command("release_group", group="g")
    assert world.state()[0] == "Empty"


def test_frozen_streams_member_waits_and_another_one_expires_by_command() -> None:
    world = StreamsWorld()
    world.join()
    world.join("B")
    world.command("freeze_member", group="g", member="A")
    with pytest.raises(KeyError):
        world.raw(member_epoch=2)
    world.command("expire_member", group="g", member="B")
    assert world.state() == ("Assigning", 4, 3)
    world.command("thaw_member", group="g", member="A")
    assert world.state() == ("Stable", 4, 4)
