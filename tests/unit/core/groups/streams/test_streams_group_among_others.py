"""Streams groups among groups of other types: refusals in both directions, deletion, offsets, endpoints and moves (ST-130 to ST-138,
ST-180, ST-181, ST-190 to ST-198, ST-240)."""

from __future__ import annotations

from typing import Any, Final

from cases import for_each
from streams_world import PLAIN, SESSION_MS, StreamsWorld, subtopology, tasks, topology

from groupmock.core.settings import Quirks
from groupmock_codec.messages import k88_streams_group_heartbeat as k88
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k16_list_groups import ListGroupsRequest
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from groupmock_codec.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from groupmock_codec.messages.k76_share_group_heartbeat import ShareGroupHeartbeatRequest
from groupmock_codec.messages.k93_streams_group_topology_description_update import StreamsGroupTopologyDescriptionUpdateRequest

HERE: Final = k88.Endpoint(host="a", port=1)
THERE: Final = k88.Endpoint(host="b", port=2)


def _ask(world: StreamsWorld, key: int, version: int, message: Any) -> Any:
    return world.answers[world.rig.send(key, version, message, node=world.node).ticket]


def _join_classic(world: StreamsWorld, member: str = "", instance: str | None = None) -> Any:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    request = JoinGroupRequest(
        group_id="g", member_id=member, group_instance_id=instance, session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols
    )
    return _ask(world, 11, 9, request)


def test_other_protocols_are_refused_by_a_streams_group_with_members() -> None:
    world = StreamsWorld()
    world.join()
    assert [(_join_classic(world, *each).error_code, _join_classic(world, *each).generation_id) for each in ((), ("x",), ("", "i"))] == [
        (23, -1),
        (23, -1),
        (23, -1),
    ]
    assert _ask(world, 12, 4, HeartbeatRequest(group_id="g", generation_id=1, member_id="A")).error_code == 25
    assert _ask(world, 14, 4, SyncGroupRequest(group_id="g", generation_id=1, member_id="A")).error_code == 25
    left = _ask(world, 13, 5, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="A")]))
    assert (left.error_code, left.members[0].error_code) == (0, 25)
    _refuse_other_heartbeats(world)


def _refuse_other_heartbeats(world: StreamsWorld) -> None:
    consumer = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="x", rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[]
    )
    for epoch in (0, 1):
        consumer.member_epoch = epoch
        found = _ask(world, 68, 1, consumer)
        if epoch:
            consumer.topic_partitions = None
        assert (found.error_code, found.error_message) == (69, "Group g is not a consumer group.")
    found = _ask(world, 76, 1, ShareGroupHeartbeatRequest(group_id="g", member_id="x", subscribed_topic_names=["t"]))
    assert (found.error_code, found.error_message) == (69, "Group g is not a share group.")


def test_empty_streams_group_becomes_a_classic_one_by_a_join_without_id() -> None:
    world = StreamsWorld()
    world.join()
    world.leave()
    _refuse_other_heartbeats(world)
    assert _join_classic(world, "invented").error_code == 25
    assert world.state()[0] == "Empty"
    world.join()
    world.leave()
    assert _join_classic(world).error_code == 79
    (listed,) = _ask(world, 16, 5, ListGroupsRequest()).groups
    assert (listed.group_type, listed.protocol_type, listed.group_state) == ("classic", "", "Empty")


def test_streams_join_replaces_only_an_empty_classic_group() -> None:
    world = StreamsWorld()
    _join_classic(world)
    assert world.join().epoch == 2
    for kind, key, message in (
        ("c", 68, ConsumerGroupHeartbeatRequest(rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[])),
        ("s", 76, ShareGroupHeartbeatRequest(subscribed_topic_names=["t"])),
    ):
        message.group_id, message.member_id = kind, "x"
        assert _ask(world, key, 1, message).error_code == 0
        for epoch in (0, -1):
            message.member_epoch = epoch
            _ask(world, key, 1, message)
            refused = world.refused(world.raw_join(group_id=kind))
            assert refused == (69, f"Group {kind} is not a streams group.")


