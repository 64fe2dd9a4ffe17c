"""A classic member without IO derives its requests from the answers that it has received."""

from __future__ import annotations

from groupmock.rig.classic_member import ClassicMember, dealt_in_turn
from groupmock_codec.embedded.consumer import Subscription, decode_assignment, encode_subscription
from groupmock_codec.error_codes import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS
from groupmock_codec.messages.k11_join_group import JoinGroupResponse, JoinGroupResponseMember
from groupmock_codec.messages.k13_leave_group import MemberIdentity


def joined(member: ClassicMember, generation: int = 1) -> int:
    members = [JoinGroupResponseMember(member_id="a", metadata=encode_subscription(Subscription(version=0, topics=["t"])))]
    answer = JoinGroupResponse(member_id="a", leader="a", generation_id=generation, protocol_name="range", members=members)
    return member.joined(answer)


def test_a_member_asks_again_with_the_id_that_it_is_given() -> None:
    member = ClassicMember("g", topics=["t"])
    assert member.join_request().member_id == ""
    assert member.joined(JoinGroupResponse(error_code=MEMBER_ID_REQUIRED, member_id="a")) == MEMBER_ID_REQUIRED
    assert (member.join_request().member_id, member.generation, member.leads) == ("a", -1, False)


def test_a_member_speaks_in_the_generation_that_it_was_told() -> None:
    member = ClassicMember("g", topics=["t"], instance_id="i")
    assert joined(member, 7) == 0
    sync, beat, commit = member.sync_request({"a": b"x"}), member.heartbeat_request(), member.commit_request({("t", 1): 5, ("t", 0): 6})
    assert [(each.generation_id, each.member_id, each.group_instance_id) for each in (sync, beat)] == [(7, "a", "i")] * 2
    assert (sync.protocol_name, [(each.member_id, each.assignment) for each in sync.assignments]) == ("range", [("a", b"x")])
    assert commit.generation_id_or_member_epoch == 7
    assert [(each.partition_index, each.committed_offset) for each in commit.topics[0].partitions] == [(1, 5), (0, 6)]
    assert member.commit_request({}, generation=6).generation_id_or_member_epoch == 6
    assert member.leave_request("done").members == [MemberIdentity(member_id="a", group_instance_id="i", reason="done")]


def test_a_leader_that_is_told_to_skip_the_assignment_does_not_assign() -> None:
    member = ClassicMember("g", topics=["t"], instance_id="i")
    member.joined(JoinGroupResponse(member_id="a", leader="a", generation_id=1, protocol_name="range", skip_assignment=True))
    assert (member.leads, member.assigns) == (True, False)
    joined(member, 2)
    assert (member.leads, member.assigns) == (True, True)


def test_a_refused_join_changes_nothing_and_a_forgotten_member_is_new() -> None:
    member = ClassicMember("g")
    joined(member)
    assert member.joined(JoinGroupResponse(error_code=REBALANCE_IN_PROGRESS)) == REBALANCE_IN_PROGRESS
    assert (member.member_id, member.generation) == ("a", 1)
    member.forget()
    assert (member.member_id, member.generation) == ("", -1)


def test_partitions_are_dealt_in_turn_to_who_subscribes_to_them() -> None:
    topics = {"a": ["t", "u"], "b": ["t"], "c": ["none"]}
    told = [
        JoinGroupResponseMember(member_id=name, metadata=encode_subscription(Subscription(version=0, topics=wanted)))
        for name, wanted in topics.items()
    ]
    plan = dealt_in_turn(told, {"t": 3, "u": 1}.get)
    found = {name: [(each.topic, each.partitions) for each in decode_assignment(data).assigned_partitions] for name, data in plan.items()}
    assert found == {"a": [("t", [0]), ("t", [2]), ("u", [0])], "b": [("t", [1])], "c": []}
