"""Requests that would cost too much are refused with the right answer and change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from cases import for_each

from groupmock.core.effects import Note
from groupmock.core.steering.register import NotNow
from groupmock.journal.ring import Ring
from groupmock.journal.rows import CloseRow
from groupmock.rig import Ask, CoreRig, WireRig
from groupmock.rig.ask import ANSWERED, PARKED
from groupmock.rig.wire import request
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k03_metadata import MetadataRequest, MetadataRequestTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k15_describe_groups import DescribeGroupsRequest
from groupmock_codec.messages.k19_create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from groupmock_codec.messages.k37_create_partitions import CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic
from groupmock_codec.messages.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic

INT_MAX = 2**31 - 1
TOO_MANY = "Excessively large number of partitions per request."
PROFILES = ("groupmock", "kafka-4.3", "kafka-3.9")


def rig_of(profile: str = "groupmock", **settings: Any) -> CoreRig:
    """Return a cluster with the topic `t`; names of `settings` have underscores in place of dots."""
    return CoreRig.make(profile=profile, settings={name.replace("_", "."): value for name, value in settings.items()}, topics={"t": 2})


def create_topics(rig: CoreRig, *counts: int, validate_only: bool = False) -> list[tuple[int, str | None]]:
    """Create topics a, b, and so on with these partition counts. of so many partitions and return code and text of each."""
    topics = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in zip("abcdef", counts, strict=False)]
    answer = rig.ask(19, 2, CreateTopicsRequest(topics=topics, timeout_ms=1000, validate_only=validate_only))
    return [(row.error_code, row.error_message) for row in answer.topics]


def grow(rig: CoreRig, count: int, assignments: list[list[int]] | None = None, validate_only: bool = False) -> tuple[int, str | None]:
    placed = None if assignments is None else [CreatePartitionsAssignment(broker_ids=nodes) for nodes in assignments]
    wanted = CreatePartitionsTopic(name="t", count=count, assignments=placed)
    (row,) = rig.ask(37, 1, CreatePartitionsRequest(topics=[wanted], timeout_ms=1000, validate_only=validate_only)).results
    return row.error_code, row.error_message


@for_each("profile", PROFILES)
def test_partitions_beyond_every_limit_are_refused_before_the_first_of_them_is_placed(profile: str) -> None:
    rig = rig_of(profile)
    for validate_only in (True, False):
        assert grow(rig, INT_MAX, validate_only=validate_only) == (44, TOO_MANY)
        assert grow(rig, 10_003) == (44, TOO_MANY)
    assert grow(rig, INT_MAX, assignments=[[1]])[0] == 39, "what is wrong with it anyhow is said as Kafka says it"
    assert rig.core.cluster.topics.partitions("t") == 2


@for_each("profile", PROFILES)
def test_a_sum_that_overflows_in_java_is_too_much(profile: str) -> None:
    rig = rig_of(profile)
    for validate_only in (True, False):
        assert [code for code, _ in create_topics(rig, INT_MAX, INT_MAX, validate_only=validate_only)] == [44, 44]
    assert rig.core.cluster.topics.names() == ["t"]


def test_what_one_request_would_cost_is_told_with_the_setting() -> None:
    rig = rig_of(groupmock_request_max_work=1000)
    assert create_topics(rig, 300) == [
        (
            44,
            (
                "this request asks for 1268 units of work or more (about a microsecond each) where groupmock.request.max.work allows 1000: "
                "ask for less at once, or raise that setting"
            ),
        )
    ]
    assert create_topics(rig, 100) == [(0, None)]


def test_the_partitions_of_the_cluster_are_counted() -> None:
    rig = rig_of(groupmock_cluster_max_partitions=5)
    full = "The cluster has {} partition(s) and would have {} more, which is more than groupmock.cluster.max.partitions allows (5)."
    assert create_topics(rig, 2, 2) == [(44, full.format(2, 4))] * 2
    assert create_topics(rig, 2, 1) == [(0, None)] * 2
    assert grow(rig, 3) == (44, full.format(5, 1))
    answer = rig.ask(3, 4, MetadataRequest(topics=[MetadataRequestTopic(name="new")]))
    assert [row.error_code for row in answer.topics] == [3]
    assert rig.of(Note)[-1] == Note("topic_not_created", {"topic": "new", "reason": full.format(5, 1)})
    with pytest.raises(NotNow, match=r"allows \(5\): delete topics, or start with more of groupmock\.cluster\.max\.partitions"):
        rig.command("create_topic", name="new")
    rig.command("delete_topic", name="a")
    rig.command("grow_topic", name="t", partitions=4)
    assert rig.core.cluster.topics.partition_count == 5


def test_a_topic_that_shares_its_printed_name_is_found_after_the_other_is_gone() -> None:
    rig = rig_of()
    for name in ("x.y", "x_y"):  # Kafka's controller can create both topics in one request, although their metric names collide.
        rig.topic(name)
    rig.command("delete_topic", name="x.y")
    with pytest.raises(ValueError, match=r"'x\.y' collides with existing topic: x_y"):
        rig.command("create_topic", name="x.y")
    rig.command("delete_topic", name="x_y")
    rig.command("create_topic", name="x.y")


def closed(key: int, version: int, message: Any, settings: Mapping[str, object] | None = None) -> tuple[WireRig, str]:
    """Return the cluster and its reason for closing the connection after this request."""
    ring = Ring()
    rig = WireRig.make(settings=settings, sinks=[ring], topics={"t": 2})
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m" * 100)
    commit = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])])
    rig.connect().ask(8, 5, commit)
    wire = rig.connect()
    wire.send(request(key, version, message))
    counters = rig.driver.counters
    assert (wire.closed, wire.data, counters.over_budget, counters.refused, counters.internal_errors) == (True, b"", 1, 1, 0)
    (row,) = [row for row in ring.rows if isinstance(row, CloseRow)]
    assert rig.connect().ask(18, 0).api_keys
    return rig, row.reason


def test_a_group_named_very_often_closes_the_connection_with_a_sentence() -> None:
    often = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)] * 6000)
    _, reason = closed(9, 8, often)
    assert reason == (
        "this request asks for 50005 units of work or more (about a microsecond each) where groupmock.request.max.work allows 50000: "
        "ask for less at once, or raise that setting"
    )


def test_metadata_that_was_stored_counts_by_its_bytes() -> None:
    often = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)] * 11)
    _, reason = closed(9, 8, often, {"groupmock.answer.max.bytes": 1000})
    assert reason == (
        "the answer would have 1100 bytes or more where groupmock.answer.max.bytes allows 1000: ask for less at once, or raise that setting"
    )


def test_a_member_with_very_many_protocols_makes_no_group() -> None:
    protocols = [JoinGroupRequestProtocol(name=f"p{number}") for number in range(101)]
    join = JoinGroupRequest(group_id="new", session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols)
    rig, reason = closed(11, 3, join)
    assert reason == "a JoinGroup with 101 protocols where groupmock.member.max.protocols allows 100: list fewer, or raise that setting"
    assert rig.core.cluster.groups.find("new") is None


def test_metadata_of_all_members_is_bounded_as_it_comes() -> None:
    rig = rig_of(groupmock_group_max_bytes=70_000)

    def join(instance: str, size: int) -> Ask:
        protocols = [JoinGroupRequestProtocol(name="range", metadata=bytes(size))]
        terms = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "protocol_type": "x", "protocols": protocols}
        return rig.send(11, 5, JoinGroupRequest(group_id="g", group_instance_id=instance, **terms))

    assert [join("a", 30_000).status, join("b", 30_000).status] == [PARKED, PARKED]
    third = join("c", 30_000)
    assert third.reason == (
        "members of this group have 60000 bytes of metadata, with 30000 more it would be more than groupmock.group.max.bytes "
        "allows (70000): subscribe to less, use fewer members, or raise that setting"
    )
    assert join("c", 5000).status == PARKED
    group: Any = rig.group("g")
    assert (len(group.members), group.listed_bytes) == (3, 65_000)


def test_subscriptions_are_read_for_an_offset_deletion_unless_they_are_too_many() -> None:
    rig = rig_of(groupmock_request_max_work=100)
    names = b"".join(b"\0\1x" for _ in range(200))
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"\0\0" + (200).to_bytes(4) + names + bytes(4))]
    terms = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "protocol_type": "consumer", "protocols": protocols}
    rig.send(11, 5, JoinGroupRequest(group_id="g", group_instance_id="a", **terms))
    rig.sleep(1000)
    wanted = OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    ask = rig.send(47, 0, OffsetDeleteRequest(group_id="g", topics=[wanted]))
    assert (ask.reason or "").startswith("this request asks for 110 units of work")


def test_an_id_from_which_no_member_id_can_be_made_makes_no_member() -> None:
    protocols = [JoinGroupRequestProtocol(name="range")]
    instance = "i" * 32_731
    join = JoinGroupRequest(
        group_id="new", session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols, group_instance_id=instance
    )
    rig, reason = closed(11, 5, join)
    assert reason == "a client id or instance id of 32731 characters: no answer can carry a member id that is longer still"
    group: Any = rig.core.cluster.groups.find("new")
    assert (group.members, group.static_members) == ({}, {})


def test_of_too_many_that_leave_nobody_leaves() -> None:
    rig = rig_of(groupmock_request_max_work=1000)
    member = rig.member("m", group="g")
    member.join()
    rig.sleep(1000)
    group: Any = rig.group("g")
    leaving = [MemberIdentity(member_id=next(iter(group.members)))] * 101
    ask = rig.send(13, 3, LeaveGroupRequest(group_id="g", members=leaving))
    assert "groupmock.request.max.work" in (ask.reason or "")
    assert len(group.members) == 1


def test_a_request_that_waited_for_an_operator_is_refused_when_it_is_let_in() -> None:
    rig = rig_of(groupmock_request_max_work=1000)
    rig.member("m", group="g").join()
    rig.sleep(1000)
    rig.command("hold_group", group="g", state="CompletingRebalance")
    ask = rig.send(13, 3, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="x")] * 101))
    rig.command("release_group", group="g")
    assert "groupmock.request.max.work" in (ask.reason or "")


def test_number_of_fetches_waiting_for_a_partition_is_limited() -> None:
    """One new record makes the broker examine every waiting Fetch with all its partitions."""
    rig = rig_of(groupmock_request_max_work=10)
    partitions = [FetchPartition(partition=index, partition_max_bytes=1000) for index in range(2)]
    fetch = FetchRequest(max_wait_ms=1000, min_bytes=1, topics=[FetchTopic(topic="t", partitions=partitions)])
    first, second, third = (rig.send(1, 4, fetch) for _ in range(3))
    assert [ask.status for ask in (first, second, third)] == [PARKED, PARKED, ANSWERED]
    rig.sleep(1000)
    assert first.answer == second.answer == third.answer


def test_a_group_that_is_named_twice_is_described_twice() -> None:
    rig = rig_of()
    rig.member("m", group="g").join()
    rig.sleep(1000)
    one, other, nobody = rig.ask(15, 5, DescribeGroupsRequest(groups=["g", "g", "h"])).groups
    assert one == other != nobody
    assert len(one.members) == 1


def test_an_assignment_is_judged_with_those_before_it() -> None:
    """Comparing each assignment with all previous ones took minutes for forty thousand assignments."""
    rig = CoreRig.make(nodes=2)
    shares = [CreatableReplicaAssignment(partition_index=index, broker_ids=nodes) for index, nodes in enumerate([[1], [2], [1, 2], [7]])]
    wanted = CreatableTopic(name="a", num_partitions=-1, replication_factor=-1, assignments=shares)
    (row,) = rig.ask(19, 5, CreateTopicsRequest(topics=[wanted], timeout_ms=1000)).topics
    assert (row.error_code, row.error_message) == (
        39,
        (
            "The manual partition assignment includes a partition with 2 replica(s), "
            "but this is not consistent with previous partitions, which have 1 replica(s)."
        ),
    )


def test_more_elements_than_a_request_may_have_close_the_connection_before_they_are_built() -> None:
    join = JoinGroupRequest(group_id="g", protocol_type="consumer", protocols=[JoinGroupRequestProtocol()] * 30_001)
    _, reason = closed(11, 5, join)
    assert "30001" in reason and "groupmock.request.max.elements" in reason
