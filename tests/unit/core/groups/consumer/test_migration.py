"""Groups with classic and consumer members are converted in both directions (docs/kafka/consumer-groups.md; CG-170 to CG-192)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

import pytest
from cases import for_each
from consumer_world import LEAVE, ConsumerWorld

from groupmock.core.groups.classic.type import ClassicGroup
from groupmock.core.groups.consumer import rehearsal
from groupmock.core.groups.consumer.group import Group
from groupmock.core.groups.consumer.orders import MemberTable
from groupmock.core.groups.offsets.committed import CommittedOffsets, Offset
from groupmock.core.settings import Quirks
from groupmock.core.work import at_once
from groupmock.rig import Ask
from groupmock_codec.embedded.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from groupmock_codec.messages.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from groupmock_codec.messages.k14_sync_group import SyncGroupRequest, SyncGroupRequestAssignment

ALL: Final = [0, 1, 2, 3, 4, 5]
CANNOT: Final = "Cannot upgrade classic group g to consumer group because "


class MixedWorld(ConsumerWorld):
    """A group with members of both protocols. Classic members report owned partitions in JoinGroup."""

    def classic(self, member_id: str = "", owned: list[int] | None = None, **fields: Any) -> Ask:
        parts = [TopicPartitions("t", owned)] if owned else []
        version = fields.pop("version", 3)
        metadata = fields.pop("metadata", encode_subscription(Subscription(1, ["t"], None, parts)))
        timeouts = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 20_000}
        protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]
        asked = {"group_id": "g", "member_id": member_id, "protocol_type": "consumer", "protocols": protocols, **timeouts, **fields}
        return self.rig.send(11, version, JoinGroupRequest(**asked), client_id="old", client_host="/h", node=self.node)

    def joined(self, member_id: str = "", owned: list[int] | None = None, **fields: Any) -> Any:
        return self.answers[self.classic(member_id, owned, **fields).ticket]

    def stable(self, count: int = 1) -> list[str]:
        """Create a classic group of `count` members in generation 1, in which the first member owns all partitions."""
        asked = [self.classic() for _ in range(count)]
        self.sleep(10_000 if count == 1 else 5_000)
        found = [self.answers[each.ticket] for each in asked]
        ids = [each.member_id for each in found]
        leader = next(each for each in found if each.leader == each.member_id)
        given = encode_assignment(Assignment(1, [TopicPartitions("t", ALL)], None))
        lists = [SyncGroupRequestAssignment(member_id=leader.member_id, assignment=given)]
        self.sync(leader.member_id, leader.generation_id, lists)
        for each in ids:
            if each != leader.member_id:
                self.sync(each, leader.generation_id)
        return [leader.member_id, *(each for each in ids if each != leader.member_id)]

    def led(self, *given: TopicPartitions, count: int = 1) -> str:
        """Create a classic group of `count` members, to each of which the leader assigns the same partitions. Return the leader."""
        asked = [self.classic() for _ in range(count)]
        self.sleep(10_000 if count == 1 else 5_000)
        ids = [self.answers[each.ticket].member_id for each in asked]
        leader: str = self.answers[asked[0].ticket].leader
        assignment = encode_assignment(Assignment(1, list(given), None))
        self.sync(leader, 1, [SyncGroupRequestAssignment(member_id=each, assignment=assignment) for each in ids])
        return leader

    def sync(self, member_id: str, generation: int, lists: list[SyncGroupRequestAssignment] | None = None) -> Any:
        asked = SyncGroupRequest(group_id="g", member_id=member_id, generation_id=generation, assignments=lists or [])
        sent = self.rig.send(14, 3, asked, client_id="old")
        return self.answers.get(sent.ticket)

    def has(self, member_id: str, generation: int) -> list[int]:
        found = self.sync(member_id, generation)
        assert found.error_code == 0, found.error_code
        return sorted(index for topic in decode_assignment(found.assignment).assigned_partitions for index in topic.partitions)

    def heard(self, member_id: str, generation: int) -> int:
        asked = HeartbeatRequest(group_id="g", member_id=member_id, generation_id=generation)
        code: int = self.ask(12, 4, asked).error_code
        return code


def test_a_classic_group_goes_over_while_its_members_stay() -> None:
    world = MixedWorld()
    (old,) = world.stable()
    assert world.commit() == 25, "it has members"
    assert world.join("A") == (2, [])
    assert world.state() == ("Reconciling", 2, 2)
    assert (world.shown(old)[:2], world.member(old).member_type) == ((1, ALL), 0)
    assert world.commit(old, 1, version=2) == 0, "its generation is good until it moves"
    assert world.heard(old, 1) == 27
    assert world.sync(old, 1).error_code == 27
    told = world.joined(old, ALL)
    assert (told.error_code, told.generation_id, told.leader, told.members, told.protocol_name) == (0, 1, "", [], "range")
    assert world.has(old, 1) == [0, 1, 2], "what it may keep"
    assert world.heard(old, 1) == 27
    assert world.joined(old, [0, 1, 2]).generation_id == 2
    assert world.has(old, 2) == [0, 1, 2]
    assert world.beat("A") == (2, [3, 4, 5])
    assert world.heard(old, 2) == 0
    assert world.state() == ("Stable", 2, 2)


def test_an_eager_member_owns_nothing_and_is_at_the_new_epoch_at_once() -> None:
    world = MixedWorld()
    (old,) = world.stable()
    world.join("A")
    assert world.joined(old).generation_id == 2
    assert world.beat("A") == (2, [3, 4, 5])


def test_the_member_that_turns_the_group_over_may_be_one_of_it() -> None:
    world = MixedWorld()
    (old,) = world.stable()
    assert world.join(old) == (1, ALL), "it is who it was, and subscribes alike: nothing calls for another target"


def test_requests_that_wait_are_told_to_come_again() -> None:
    world = MixedWorld()
    old = world.stable(2)
    waiting = world.classic(old[0], metadata=encode_subscription(Subscription(1, ["t", "u"], None, [])))
    assert waiting.ticket not in world.answers
    assert world.join("A").epoch == 2
    assert world.answers[waiting.ticket].error_code == 27
    assert sorted(each.member_id for each in world.described()[0].members) == sorted([*old, "A"])


@for_each(
    "policy, fields, why",
    [
        ("disabled", {}, "online upgrade is disabled."),
        ("downgrade", {}, "online upgrade is disabled."),
        ("upgrade", {"protocol_type": "connect"}, "the group does not use the consumer embedded protocol."),
        ("upgrade", {"metadata": b"\0"}, "the embedded consumer protocol is malformed."),
    ],
)
def test_groups_that_may_not_go_over(policy: str, fields: dict[str, Any], why: str) -> None:
    world = MixedWorld(group_consumer_migration_policy=policy)
    world.classic(**fields)
    world.sleep(10_000)
    asked = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 9, "topic_partitions": []}
    assert world.refused(member_epoch=0, **asked) == (69, CANNOT + why)


@for_each(
    ("quirk", "assignment", "code"),
    [
        (False, b"\0", 69),
        (False, b"\0\0\xff\xff\xff\xff", 69),
        (True, b"\0", 69),
        (True, b"\xff\xff\0\0\0\0", 69),
        (True, b"\0\0\0\0\0\1\0", 69),
        (True, b"\0\0\xff\xff\xff\xff", -1),
        (True, b"\0\0\0\0\0\1\0\x09t", -1),
    ],
)
def test_a_malformed_assignment_forbids_the_upgrade(quirk: bool, assignment: bytes, code: int) -> None:
    world = MixedWorld(quirks=Quirks(malformed_metadata_fails=quirk))
    asked = world.classic()
    world.sleep(10_000)
    leader = world.answers[asked.ticket].member_id
    world.sync(leader, 1, [SyncGroupRequestAssignment(member_id=leader, assignment=assignment)])
    joins = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 9, "topic_partitions": []}
    told = CANNOT + "the embedded consumer protocol is malformed." if code == 69 else None
    assert world.refused(member_epoch=0, **joins) == (code, told)


def test_a_group_that_never_had_a_generation_is_an_accident_on_kafka() -> None:
    world = MixedWorld()
    waiting = world.classic()
    asked = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 9, "topic_partitions": []}
    assert world.refused(member_epoch=0, **asked) == (-1, None)
    assert world.answers[waiting.ticket].error_code == 27
    group = world.cluster.groups.find("g")
    assert group is not None and group.state == "PreparingRebalance"


def test_an_assignment_with_user_data_is_of_a_custom_assignor() -> None:
    world = MixedWorld()
    asked = world.classic()
    world.sleep(10_000)
    leader = world.answers[asked.ticket].member_id
    given = encode_assignment(Assignment(1, [], b"mine"))
    world.sync(leader, 1, [SyncGroupRequestAssignment(member_id=leader, assignment=given)])
    joins = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 9, "topic_partitions": []}
    assert "an unsupported custom assignor is in use" in (world.refused(member_epoch=0, **joins)[1] or "")


@for_each(
    "fields, code",
    [
        ({"version": 5}, 79),
        ({"member_id": "invented"}, 0),
        ({"group_instance_id": "i", "version": 5}, 0),
        ({"group_instance_id": "i", "member_id": "X", "version": 5}, 25),
        ({"protocol_type": "connect"}, 23),
        ({"metadata": b"\0"}, 23),
        ({"metadata": b"range0"}, 23),
    ],
)
def test_who_may_join_a_consumer_group(fields: dict[str, Any], code: int) -> None:
    world = MixedWorld()
    world.join("A")
    told = world.joined(**fields)
    assert told.error_code == code
    if code == 79:
        assert len(told.member_id) == 22
        assert world.state()[1] == 2, "nothing is remembered"


@for_each("metadata", [b"", b"\0", b"range0"])
def test_malformed_metadata_joining_a_consumer_group_is_an_unknown_error_before_4_4(metadata: bytes) -> None:
    world = MixedWorld(quirks=Quirks(malformed_metadata_fails=True))
    world.join("A")
    assert world.joined(metadata=metadata).error_code == -1


@for_each(("admitted", "code"), [(True, 0), (False, 23)])
def test_a_classic_member_joins_a_group_whose_migration_is_disabled_only_before_4_4(admitted: bool, code: int) -> None:
    quirks = Quirks(disabled_migration_admits_classic_members=admitted)
    world = MixedWorld(group_consumer_migration_policy="disabled", quirks=quirks)
    world.join("A")
    assert world.joined("B").error_code == code


@for_each(("refused", "code"), [(False, 0), (True, 81)])
def test_a_classic_member_may_take_the_place_of_an_instance_in_a_full_group_since_4_4(refused: bool, code: int) -> None:
    world = MixedWorld(group_consumer_max_size=1, quirks=Quirks(full_group_refuses_known_instances=refused))
    world.join("A", instance_id="i")
    assert world.joined("", group_instance_id="i", version=5).error_code == code


def test_classic_members_have_a_protocol_in_common() -> None:
    world = MixedWorld()
    world.join("A")
    world.joined("B")
    other = [JoinGroupRequestProtocol(name="sticky", metadata=encode_subscription(Subscription(1, ["t"], None, [])))]
    assert world.joined("C", protocols=other).error_code == 23
    assert world.joined("B", protocols=other).error_code == 23, "its own list of before counts, too"


def test_consumer_members_are_strangers_to_classic_requests() -> None:
    world = MixedWorld()
    world.join("A")
    assert (world.heard("A", 2), world.sync("A", 2).error_code) == (25, 25)
    (old,) = [world.joined("B").member_id]
    assert [world.heard(old, 9), world.sync(old, 9).error_code] == [22, 22]


def test_classic_members_owe_a_sync_and_a_join() -> None:
    world = MixedWorld()
    world.join("A")
    world.joined("B")
    for _ in range(3):
        world.sleep(7_000)
        world.heard("B", 3)
        world.beat("A")
    assert world.heard("B", 3) == 25, "no SyncGroup within its rebalance timeout"
    world.joined("C")
    world.sync("C", world.member("C").member_epoch)
    world.join("D")
    for _ in range(4):
        world.heard("C", world.member("C").member_epoch) if "C" in world.epochs or world.group else None
        world.sleep(7_000)
        world.beat("A")
        if world.group is None or "C" not in world.group.members:
            break
    assert world.group is not None
    assert "C" not in world.group.members, "it was told to join again, and did not"


def test_the_last_consumer_member_takes_the_protocol_along() -> None:
    world = MixedWorld()
    (old,) = world.stable()
    world.join("A")
    world.joined(old)
    world.sync(old, 2)
    world.beat("A")
    world.raw(member_epoch=LEAVE)
    group = world.cluster.groups.find("g")
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation, list(group.members)) == ("PreparingRebalance", 2, [old])
    assert world.heard(old, 2) == 27
    again = world.joined(old)
    assert (again.error_code, again.generation_id, again.leader) == (0, 3, old)
    assert world.described()[0].error_message == "Group g is not a consumer group."


def test_the_last_consumer_member_that_is_expired_by_command_takes_the_protocol_along_too() -> None:
    world = MixedWorld()
    (old,) = world.stable()
    world.join("A")
    world.joined(old)
    world.command("expire_member", group="g", member="A")
    group = world.cluster.groups.find("g")
    assert isinstance(group, ClassicGroup) and list(group.members) == [old]


@for_each("policy", ["upgrade", "disabled"])
def test_where_the_policy_forbids_it_stays_what_it_is(policy: str) -> None:
    world = MixedWorld(group_consumer_migration_policy=policy, quirks=Quirks(disabled_migration_admits_classic_members=True))
    world.join("A")
    old = world.joined("B").member_id
    world.sync(old, world.member(old).member_epoch)
    world.beat("A", owned=[0, 1, 2])
    assert world.heard(old, 3) == 27, "what it waits for is free"
    world.joined(old)
    world.sync(old, 3)
    world.raw(member_epoch=LEAVE)
    assert world.state() == ("Assigning", 4, 3)
    assert world.heard(old, 3) == 0, "no Heartbeat computes a target"


def test_a_dynamic_member_that_goes_back_takes_nothing_along() -> None:
    """The dynamic member goes back to the classic protocol under its own id. No consumer-protocol member left, so the group of classic
    members stays a consumer group (CG-185)."""
    world = MixedWorld()
    world.join("A")
    back = world.joined("A", ALL)
    assert (back.error_code, back.generation_id, back.leader) == (0, 2, "")
    assert world.has("A", 2) == ALL
    assert world.group is not None and world.group.classics == 1
    assert world.described()[0].members[0].member_type == 0


def test_a_static_member_may_go_back_in_place() -> None:
    world = MixedWorld()
    world.join("A", instance_id="i")
    told = world.joined(group_instance_id="i", version=5)
    assert (told.error_code, told.generation_id) == (0, 2), "it is another member, and moves to where the old one was"
    group = world.cluster.groups.find("g")
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation, group.leader_id) == ("Stable", 2, told.member_id)
    assert world.has(told.member_id, 2) == ALL


def test_who_goes_back_while_another_target_is_called_for_stays_where_it_is() -> None:
    world = MixedWorld()
    world.join("A", instance_id="i")
    world.join("B")
    world.joined("C")
    world.raw(member_id="B", member_epoch=LEAVE)
    told = world.joined(group_instance_id="i", version=5)
    group = world.cluster.groups.find("g")
    assert isinstance(group, ClassicGroup)
    assert (told.error_code, told.generation_id, group.state, group.generation) == (0, 0, "PreparingRebalance", 5)


def test_member_that_returns_to_the_classic_protocol_comes_last() -> None:
    """D would be the first in the coordinator's table and therefore the leader (ClassicGroup.fromConsumerGroup)."""
    world = MixedWorld()
    world.join("B")
    world.joined("A")
    world.join("D", instance_id="i")
    world.raw(member_id="B", member_epoch=LEAVE)
    assert [each.member_id for each in world.described()[0].members] == ["D", "A"]
    world.beat("D", instance_id="i")
    world.joined("D", group_instance_id="i", version=5)
    group = world.cluster.groups.find("g")
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.leader_id) == ("Stable", "A")