def test_classic_and_consumer_describe_do_not_know_streams_groups() -> None:
    world = StreamsWorld()
    world.join()
    (classic,) = _ask(world, 15, 6, DescribeGroupsRequest(groups=["g"])).groups
    assert (classic.error_code, classic.error_message, classic.group_state) == (69, "Group g is not a classic group.", "Dead")
    assert _ask(world, 15, 5, DescribeGroupsRequest(groups=["g"])).groups[0].group_state == "Dead"
    (consumer,) = _ask(world, 69, 1, ConsumerGroupDescribeRequest(group_ids=["g"])).groups
    assert consumer.error_message == "Group g is not a consumer group."


@for_each("state, shown", [("not_ready", True), ("NOT_READY", True), ("NotReady", False), ("stable", False)])
def test_filter_for_streams_groups_that_are_not_ready_has_another_name(state: str, shown: bool) -> None:
    world = StreamsWorld()
    world.join(of=topology(subtopology("0", "nowhere")))
    found = [each.group_state for each in _ask(world, 16, 5, ListGroupsRequest(states_filter=[state])).groups]
    assert found == (["NotReady"] if shown else [])


def test_streams_group_is_deleted_with_its_topology() -> None:
    world = StreamsWorld()
    world.join()
    deleted = DeleteGroupsRequest(groups_names=["g"])
    assert _ask(world, 42, 2, deleted).results[0].error_code == 68
    world.leave()
    assert _ask(world, 42, 2, deleted).results[0].error_code == 0
    assert _ask(world, 42, 2, deleted).results[0].error_code == 69
    assert world.join(of=topology(subtopology("0", "u"))).epoch == 2


def test_offsets_of_topics_that_a_streams_group_reads_are_kept() -> None:
    world = StreamsWorld()
    world.join()

    def delete(topic: str) -> int:
        wanted = OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        found = _ask(world, 47, 0, OffsetDeleteRequest(group_id="g", topics=[wanted]))
        code: int = found.topics[0].partitions[0].error_code
        return code

    assert (delete("t"), delete("u")) == (86, 0)
    world.leave()
    assert delete("t") == 0


def test_description_of_a_topology_needs_a_plugin() -> None:
    world = StreamsWorld()
    found = _ask(world, 93, 0, StreamsGroupTopologyDescriptionUpdateRequest())
    assert (found.error_code, found.error_message) == (35, "The broker has no streams group topology description plugin configured.")


def test_endpoint_table_follows_endpoints_and_tasks() -> None:
    world = StreamsWorld()
    first = world.raw_join(user_endpoint=HERE, endpoint_information_epoch=-1)
    assert first.endpoint_information_epoch == 0
    assert _table(first) == {"a": ({"t": [0, 1, 2, 3]}, {})}
    world.epochs["A"] = 2
    second = world.raw_join("B", user_endpoint=THERE)
    assert (second.endpoint_information_epoch, list(_table(second))) == (1, ["a", "b"])
    gives = world.raw(member_epoch=2, endpoint_information_epoch=1)
    assert (gives.endpoint_information_epoch, list(_table(gives))) == (2, ["b", "a"])
    assert world.raw(member_epoch=2, endpoint_information_epoch=2).partitions_by_user_endpoint is None
    assert list(_table(world.raw(member_epoch=2, endpoint_information_epoch=9))) == ["b", "a"]


def test_endpoint_epoch_of_the_first_join_is_answered_in_the_place_of_a_classic_group() -> None:
    """Kafka leaves the epoch out of the answer if no group has the id yet (seen on 4.4.0)."""
    world = StreamsWorld()
    committed = OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=1)])
    _ask(world, 8, 7, OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=[committed]))
    assert world.raw_join(user_endpoint=HERE, endpoint_information_epoch=-1).endpoint_information_epoch == 1
    assert world.raw(member_epoch=2, endpoint_information_epoch=-1).endpoint_information_epoch == 0


def _table(found: Any) -> dict[str, Any]:
    return {
        each.user_endpoint.host: tuple(
            {topic.topic: list(topic.partitions) for topic in topics} for topics in (each.active_partitions, each.standby_partitions)
        )
        for each in found.partitions_by_user_endpoint
    }


def test_endpoint_with_missing_sources_fails_the_join() -> None:
    world = StreamsWorld()
    missing = topology(subtopology("0", "nowhere"))
    assert world.refused(world.raw_join(of=missing, user_endpoint=HERE)) == (-1, None)
    assert world.cluster.groups.find("g") is None
    internal = world.raw_join(of=topology(subtopology("0", "t", state=["c"])), user_endpoint=HERE, endpoint_information_epoch=-1)
    assert _table(internal) == {"a": ({}, {})}


