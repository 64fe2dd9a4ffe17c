"""Rights that change while a group runs (SEC-110 to SEC-116), by requests and by commands."""

from __future__ import annotations

from typing import Any

import pytest
from rights import ADMIN, ALICE, STANDARD, allow, authorizer_of, deny, make_rig

from groupmock.core.authorizer.acl import ANY, GROUP, PREFIXED, READ, TOPIC, TRANSACTIONAL_ID, Acl
from groupmock.core.events import Command
from groupmock.core.steering import CannotSteer
from groupmock.rig import CoreRig
from groupmock.rig.wire_rig import WireRig
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.messages.k08_offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from groupmock_codec.messages.k30_create_acls import AclCreation, CreateAclsRequest
from groupmock_codec.messages.k31_delete_acls import DeleteAclsFilter, DeleteAclsRequest
from groupmock_codec.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

GROUP_READ, TOPIC_READ = allow(READ, GROUP, "g"), allow(READ, TOPIC, "orders")
PROTOCOLS = [JoinGroupRequestProtocol(name="range", metadata=b"")]


def _join(member_id: str) -> JoinGroupRequest:
    request = JoinGroupRequest(group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id=member_id)
    request.protocol_type, request.protocols = "consumer", PROTOCOLS
    return request


class OneMember:
    """A rig with a group of one member, Alice, and her requests."""

    def __init__(self, *rules: Acl) -> None:
        self.rig = make_rig(topics={"orders": 1})
        authorizer_of(self.rig).add(rules or [GROUP_READ, TOPIC_READ])
        self.member_id = self._ask(11, 5, _join("")).member_id
        self.generation = self._joined()

    def _joined(self) -> int:
        ask = self.rig.send(11, 5, _join(self.member_id), principal=ALICE)
        self.rig.sleep(0)
        assert ask.answer is not None and not ask.answer.error_code
        generation = int(ask.answer.generation_id)
        sync = SyncGroupRequest(group_id="g", generation_id=generation, member_id=self.member_id)
        sync.assignments = [SyncGroupRequestAssignment(member_id=self.member_id, assignment=b"a")]
        assert self._ask(14, 3, sync).error_code == 0
        return generation

    def _ask(self, key: int, version: int, message: Any) -> Any:
        return self.rig.ask(key, version, message, principal=ALICE)

    def beat(self) -> int:
        message = HeartbeatRequest(group_id="g", generation_id=self.generation, member_id=self.member_id)
        return int(self._ask(12, 4, message).error_code)

    def commit(self) -> int:
        row = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topics = [OffsetCommitRequestTopic(name="orders", partitions=[row])]
        message = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=self.generation, member_id=self.member_id, topics=topics)
        return int(self._ask(8, 7, message).topics[0].partitions[0].error_code)

    def leave(self) -> int:
        members = [MemberIdentity(member_id=self.member_id)]
        return int(self._ask(13, 4, LeaveGroupRequest(group_id="g", members=members)).error_code)


def test_member_without_its_right_is_refused_and_stays_until_its_session_ends() -> None:
    one = OneMember()
    assert (one.beat(), one.commit()) == (0, 0)
    one.rig.sleep(6000)
    authorizer_of(one.rig).remove([GROUP_READ])
    assert (one.beat(), one.commit(), one.leave()) == (30, 30, 30)
    assert one.rig.group("g").state == "Stable", "the group does not notice"
    one.rig.sleep(3900)
    assert one.rig.group("g").state == "Stable"
    one.rig.sleep(200)
    assert one.rig.group("g").state == "Empty", "the refused heartbeats did not renew the session"
    authorizer_of(one.rig).add([GROUP_READ])
    assert one.beat() == 25


def test_right_that_comes_back_in_time_leaves_no_trace() -> None:
    one = OneMember()
    authorizer_of(one.rig).add([deny(READ, GROUP, "g")])
    assert one.beat() == 30
    one.rig.sleep(5000)
    authorizer_of(one.rig).remove([deny(READ, GROUP, "g")])
    assert (one.beat(), one.commit()) == (0, 0)