def test_the_records_of_an_upgrade_turn_members_of_one_slot_round() -> None:
    """The records are written in the order of the old table and inserted into a new one, which reverses members of one slot."""
    world = MixedWorld()
    world.stable(3)
    old = world.cluster.groups.find("g")
    assert isinstance(old, ClassicGroup)
    tables: list[MemberTable] = []
    for ids in ([each.member_id for each in old.ordered()], None):
        table = MemberTable()
        for member_id in ids or tables[0]:
            table.add(member_id)
        tables.append(table)
    assert list(tables[0]) != list(tables[1])
    world.join("A")
    tables[1].add("A")
    assert [each.member_id for each in world.described()[0].members] == list(tables[1])


def test_members_that_all_changed_over_are_a_classic_group_when_one_of_them_goes() -> None:
    world = MixedWorld()
    world.join("A")
    world.joined("B")
    assert world.joined("A").generation_id == 3
    assert world.state()[0] != "", "nobody went yet"
    world.ask(13, 5, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="A")]))
    group = world.cluster.groups.find("g")
    assert isinstance(group, ClassicGroup)
    assert (group.state, list(group.members)) == ("PreparingRebalance", ["B"])


def test_a_classic_member_is_replaced_by_who_has_its_own_id() -> None:
    """The member is inserted into the table again, after A in the same slot, and therefore listed first."""
    world = MixedWorld()
    world.join("D", instance_id="i")
    world.join("A")
    world.joined("D", group_instance_id="i", version=5)
    assert [each.member_id for each in world.described()[0].members] == ["A", "D"]
    assert world.join("D", instance_id="i").epoch == 3
    assert [each.member_id for each in world.described()[0].members] == ["D", "A"]