def test_another_endpoint_alone_tells_nobody_in_the_former_release() -> None:
    for quirks, epoch in ((Quirks(), 1), (Quirks(streams_endpoints_follow_tasks=True), 0)):
        world = StreamsWorld(quirks=quirks)
        world.join(user_endpoint=HERE)
        assert world.raw(member_epoch=2, user_endpoint=THERE).endpoint_information_epoch == epoch


def test_partitions_of_endpoints_exist_except_in_the_former_release() -> None:
    wide = topology(subtopology("0", "t", "u"))
    for quirks, found in ((Quirks(), {"t": [2, 3]}), (Quirks(streams_endpoints_follow_tasks=True), {"t": [2, 3], "u": [2, 3]})):
        world = StreamsWorld(quirks=quirks)
        world.join(of=wide)
        world.join("B", wide, user_endpoint=HERE)
        world.beat("A")
        world.confirm("A")
        assert _table(world.raw(member_id="B", member_epoch=3))["a"] == (found, {})


def test_join_without_an_endpoint_removes_it_except_in_the_former_release() -> None:
    for quirks, epoch, hosts in ((Quirks(), 1, []), (Quirks(streams_endpoints_follow_tasks=True), 1, ["a"])):
        world = StreamsWorld(quirks=quirks)
        world.join(user_endpoint=HERE)
        world.join()
        found = world.raw(member_epoch=world.epochs["A"], endpoint_information_epoch=-1)
        assert (found.endpoint_information_epoch, list(_table(found))) == (epoch, hosts)


def test_endpoints_fail_heartbeats_while_source_topics_are_missing() -> None:
    world = StreamsWorld()
    missing = topology(subtopology("0", "nowhere"))
    world.join(of=missing)
    for _ in range(2):
        assert world.refused(world.raw(member_epoch=2, user_endpoint=HERE)) == (-1, None)
    found = world.raw(member_epoch=2)
    assert (found.member_epoch, found.endpoint_information_epoch, found.partitions_by_user_endpoint) == (2, 2, [])
    told = world.raw(member_epoch=2, user_endpoint=HERE, endpoint_information_epoch=3)
    assert (told.error_code, told.member_epoch, told.endpoint_information_epoch) == (0, 3, 3)


def test_a_heartbeat_that_fails_at_endpoints_leaves_the_offsets_and_an_unready_topology_behind() -> None:
    """Kafka keeps both beside its log, so that it does not undo them (seen on 4.4.0)."""
    world = StreamsWorld()
    world.topic("c", 4)
    world.join(of=topology(subtopology("0", "t", state=["c"])))
    world.topics.delete(world.turn(), "t")
    offsets = [k88.TaskOffset(subtopology_id="0", partition=1, offset=2)]
    found = world.raw(member_epoch=2, user_endpoint=HERE, endpoint_information_epoch=5, task_offsets=offsets)
    assert world.refused(found) == (-1, None)
    (group,) = world.described("g")
    assert group.topology is not None and group.topology.subtopologies is not None
    assert group.topology.subtopologies[0].state_changelog_topics[0].partitions == 0
    assert [(each.partition, each.offset) for each in group.members[0].task_offsets] == [(1, 2)]
    assert world.state() == ("Stable", 2, 2)


@for_each(
    "owned, timeout_ms, stays",
    [(None, 1000, False), ({"0": [0, 1, 2, 3]}, 1000, False), ({}, 1000, True), (None, 30_000, True)],
)
def test_a_heartbeat_that_fails_at_endpoints_starts_the_time_to_give_tasks_up(
    owned: dict[str, list[int]] | None, timeout_ms: int, stays: bool
) -> None:
    """Kafka removes the member after that time, although its record has no task to give up (seen on 4.4.0)."""
    world = StreamsWorld()
    world.join(rebalance_timeout_ms=timeout_ms)
    world.topics.delete(world.turn(), "t")
    lists = {} if owned is None else {"active_tasks": tasks(owned), "standby_tasks": [], "warmup_tasks": []}
    assert world.refused(world.raw(member_epoch=2, user_endpoint=HERE, endpoint_information_epoch=5, **lists)) == (-1, None)
    world.sleep(1001)
    assert world.state() == (("Stable", 2, 2) if stays else ("Empty", 3, 3))


