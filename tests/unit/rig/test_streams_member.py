"""A streams group member without IO says everything in joining, and later its tasks if the script passes them."""

from __future__ import annotations

from groupmock.rig.streams_member import StreamsMember, task_ids, tasks_of
from groupmock_codec.error_codes import FENCED_MEMBER_EPOCH
from groupmock_codec.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatResponse, Subtopology, TaskIds, TaskOffset, Topology

TOPOLOGY = Topology(0, [Subtopology("0", ["orders"])])
OWNED, STANDBY = [TaskIds("0", [1, 2])], [TaskIds("1", [0])]
TOLD = StreamsGroupHeartbeatResponse(member_epoch=3, active_tasks=OWNED, standby_tasks=STANDBY, warmup_tasks=[])


def joined() -> StreamsMember:
    member = StreamsMember("g", "m", topology=TOPOLOGY, process_id="p", task_offsets={("0", 1): 7})
    assert member.told(TOLD) == 0
    return member


def test_a_streams_member_that_joins_says_everything() -> None:
    joins = StreamsMember("g", "m", topology=TOPOLOGY, process_id="p", task_offsets={("0", 1): 7}).heartbeat_request()
    assert (joins.member_epoch, joins.topology, joins.process_id, joins.endpoint_information_epoch) == (0, TOPOLOGY, "p", -1)
    assert (joins.active_tasks, joins.standby_tasks, joins.warmup_tasks, joins.client_tags) == ([], [], [], [])
    assert joins.task_offsets == [TaskOffset("0", 1, 7)]


def test_a_streams_member_says_later_what_it_owns_or_nothing() -> None:
    member = joined()
    assert sorted(member.active or ()) == [("0", 1), ("0", 2)]
    assert sorted(member.standby or ()) == [("1", 0)]
    quiet = member.heartbeat_request()
    assert (quiet.member_epoch, quiet.topology, quiet.active_tasks, quiet.process_id) == (3, None, None, None)
    says = member.heartbeat_request(member.active, member.standby)
    assert (says.active_tasks, says.standby_tasks, says.warmup_tasks) == (OWNED, STANDBY, [])
    assert tasks_of(task_ids({("1", 3), ("0", 5)})) == {("0", 5), ("1", 3)}


def test_a_streams_member_leaves_for_good_or_for_a_while_and_joins_again_when_it_is_fenced() -> None:
    member = joined()
    assert [member.leave_request(away).member_epoch for away in (False, True)] == [-1, -2]
    assert member.told(StreamsGroupHeartbeatResponse(error_code=FENCED_MEMBER_EPOCH)) == FENCED_MEMBER_EPOCH
    assert member.epoch == 3
    member.forget()
    assert (member.active, member.heartbeat_request().topology) == (None, TOPOLOGY)


def test_a_streams_member_commits_and_fetches_offsets_in_its_epoch() -> None:
    member = joined()
    commit = member.commit_request({("orders", 1): 5})
    assert (commit.generation_id_or_member_epoch, commit.member_id, commit.topics[0].name) == (3, "m", "orders")
    asked = member.offsets_request([("orders", 1)]).groups[0]
    assert (asked.member_epoch, asked.member_id) == (3, "m")
    assert asked.topics is not None and asked.topics[0].partition_indexes == [1]