def test_a_joiner_has_the_expressions_of_others_resolved() -> None:
    """The coordinator had not resolved B's expression, because it had resolved A's just before, and A took its expression along."""
    world = MixedWorld()
    world.join("A", subscribed_topic_regex="t", subscribed_topic_names=None)
    world.sleep(1)
    world.join("B", subscribed_topic_regex="u", subscribed_topic_names=None)
    world.raw(member_epoch=LEAVE)
    assert world.joined("C").generation_id == 4
    world.sleep(1)
    assert world.state() == ("Assigning", 5, 4)


def test_what_a_member_owns_counts_though_nobody_subscribes_to_it() -> None:
    world = MixedWorld()
    world.join("A", subscribed_topic_names=[])
    both = encode_subscription(Subscription(1, ["t", "u"], None, []))
    assert world.joined("B", metadata=both).generation_id == 2
    owned = [TopicPartitions("t", ALL), TopicPartitions("u", [0, 1])]
    fewer = encode_subscription(Subscription(1, ["t"], None, owned))
    assert [world.joined("B", metadata=fewer).generation_id for _ in range(2)] == [2, 2], "it has to give u up first"


def test_who_waits_is_told_to_come_again_though_there_is_no_room_for_the_newcomer() -> None:
    world = MixedWorld(group_consumer_max_size=2)
    old = world.stable(2)
    waiting = world.classic(old[0], metadata=encode_subscription(Subscription(1, ["t", "u"], None, [])))
    asked = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 9, "topic_partitions": []}
    assert world.refused(member_epoch=0, **asked)[0] == 81
    assert world.answers[waiting.ticket].error_code == 27
    group = world.cluster.groups.find("g")
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.awaiting) == ("PreparingRebalance", 0)