def test_topic_right_withdrawn_refuses_commits_and_not_heartbeats() -> None:
    one = OneMember()
    authorizer_of(one.rig).remove([TOPIC_READ])
    assert (one.beat(), one.commit()) == (0, 29)


def test_waiting_join_is_answered_although_its_right_has_gone() -> None:
    one = OneMember(GROUP_READ, allow(READ, GROUP, "g", principal=ADMIN))
    other = one.rig.ask(11, 5, _join(""), principal=ADMIN).member_id
    waiting = one.rig.send(11, 5, _join(other), principal=ADMIN)
    assert waiting.answer is None
    parked = one.rig.send(11, 5, _join(one.member_id), principal=ALICE)
    authorizer_of(one.rig).remove([GROUP_READ])
    one.rig.sleep(0)
    assert parked.answer is not None and parked.answer.error_code == 0
    sync = SyncGroupRequest(group_id="g", generation_id=parked.answer.generation_id, member_id=one.member_id)
    assert one.rig.ask(14, 3, sync, principal=ALICE).error_code == 30


def test_waiting_fetch_is_answered_as_it_was_asked() -> None:
    rig = make_rig(topics={"orders": 1})
    authorizer_of(rig).add([TOPIC_READ])
    topics = [FetchTopic(topic="orders", partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])]
    message = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1000, session_epoch=-1, topics=topics)
    waiting = rig.send(1, 12, message, principal=ALICE)
    authorizer_of(rig).remove([TOPIC_READ])
    rig.sleep(500)
    assert waiting.answer is not None and waiting.answer.responses[0].partitions[0].error_code == 0
    assert rig.ask(1, 12, message, principal=ALICE).responses[0].partitions[0].error_code == 29


def test_session_of_a_fetch_learns_of_a_withdrawn_right() -> None:
    rig = make_rig(topics={"orders": 1})
    authorizer_of(rig).add([TOPIC_READ])
    topics = [FetchTopic(topic="orders", partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])]
    first = rig.ask(1, 12, FetchRequest(max_bytes=1000, session_epoch=0, topics=topics), principal=ALICE)
    authorizer_of(rig).remove([TOPIC_READ])
    later = rig.ask(1, 12, FetchRequest(max_bytes=1000, session_id=first.session_id, session_epoch=1), principal=ALICE)
    assert [each.error_code for topic in later.responses for each in topic.partitions] == [29]


def test_consumer_member_meets_a_withdrawn_topic_only_where_it_names_it() -> None:
    rig = make_rig(topics={"orders": 1})
    authorizer_of(rig).add([GROUP_READ, TOPIC_READ])

    def beat(epoch: int, names: list[str] | None) -> tuple[int, int]:
        message = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id="m", member_epoch=epoch, rebalance_timeout_ms=1000 if epoch == 0 else -1, subscribed_topic_names=names,
            topic_partitions=[] if epoch == 0 else None,
        )  # fmt: skip
        answer = rig.ask(68, 1, message, principal=ALICE)
        return answer.error_code, answer.member_epoch

    joined = beat(0, ["orders"])
    assert joined[0] == 0
    authorizer_of(rig).remove([TOPIC_READ])
    assert beat(joined[1], None) == joined
    assert beat(joined[1], ["orders"]) == (29, 0)
    assert beat(-1, ["orders"]) == (29, 0)
    authorizer_of(rig).remove([GROUP_READ])
    assert beat(-1, None) == (30, 0)


def _change(rig: CoreRig, key: int) -> None:
    creation = AclCreation(resource_type=GROUP, resource_name="g", principal="User:*", host="*", operation=READ, permission_type=2)
    everything = DeleteAclsFilter(
        resource_type_filter=GROUP, resource_name_filter=None, pattern_type_filter=ANY, principal_filter=None, host_filter=None,
        operation=ANY, permission_type=ANY,
    )  # fmt: skip
    message = CreateAclsRequest(creations=[creation]) if key == 30 else DeleteAclsRequest(filters=[everything])
    rig.ask(key, 3, message, principal=ADMIN)


