"""Epochs of a share group over its life: partitions that are initialised, topics that change, sessions, views, moves of the coordinator."""

from __future__ import annotations

from typing import Any

from share_world import ShareWorld, Told

from groupmock.core.effects import MemberChanged, Moved, Reply
from groupmock.core.settings import Quirks
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest
from groupmock_codec.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest

ALL = {"t": [0, 1, 2, 3]}


def starts(world: ShareWorld, topic: str = "t") -> list[tuple[int, int]]:
    """Return state epoch and start offset of each stored share partition of a topic."""
    topic_id = world.topic_id(topic)
    found = [world.cluster.shares.stored("g", topic_id, index) for index in range(world.cluster.topics.partitions(topic) or 0)]
    return [(each.state_epoch, each.start_offset) for each in found if each is not None]


def test_partitions_are_initialised_with_the_epoch_of_the_join() -> None:
    world = ShareWorld()
    world.join()
    assert starts(world) == []
    world.sleep(1)
    assert starts(world) == [(2, -1)] * 4
    assert world.cluster.topics.partitions("__share_group_state") == 50
    (note,) = world.notes("share_initialized")
    assert note == {"group": "g", "topic": "t", "partitions": [0, 1, 2, 3], "start_offset": -1}


def test_added_partitions_start_at_zero_after_one_more_bump() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    world.cluster.topics.grow(world.turn(), "t", 5)
    assert world.beat() == Told(4, None), "the metadata changed, but partition 4 is not initialised"
    world.sleep(1)
    assert world.beat() == Told(5, {"t": [0, 1, 2, 3, 4]})
    assert starts(world) == [(2, -1)] * 4 + [(4, 0)]


def test_added_partitions_of_4_3_begin_as_the_reset_setting_says() -> None:
    world = ShareWorld(quirks=Quirks(added_share_partitions_reset=True))
    world.join()
    world.settle("A")
    world.cluster.topics.grow(world.turn(), "t", 5)
    world.beat()
    world.sleep(1)
    assert starts(world)[4] == (4, -1)


def test_a_deleted_topic_goes_with_the_next_heartbeat_and_may_come_back() -> None:
    world = ShareWorld()
    world.join("A", "t", "u")
    world.settle("A")
    world.cluster.topics.delete(world.turn(), "u")
    assert world.offsets() == {"t": dict.fromkeys(range(4), (-1, 0, -1))}
    assert set(world.share_group.initialized) == {world.topic_id("t")}
    assert world.beat() == Told(4, ALL)
    world.topic("u", 1)
    assert world.beat() == Told(5, None)
    world.sleep(1)
    assert world.beat() == Told(6, {**ALL, "u": [0]})


def test_the_assignment_interval_delays_targets_of_joins_and_leaves() -> None:
    world = ShareWorld(group_share_assignment_interval_ms=1000)
    world.join()
    world.sleep(1000)
    assert world.beat() == Told(3, ALL)
    world.sleep(999)
    assert world.join("B") == Told(3, {}), "the last target is too young"
    assert world.state()[:3] == ("Stable", 4, 3)
    world.sleep(1)
    assert world.beat() == Told(4, {"t": [2, 3]}), "the first heartbeat of anybody computes"
    world.leave("B")
    assert world.beat() == Told(4, None)
    world.sleep(1000)
    assert world.beat() == Told(5, ALL)


def test_names_that_are_not_given_any_more_leave_within_the_interval_too() -> None:
    world = ShareWorld(group_share_assignment_interval_ms=1000)
    world.join("A", "t", "u")
    world.sleep(1000)
    assert world.beat() == Told(3, {**ALL, "u": [0, 1]})
    assert world.beat(subscribed_topic_names=["u"]) == Told(3, {"u": [0, 1]}), "the target still has both topics"


def test_a_silent_member_expires_and_its_partitions_wait_for_the_next_heartbeat() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    world.join("B")
    world.sleep(29_000)
    world.beat("B")
    world.sleep(2000)
    assert world.state() == ("Stable", 5, 4, {"B": (4, {"t": [0, 1]})})
    assert world.beat("B") == Told(5, ALL)
    world.sleep(30_001)
    assert world.state() == ("Empty", 6, 6, {})


def test_an_emptied_group_goes_on_from_its_epoch() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    world.leave()
    assert world.state() == ("Empty", 4, 4, {})
    assert world.join("B") == Told(5, ALL), "its partitions are still initialised"


def test_an_emptied_group_of_4_3_keeps_its_assignment_epoch() -> None:
    world = ShareWorld(quirks=Quirks(emptied_group_keeps_assignment_epoch=True))
    world.join()
    world.leave()
    assert world.state() == ("Empty", 3, 2, {})


def test_groups_are_described_with_kafkas_texts() -> None:
    world = ShareWorld()
    world.join("A", "t", "u", rack_id="r1")
    world.settle("A")
    found = world.described("", "g", "none", "g", "")
    assert [(each.group_id, each.error_code, each.error_message) for each in found[:2]] == [("", 24, None)] * 2
    told = sorted((each.group_id, each.error_code, each.error_message, each.group_state) for each in found[2:])
    assert told == [("g", 0, None, "Stable"), ("g", 0, None, "Stable"), ("none", 69, "Group none not found.", "")]
    (group,) = world.described("g")
    assert (group.assignor_name, group.authorized_operations) == ("simple", -(2**31))
    (member,) = group.members
    assert (member.member_id, member.rack_id, member.client_id, member.client_host) == ("A", "r1", "c", "/10.0.0.7")
    assert sorted(member.subscribed_topic_names) == ["t", "u"]