def test_a_join_that_an_empty_group_refuses_takes_it_away_but_for_its_offsets() -> None:
    world = MixedWorld()
    world.join("A")
    world.commit("A", 2)
    world.raw(member_epoch=LEAVE)
    assert world.joined("stranger").error_code == 25
    assert world.refused(member_epoch=2) == (69, "Consumer group g not found.")
    assert world.fetched() == (0, [])
    assert world.join("A") == (2, ALL), "another group"
    assert world.fetched() == (0, [5])


def test_a_group_that_was_taken_away_so_is_there_for_who_loads_the_log() -> None:
    world = MixedWorld(nodes=2)
    world.join("A")
    world.commit("A", 2)
    world.raw(member_epoch=LEAVE)
    assert world.joined("stranger").error_code == 25
    assert world.described()[0].error_message == "Group g not found."
    world.command("move_coordinator", group="g", node=3 - world.node)
    assert world.state() == ("Empty", 3, 3)
    assert world.commit() == 0


def test_who_goes_back_before_there_is_a_new_target_makes_everybody_join() -> None:
    world = MixedWorld()
    world.join("A", instance_id="i")
    guest = world.joined("B").member_id
    world.sync(guest, world.member(guest).member_epoch)
    world.ask(13, 1, LeaveGroupRequest(group_id="g", member_id=guest))
    assert world.state() == ("Assigning", 4, 3)
    told = world.joined(group_instance_id="i", version=5)
    assert (told.error_code, told.generation_id) == (0, 0), "it is another member, whose epoch begins anew"
    group = world.cluster.groups.find("g")
    assert group is not None
    assert (group.state, group.generation) == ("PreparingRebalance", 4)