def test_endpoint_of_a_member_with_tasks_fails_heartbeats_while_their_internal_topic_is_missing() -> None:
    """Kafka looks up the topics of all tasks in the table of endpoints (seen on 4.4.0)."""
    world = StreamsWorld()
    world.topic("r", 2)
    through = topology(subtopology("0", "u", sinks=["r"]), subtopology("1", repartition=["r"], state=["c"]))
    world.topic("c", 2)
    world.join(of=through, user_endpoint=HERE)
    world.join("B", through)
    world.topics.delete(world.turn(), "r")
    assert world.refused(world.raw(member_id="B", member_epoch=3, endpoint_information_epoch=5)) == (-1, None)
    assert world.raw(member_epoch=2).partitions_by_user_endpoint == [_empty(HERE)]


def _empty(endpoint: k88.Endpoint) -> k88.EndpointToPartitions:
    return k88.EndpointToPartitions(user_endpoint=endpoint, active_partitions=[], standby_partitions=[])


def test_a_heartbeat_that_fails_at_endpoints_prolongs_the_session_and_shuts_down() -> None:
    world = StreamsWorld()
    world.join(of=topology(subtopology("0", "nowhere")))
    world.sleep(SESSION_MS - 1)
    failed = world.raw(member_epoch=2, user_endpoint=HERE, endpoint_information_epoch=5, shutdown_application=True)
    assert world.refused(failed) == (-1, None)
    world.sleep(2)
    assert world.beat(endpoint_information_epoch=1).statuses == [1, 4]


def test_static_member_that_returns_without_its_endpoint_joins_although_source_topics_are_missing() -> None:
    world = StreamsWorld()
    world.join(instance_id="i", user_endpoint=HERE)
    world.raw(instance_id="i", member_epoch=-2)
    world.topics.delete(world.turn(), "t")
    assert world.refused(world.raw_join(instance_id="i", user_endpoint=HERE, endpoint_information_epoch=-1)) == (-1, None)
    assert world.raw_join(instance_id="i", endpoint_information_epoch=-1).partitions_by_user_endpoint == []


def test_a_join_that_fails_at_endpoints_shuts_down() -> None:
    world = StreamsWorld()
    missing = topology(subtopology("0", "nowhere"))
    world.join(of=missing)
    assert world.refused(world.raw_join("B", missing, user_endpoint=HERE, shutdown_application=True)) == (-1, None)
    assert world.beat(endpoint_information_epoch=1).statuses == [1, 4]


def test_streams_group_survives_a_move_of_its_coordinator() -> None:
    world = StreamsWorld(nodes=2)
    world.join(of=PLAIN, instance_id="i")
    world.join("B")
    world.beat("A", task_offsets=[k88.TaskOffset(subtopology_id="0", partition=1, offset=2)], shutdown_application=True)
    before = world.described("g")[0]
    world.command("move_coordinator", group="g", node=3 - world.node)
    world.sleep(1000)
    after = world.described("g")[0]
    assert before.members[-1].task_offsets or before.members[0].task_offsets
    for member in before.members:
        member.task_offsets = []
    assert after == before
    assert world.confirm("A").epoch == 3
    assert world.confirm("B") == (3, {"0": [2, 3]}, {}, [])


def test_failed_creation_is_remembered_for_a_group_that_is_made_anew() -> None:
    world = StreamsWorld()
    world.topic("c.")
    world.join(of=topology(subtopology("0", "t", state=["c_"])))
    world.sleep(1)
    world.leave("A")
    world.topics.delete(world.turn(), "c.")
    assert _ask(world, 42, 2, DeleteGroupsRequest(groups_names=["g"])).results[0].error_code == 0
    told = world.raw_join(of=topology(subtopology("0", "t", state=["c_", "d"])))
    text = "Internal topics are missing: d, c_; Creation failed: c_ (Topic 'c_' collides with existing topic: c.)."
    assert [each.status_detail for each in told.status] == [text]
    world.sleep(1)
    assert (world.topics.partitions("c_"), world.topics.partitions("d")) == (None, 4), "it is not tried again yet"
