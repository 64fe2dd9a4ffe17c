"""ShareGroupHeartbeat: what is refused and with which text, epochs, and which answers have an assignment (SG-10 to SG-42)."""

from __future__ import annotations

from typing import Any

from cases import for_each
from share_world import ShareWorld, Told

from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

ALL = {"t": [0, 1, 2, 3]}
FENCED = "The member must abandon all its partitions and rejoin."


@for_each(
    "fields, code, text",
    [
        ({"member_id": ""}, 42, None),
        ({"member_id": "m" * 37}, 42, None),
        ({"member_id": "\U0001f600" * 19}, 42, None),
        ({"member_id": " "}, 42, "MemberId can't be empty."),
        ({"member_id": "", "group_id": ""}, 42, None),
        ({"group_id": ""}, 42, "GroupId can't be empty."),
        ({"group_id": "  ", "rack_id": ""}, 42, "GroupId can't be empty."),
        ({"rack_id": ""}, 42, "RackId can't be empty."),
        ({"rack_id": " ", "member_epoch": -7}, 42, "RackId can't be empty."),
        ({}, 42, "SubscribedTopicNames must be set in first request."),
        ({"subscribed_topic_names": []}, 42, "SubscribedTopicNames must be set in first request."),
        ({"member_epoch": -2, "subscribed_topic_names": ["t"]}, 42, "MemberEpoch is invalid."),
        ({"member_epoch": 9}, 69, "Share group g not found."),
        ({"member_epoch": -1}, 69, "Group g not found."),
    ],
    ids=str,
)
def test_a_heartbeat_is_refused_before_there_is_a_group(fields: dict[str, Any], code: int, text: str | None) -> None:
    world = ShareWorld()
    assert world.refused(**fields) == (code, text)
    assert world.cluster.groups.find("g") is None, "a refused heartbeat makes no group"


@for_each("member_id", ["m" * 36, "a b", "ä,ö", "\U0001f600" * 18])
def test_other_texts_of_up_to_36_units_are_member_ids(member_id: str) -> None:
    world = ShareWorld()
    assert world.join(member_id) == Told(2, {})


def test_the_first_join_brings_nothing_and_the_next_heartbeat_everything() -> None:
    world = ShareWorld()
    assert world.join() == Told(2, {})
    assert world.state() == ("Stable", 2, 2, {"A": (2, {})})
    assert world.beat() == Told(2, None), "the background has not begun"
    world.sleep(1)
    assert world.beat() == Told(3, ALL)
    assert world.beat() == Told(3, None)
    assert world.state() == ("Stable", 3, 3, {"A": (3, ALL)})


def test_an_answer_has_the_assignment_if_names_are_given_or_it_changed() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    assert world.beat(rack_id="r").has is None
    assert world.beat(subscribed_topic_names=["t"]) == Told(3, ALL)
    assert world.beat(subscribed_topic_names=["t", "t"]) == Told(3, ALL), "doubled names are the same names"
    assert world.join() == Told(3, ALL), "a member that joins again gets all of it at once"
    assert world.described("g")[0].members[0].rack_id == "r"


def test_epochs_are_checked_and_a_lost_answer_is_forgiven() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    greater = f"The share group member has a greater member epoch (4) than the one known by the group coordinator (3). {FENCED}"
    assert world.refused(member_epoch=4) == (110, greater)
    assert world.beat(member_epoch=2) == Told(3, None)
    world.beat(subscribed_topic_names=["t", "u"])
    smaller = (
        "The share group member has a smaller member epoch (2) than the one known by the group coordinator (4), and it does not match the "
        f"previous member epoch (3). {FENCED}"
    )
    assert world.refused(member_epoch=2) == (110, smaller)
    assert world.refused(member_id="B", member_epoch=3) == (25, "Member B is not a member of group g.")
    assert world.refused(member_id="B", member_epoch=-1) == (25, "Member B is not a member of group g.")


def test_a_refused_heartbeat_does_not_renew_the_session() -> None:
    world = ShareWorld()
    world.join()
    world.sleep(20_000)
    world.refused(member_epoch=9)
    world.sleep(10_001)
    assert world.refused(member_epoch=2) == (25, "Member A is not a member of group g.")
    assert world.state()[0] == "Empty"


def test_a_full_group_refuses_strangers_whatever_their_epoch_is() -> None:
    world = ShareWorld(group_share_max_size=1)
    world.join()
    text = "The share group has reached its maximum capacity of 1 members."
    for epoch in (0, 5):
        assert world.refused(member_id="B", member_epoch=epoch, subscribed_topic_names=["t"]) == (81, text)
    assert world.join() == Told(2, {})
    assert world.refused(member_id="B", member_epoch=-1) == (25, "Member B is not a member of group g.")


def test_a_second_member_gets_its_share_in_the_answer_of_its_join() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    assert world.join("B") == Told(4, {"t": [0, 1]})
    assert world.state()[3]["A"] == (3, ALL), "the others stay where they are until their next heartbeat"
    assert world.beat() == Told(4, {"t": [2, 3]})


def test_names_that_are_no_longer_given_leave_at_once() -> None:
    world = ShareWorld()
    world.join("A", "t", "u")
    world.settle("A")
    assert world.beat(subscribed_topic_names=["u"]) == Told(4, {"u": [0, 1]})
    assert world.beat(subscribed_topic_names=["u", "t"]) == Told(5, {"u": [0, 1], **ALL}), "the partitions of t are initialised"
    assert world.beat(subscribed_topic_names=[]) == Told(6, {})
    assert world.state()[:3] == ("Stable", 6, 6)


def test_unknown_names_are_no_error_and_count_once_the_topic_is_made() -> None:
    world = ShareWorld()
    assert world.join("A", "later", "x" * 300, "a b") == Told(2, {})
    world.sleep(1)
    assert world.beat() == Told(2, None)
    world.topic("later", 1)
    assert world.beat() == Told(3, None), "one bump for the metadata"
    world.sleep(1)
    assert world.beat() == Told(4, {"later": [0]}), "and one when the partition is initialised"


def test_groups_of_other_types_are_refused_in_both_directions() -> None:
    world = ShareWorld()
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")]
    join = JoinGroupRequest(group_id="classic", session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols)
    world.send(11, 3, join)
    consumer = ConsumerGroupHeartbeatRequest("consumer", "m", rebalance_timeout_ms=9000, topic_partitions=[])
    consumer.subscribed_topic_names = ["t"]
    world.ask(68, 1, consumer)
    for group in ("classic", "consumer"):
        for epoch in (0, 3, -1):
            text = f"Group {group} is not a share group."
            assert world.refused(group_id=group, member_epoch=epoch, subscribed_topic_names=["t"]) == (69, text)
    world.join()
    for state in ("Stable", "Empty"):
        assert world.state()[0] == state
        for epoch in (0, 2, -1):
            consumer = ConsumerGroupHeartbeatRequest(
                "g", "m", epoch, rebalance_timeout_ms=9000, subscribed_topic_names=["t"], topic_partitions=[]
            )
            found = world.ask(68, 1, consumer)
            assert (found.error_code, found.error_message) == (69, "Group g is not a consumer group.")
        for member_id in ("", "m"):
            join = JoinGroupRequest("g", 10_000, 10_000, member_id, None, "consumer", protocols)
            found = world.ask(11, 9, join)
            assert (found.error_code, found.member_id) == (23, "")
        if state == "Stable":
            world.leave()