def test_who_goes_back_with_other_topics_makes_everybody_join() -> None:
    world = MixedWorld()
    world.join("A", instance_id="i")
    told = world.joined("A", group_instance_id="i", version=5, metadata=encode_subscription(Subscription(1, ["u"], None, [])))
    group = world.cluster.groups.find("g")
    assert group is not None
    assert (told.error_code, told.generation_id, group.state) == (0, 2, "PreparingRebalance")


def test_a_change_of_type_keeps_the_table_of_offsets() -> None:
    """The test checks pending offsets, the order of a listing (Kafka's tables grow and do not shrink), and the deletion of a topic."""
    world = MixedWorld()
    world.stable()
    registry, some = world.cluster.groups, Offset(1, -1, "m", 0, 99)

    def offsets() -> CommittedOffsets:
        group = registry.find("g")
        assert group is not None
        return group.offsets

    for index in range(60):
        offsets().commit(("many", index), some)
    for index in range(50):
        offsets().discard(("many", index))
    for producer, topic in ((7, "t"), (8, "t"), (8, "u")):
        offsets().commit_in_transaction(producer, [((topic, 0), some)])
    listed = offsets().listed(scala=False)
    world.join("A")
    assert (world.group is not None, offsets().listed(scala=False), offsets().unstable) == (True, listed, frozenset({("t", 0), ("u", 0)}))
    world.beat("A", member_epoch=LEAVE)
    assert (world.group is None, offsets().listed(scala=False), offsets().unstable) == (True, listed, frozenset({("t", 0), ("u", 0)}))
    assert (offsets()["many", 55], at_once(offsets().end_transaction(7, committed=True)), offsets()["t", 0]) == (some, 1, some)
    world.command("delete_topic", name="u")
    assert offsets().unstable == frozenset({("t", 0)})
    assert (at_once(offsets().end_transaction(8, committed=False)), offsets().unstable) == (0, frozenset())