CHANGES: dict[str, Any] = {
    "CreateAcls": lambda rig: _change(rig, 30),
    "DeleteAcls": lambda rig: _change(rig, 31),
    "the command deny": lambda rig: rig.command("deny", principal="alice", operations=["READ"], group="g"),
    "the command remove_acls": lambda rig: rig.command("remove_acls", group="g"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_of_rights_ends_the_leases_of_heartbeats(change: Any) -> None:
    one = OneMember()
    assert one.beat() == 0
    epoch = one.rig.group("g").epoch
    change(one.rig)
    assert one.rig.group("g").epoch > epoch
    assert one.beat() == 30


def test_repeated_heartbeat_is_refused_once_its_right_is_withdrawn() -> None:
    """A driver repeats the answer of a heartbeat without asking the core, until a right changes."""
    settings = {"authorizer.class.name": STANDARD, "allow.everyone.if.no.acl.found": "true", "group.initial.rebalance.delay.ms": 0}
    rig = WireRig.make(profile="kafka-4.4", settings=settings)
    wire = rig.connect()
    member_id = wire.ask(11, 5, _join("")).member_id
    wire.send(wire.side.ask(11, 5, _join(member_id)))
    rig.sleep(0)
    [frame] = wire.take()
    generation = wire.side.pending.pop().read(frame)[1].generation_id
    sync = SyncGroupRequest(group_id="g", generation_id=generation, member_id=member_id)
    sync.assignments = [SyncGroupRequestAssignment(member_id=member_id, assignment=b"a")]
    wire.ask(14, 3, sync)
    beat = HeartbeatRequest(group_id="g", generation_id=generation, member_id=member_id)
    assert [wire.ask(12, 4, beat).error_code for _ in range(3)] == [0, 0, 0]
    assert rig.driver.counters.repeated_heartbeats > 0, "a heartbeat was answered without the core"
    rig.command("deny", principal="*", operations=["READ"], group="g")
    assert wire.ask(12, 4, beat).error_code == 30
    rig.close()


COMMANDS: dict[str, tuple[dict[str, Any], Acl]] = {
    "a topic": ({"topic": "orders"}, allow(READ, TOPIC, "orders")),
    "every group": ({"group": "*"}, allow(READ, GROUP, "*")),
    "a prefix": ({"topic": "or", "prefixed": True}, allow(READ, TOPIC, "or", pattern=PREFIXED)),
    "a transactional id from an address": (
        {"transactional_id": "x", "host": "10.0.0.7"},
        allow(READ, TRANSACTIONAL_ID, "x", host="10.0.0.7"),
    ),
}


@pytest.mark.parametrize(("arguments", "expected"), COMMANDS.values(), ids=COMMANDS)
def test_commands_add_and_remove_rules(arguments: dict[str, Any], expected: Acl) -> None:
    rig = make_rig()
    rig.command("allow", principal="alice", operations=["read"], **arguments)
    rig.command("deny", principal="User:bob", operations=["ALL"], cluster=True)
    assert next(authorizer_of(rig).rules()) == expected
    rig.command("remove_acls", principal="alice", operations=["WRITE"])
    assert len(list(authorizer_of(rig).rules())) == 2
    rig.command("remove_acls", principal="alice")
    rig.command("remove_acls", cluster=True)
    assert not list(authorizer_of(rig).rules())


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no resource": ({"principal": "alice", "operations": ["READ"]}, "name what the right is on"),
    "two resources": ({"principal": "alice", "operations": ["READ"], "topic": "t", "group": "g"}, "name one of topic"),
    "an unknown operation": ({"principal": "alice", "operations": ["EAT"], "topic": "t"}, "no operation 'EAT': there are ALL, READ"),
}


@pytest.mark.parametrize(("arguments", "text"), WRONG.values(), ids=WRONG)
def test_wrong_commands_change_nothing(arguments: dict[str, Any], text: str) -> None:
    rig = make_rig()
    with pytest.raises(CannotSteer, match=text):
        rig.command("allow", **arguments)
    assert not list(authorizer_of(rig).rules())


def test_commands_need_an_authorizer() -> None:
    rig = make_rig(authorizer_class_name="")
    with pytest.raises(CannotSteer, match="has no authorizer"):
        rig.core.handle(Command("allow", {"principal": "alice", "operations": ["READ"], "topic": "t"}), 0)