def test_other_apis_see_a_share_group_as_kafkas_do() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    (old,) = world.ask(15, 5, DescribeGroupsRequest(groups=["g"])).groups
    (new,) = world.ask(15, 6, DescribeGroupsRequest(groups=["g"])).groups
    assert (old.error_code, old.group_state) == (0, "Dead")
    assert (new.error_code, new.error_message, new.group_state) == (69, "Group g is not a classic group.", "Dead")
    (consumers,) = world.ask(69, 1, ConsumerGroupDescribeRequest(group_ids=["g"])).groups
    assert (consumers.error_code, consumers.error_message) == (69, "Group g is not a consumer group.")
    listed = world.ask(16, 5, ListGroupsRequest(states_filter=["STABLE"], types_filter=["Share"])).groups
    assert [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in listed] == [
        ("g", "share", "Stable", "share")
    ]
    entries = [MemberIdentity(member_id="A")]
    left = world.ask(13, 5, LeaveGroupRequest(group_id="g", members=entries))
    assert (left.error_code, [each.error_code for each in left.members]) == (0, [25])
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    commit = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])
    assert world.ask(8, 8, commit).topics[0].partitions[0].error_code == 69
    assert world.ask(47, 0, OffsetDeleteRequest(group_id="g")).error_code == 69
    wanted = OffsetFetchRequestGroup(group_id="g", member_id="x", member_epoch=9, topics=None)
    (fetched,) = world.ask(9, 9, OffsetFetchRequest(groups=[wanted])).groups
    assert (fetched.error_code, fetched.topics) == (0, [])


def test_a_group_without_members_is_deleted_with_its_stored_states() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")

    def delete() -> int:
        (found,) = world.ask(42, 2, DeleteGroupsRequest(groups_names=["g"])).results
        code: int = found.error_code
        return code

    assert delete() == 68
    world.leave()
    assert delete() == 0
    assert (starts(world), delete()) == ([], 69)
    assert world.join() == Told(2, {}), "the name begins anew"


def test_a_share_group_lives_on_where_its_coordinator_has_moved() -> None:
    world = ShareWorld(nodes=2)
    world.join()
    world.settle("A")
    world.join("B")
    before, node = world.state(), world.node
    hosting, partition = world.cluster.groups.hosting, world.share_group.partition
    hosting.load(world.turn(), partition, 3 - node, 0)
    assert world.node == 3 - node
    assert world.state() == before
    assert starts(world) == [(2, -1)] * 4
    assert world.beat() == Told(4, {"t": [2, 3]})
    world.share_group.invariants()


def test_rows_tell_what_moved_the_group_and_why() -> None:
    world = ShareWorld()
    world.join()
    world.settle("A")
    world.beat(subscribed_topic_names=["t", "u"])
    world.leave()
    moves = [(each.after, each.generation, each.cause) for each in world.effects if isinstance(each, Moved)]
    assert moves == [
        ("Empty", 1, "group_created"),
        ("Stable", 2, "member_joined"),
        ("Stable", 3, "partitions_initialized"),
        ("Stable", 4, "member_changed"),
        ("Empty", 5, "member_left"),
    ]
    members = [(each.what, each.reason) for each in world.effects if isinstance(each, MemberChanged)]
    assert members[1:3] == [
        ("reconciled", "member A is at epoch 2 with nothing"),
        ("reconciled", "member A is at epoch 3 with t/0, t/1, t/2, t/3"),
    ]


def test_a_heartbeat_that_changes_nothing_may_be_repeated_until_something_does() -> None:
    world = ShareWorld()

    def leased(**fields: Any) -> bool:
        world.beat(**fields)
        lease = world.rig.of(Reply)[-1].lease
        return lease is not None and lease.epoch == lease.group.epoch

    world.join()
    assert leased(), "the background may take as long as it wants"
    lease = world.rig.of(Reply)[-1].lease
    assert lease is not None
    world.sleep(1)
    assert lease.epoch != lease.group.epoch, "the initialised partitions make a new target"
    assert not leased()
    assert leased()
    world.join("B")
    assert not leased()
    assert leased()
    world.topic("v")
    assert leased(), "nobody subscribes to the topic"
    world.cluster.topics.grow(world.turn(), "t", 6)
    assert not leased()


def test_a_members_session_can_be_ended_by_command() -> None:
    world = ShareWorld()
    world.join()
    world.rig.command("expire_member", group="g", member="A")
    assert world.state() == ("Empty", 3, 3, {})


def test_a_groups_own_settings_hold_for_its_members() -> None:
    world = ShareWorld(group_share_session_timeout_ms=45_000, group_share_heartbeat_interval_ms=5000)
    configs = world.cluster.groups.configs
    configs.own["g"] = {"share.session.timeout.ms": "50000", "share.heartbeat.interval.ms": "7000"}
    assert world.raw(subscribed_topic_names=["t"]).heartbeat_interval_ms == 7000
    assert world.raw(group_id="h", subscribed_topic_names=["t"]).heartbeat_interval_ms == 5000
    world.sleep(45_001)
    assert world.state()[0] == "Stable"
    world.sleep(5000)
    assert world.state()[0] == "Empty"