@for_each(
    ("given", "assignor", "code"),
    [([0, 1, 6], None, -1), ([-1, 0], "uniform", -1), ([0, 1, 6], "range", 0), ([0, 1, 2, 3, 4, 5], None, 0)],
)
def test_an_assigned_partition_that_does_not_exist_prevents_the_upgrade(given: list[int], assignor: str | None, code: int) -> None:
    """Kafka's uniform assignor throws, and the group stays a classic one; the range assignor does not look at what is owned."""
    world = MixedWorld()
    world.led(TopicPartitions("t", given))
    joins = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 9, "topic_partitions": [], "server_assignor": assignor}
    answer = world.raw(member_epoch=0, **joins)
    assert (answer.error_code, answer.error_message) == (code, None)
    group = world.cluster.groups.find("g")
    assert group is not None and group.state == ("Stable" if code else "Reconciling")


def test_a_member_that_leave_group_lists_twice_leaves_once_without_an_error() -> None:
    world = MixedWorld()
    world.join("A")
    world.raw(member_id="B", member_epoch=0, instance_id="i", subscribed_topic_names=["t"], rebalance_timeout_ms=9, topic_partitions=[])
    entries = [MemberIdentity(member_id="A"), MemberIdentity(member_id="A"), *[MemberIdentity(member_id="", group_instance_id="i")] * 2]
    answer = world.ask(13, 5, LeaveGroupRequest(group_id="g", members=entries))
    assert [row.error_code for row in answer.members] == [0, 0, 0, 0]
    assert world.described()[0].members == []


