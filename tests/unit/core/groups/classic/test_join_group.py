"""JoinGroup checks, echoed fields, answers per version, and parking (docs/kafka/group-protocol.md#joingroup; P1-d4)."""

from __future__ import annotations

import re

from cases import for_each
from core_world import RANGE, World, subscription

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


@for_each(
    ("client", "prefix"),
    [("shop", "shop"), (None, ""), ("", "")],
)
def test_a_reserved_id_starts_with_the_client_id(client: str | None, prefix: str) -> None:
    world = World.make()
    answer = world.join(client=client).answer
    assert answer.error_code == 79
    assert re.fullmatch(f"{prefix}-{UUID}", answer.member_id)
    assert (answer.generation_id, answer.leader, answer.protocol_type, answer.protocol_name, answer.members) == (-1, "", None, None, [])


def test_a_static_id_starts_with_the_instance_id() -> None:
    world = World.make()
    world.join(instance="i", client="shop")
    assert re.fullmatch(f"i-{UUID}", next(iter(world.group().members)))


@for_each("instance", [None, "i"])
@for_each("protocols", [RANGE, []])
def test_an_id_in_an_unknown_group_is_unknown_and_creates_nothing(instance: str | None, protocols: list[tuple[str, bytes]]) -> None:
    world = World.make()
    asked = world.join("ghost", instance=instance, protocols=protocols)
    assert (asked.error, asked.answer.member_id) == (25, "ghost")
    assert world.cluster.groups.find("g") is None


@for_each(
    ("group", "session", "member_id", "error"),
    [
        ("", 10_000, "ghost", 24),
        ("", 1, "ghost", 24),
        ("g", 5999, "ghost", 26),
        ("g", 1_800_001, "", 26),
        ("g", -1, "ghost", 26),
        ("g", 6000, "ghost", 25),
    ],
)
def test_the_gates_come_in_order_and_echo_the_id(group: str, session: int, member_id: str, error: int) -> None:
    world = World.make(group_min_session_timeout_ms=6000)
    asked = world.join(member_id, group=group, session=session)
    assert (asked.error, asked.answer.member_id, asked.answer.generation_id) == (error, member_id, -1)


@for_each("session", [6000, 1_800_000])
def test_the_bounds_of_the_session_timeout_are_accepted(session: int) -> None:
    assert World.make(group_min_session_timeout_ms=6000).join(session=session).error == 79


@for_each(("protocol_type", "protocols"), [("", RANGE), ("consumer", [])])
def test_an_empty_group_refuses_no_type_and_no_protocols_but_stays(protocol_type: str, protocols: list[tuple[str, bytes]]) -> None:
    world = World.make()
    assert world.join(protocol_type=protocol_type, protocols=protocols).error == 23
    assert (world.group().state, world.group().protocol_type) == ("Empty", None)


@for_each(("version", "name"), [(2, "range"), (6, "range"), (7, "range"), (9, "range")])
def test_answers_of_leader_and_follower(version: int, name: str) -> None:
    world = World.make()
    (leader, first), (follower, second) = world.enter(version=max(version, 4)), world.enter(version=max(version, 4))
    world.sleep(6000)
    assert [one.member_id for one in first.answer.members] == [member.member_id for member in world.group().ordered()]
    assert {one.metadata for one in first.answer.members} == {subscription("orders")}
    assert second.answer.members == []
    for answer, member_id in ((first.answer, leader), (second.answer, follower)):
        told = (answer.error_code, answer.generation_id, answer.leader, answer.member_id, answer.protocol_name, answer.skip_assignment)
        assert told == (0, 1, leader, member_id, name, False)
    assert first.answer.protocol_type == "consumer"


@for_each(("version", "name"), [(6, ""), (7, None)])
def test_a_protocol_without_a_name(version: int, name: str | None) -> None:
    world = World.make()
    _, asked = world.enter(version=version, protocols=[("", b"")], protocol_type="junk")
    world.sleep(3000)
    assert (asked.error, asked.answer.protocol_name) == (0, name)


@for_each(("version", "name"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_error_answers_have_an_empty_name_below_v7(version: int, name: str | None) -> None:
    assert World.make().join("ghost", version=version).answer.protocol_name == name


def test_a_second_join_replaces_the_parked_one_which_is_never_answered() -> None:
    world = World.make()
    member_id, first = world.enter()
    second = world.join(member_id)
    assert first.reason == f"member {member_id} sent another JoinGroup"
    assert world.group().awaiting == 1
    world.sleep(3000)
    assert second.error == 0


def test_an_immediate_answer_changes_neither_timeouts_nor_session() -> None:
    world = World.make()
    _leader, follower = world.stable(2)
    world.sleep(4000)
    before = world.group().members[follower].session.deadline
    assert world.join(follower, session=20_000, rebalance=1).error == 0
    member = world.group().members[follower]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms, member.session.deadline) == (10_000, 60_000, before)
    assert world.group().state == "Stable"


def test_the_park_path_takes_over_the_timeouts() -> None:
    world = World.make()
    _leader, follower = world.stable(2)
    world.enter()
    world.join(follower, session=20_000, rebalance=5)
    member = world.group().members[follower]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (20_000, 5)


def test_a_lone_leader_that_rejoins_gets_the_next_generation_at_once() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    asked = world.join(leader)
    assert (asked.error, asked.answer.generation_id) == (0, 2)
    assert world.reasons()[-2:] == [f"leader {leader} rejoined", "nobody else is awaited"]


def test_a_lone_member_must_share_a_protocol_with_itself() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    assert world.join(leader, protocols=[("sticky", b"")]).error == 23


def test_a_member_in_completing_gets_the_current_generation_and_the_leader_its_list() -> None:
    world = World.make()
    (leader, _), (follower, _) = world.enter(), world.enter()
    world.sleep(6000)
    again, other = world.join(leader), world.join(follower)
    assert (again.error, len(again.answer.members), other.error, other.answer.members) == (0, 2, 0, [])
    assert (again.answer.generation_id, world.group().generation) == (1, 1)


def test_v0_takes_the_session_timeout_for_the_rebalance_timeout() -> None:
    world = World.make()
    world.join(version=0, session=7000, rebalance=-1)
    assert next(iter(world.group().members.values())).rebalance_timeout_ms == 7000


def test_a_reservation_binds_nothing() -> None:
    world = World.make()
    member_id = world.join(session=9000, protocols=RANGE).answer.member_id
    world.join(member_id, session=20_000, protocols=[("sticky", subscription("orders"))])
    member = world.group().members[member_id]
    assert (member.session_timeout_ms, member.protocols[0][0]) == (20_000, "sticky")


def test_a_refused_protocol_leaves_the_reservation() -> None:
    world = World.make()
    world.stable(1)
    member_id = world.join().answer.member_id
    assert world.join(member_id, protocols=[("sticky", b"")]).error == 23
    assert world.join(member_id).parked


def test_metadata_is_shared_among_members_that_say_the_same() -> None:
    world = World.make()
    world.enter(protocols=[("range", subscription("orders"))])
    world.enter(protocols=[("range", subscription("orders"))])
    one, other = world.group().members.values()
    assert one.protocols is other.protocols