def test_a_partition_that_the_leader_gave_to_two_members_prevents_the_upgrade() -> None:
    """Kafka throws when it counts the owners of partitions, whatever the assignor is (ConsumerGroup.addPartitionEpochs)."""
    world = MixedWorld()
    world.led(TopicPartitions("t", [0]), count=2)
    joins = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 9, "topic_partitions": [], "server_assignor": "range"}
    assert world.refused(member_epoch=0, **joins) == (-1, None)
    assert world.group is None


def test_of_a_topic_that_the_leader_lists_twice_the_last_partitions_count() -> None:
    world = MixedWorld()
    leader = world.led(TopicPartitions("t", [0, 1, 2]), TopicPartitions("u", [1]), TopicPartitions("t", [3]))
    world.join("A", "t")
    assert world.shown(leader)[1] == [("t", [3]), ("u", [1])]


@for_each("names", [["t"], ["t", "u"]])
def test_an_assignor_that_fails_later_undoes_the_heartbeat(names: list[str]) -> None:
    """A newcomer without topics needs no target, so that the upgrade works. The target that is needed next cannot be computed, whether
    members subscribe alike or not, and Kafka answers -1 until the owner of the false partitions goes."""
    world = MixedWorld()
    leader = world.led(TopicPartitions("t", [0, -1]))
    joins = {"subscribed_topic_names": [], "rebalance_timeout_ms": 9, "topic_partitions": []}
    assert (world.raw(member_epoch=0, **joins).member_epoch, world.state()) == (1, ("Stable", 1, 1))
    before = world.described()
    assert world.refused(member_epoch=1, subscribed_topic_names=names) == (-1, None)
    assert world.refused(member_id="B", member_epoch=0, **{**joins, "subscribed_topic_names": names}) == (-1, None)
    other = world.joined("B", metadata=encode_subscription(Subscription(1, names, None, [])))
    assert (other.error_code, other.member_id) == (-1, "")
    assert world.described() == before
    world.ask(13, 5, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=leader)]))
    assert world.join("A", *names).has is not None


def test_only_a_request_that_may_need_a_target_is_tried_on_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy costs as much as the group is large, so an upgrade of a true group and a heartbeat that says nothing do without it."""
    tried: list[Group] = []

    def copied(group: Group, memo: dict[int, Any]) -> Group:
        tried.append(group)
        return deepcopy(group, memo)

    def upgraded(*given: int) -> MixedWorld:
        world = MixedWorld()
        world.led(TopicPartitions("t", list(given)))
        assert world.raw(member_epoch=0, subscribed_topic_names=[], rebalance_timeout_ms=9, topic_partitions=[]).error_code == 0
        assert world.raw(member_epoch=1).error_code == 0
        return world

    monkeypatch.setattr(rehearsal, "deepcopy", copied)
    upgraded(0)
    assert not tried
    world = upgraded(9)
    assert len(tried) == 1
    assert world.refused(member_epoch=1, subscribed_topic_names=["t"]) == (-1, None)
    assert len(tried) == 2


def test_an_id_is_asked_for_in_a_group_whose_targets_are_untrue() -> None:
    world = MixedWorld()
    world.led(TopicPartitions("t", [9]))
    world.raw(member_epoch=0, subscribed_topic_names=[], rebalance_timeout_ms=9, topic_partitions=[])
    told = [world.joined(version=4).member_id for _ in range(2)]
    assert len(set(told)) == 2, "each is drawn anew"
