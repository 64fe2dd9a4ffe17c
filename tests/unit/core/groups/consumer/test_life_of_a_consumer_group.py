"""Leases, coordinator moves, removal by an administrator, steering commands and journal rows of a consumer group."""

from __future__ import annotations

from typing import Any

from cases import for_each
from consumer_world import ConsumerWorld

from groupmock.core.effects import MemberChanged, Moved, Reply
from groupmock_codec.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity

ALL = [0, 1, 2, 3, 4, 5]


def leased(world: ConsumerWorld, **fields: Any) -> bool:
    """Return whether the driver may repeat the answer to such a heartbeat."""
    world.beat(**fields)
    lease = world.rig.of(Reply)[-1].lease
    return lease is not None and lease.epoch == lease.group.epoch


def test_a_heartbeat_that_changes_nothing_may_be_repeated_until_something_does() -> None:
    world = ConsumerWorld()
    world.join("A")
    assert leased(world)
    lease = world.rig.of(Reply)[-1].lease
    assert lease is not None
    world.sleep(20_000)
    world.core.renew(lease).last = world.rig.now
    world.sleep(20_000)
    assert world.state()[0] == "Stable", "a repeated heartbeat is a sign of life"
    world.topic("v")
    assert lease.epoch == lease.group.epoch, "a topic that nobody subscribes to is no news"
    world.topics.grow(world.turn(), "t", 7)
    assert lease.epoch != lease.group.epoch


def test_nobody_on_the_way_has_a_lease() -> None:
    world = ConsumerWorld(group_consumer_assignment_interval_ms=1000)
    world.join("A")
    world.join("B")
    assert not leased(world), "the next heartbeat may compute"
    world.sleep(1000)
    assert not leased(world), "it was told to give up"
    assert not leased(world)


def test_a_member_whose_heartbeats_change_the_assignor_has_no_lease() -> None:
    world = ConsumerWorld()
    world.join("A", server_assignor="range")
    world.join("B", server_assignor="uniform")
    world.beat("A", owned=[0, 1, 2])
    assert not leased(world)
    world.beat("B", server_assignor="range")
    assert leased(world)


def test_a_group_is_where_it_was_when_its_coordinator_has_moved() -> None:
    world = ConsumerWorld(nodes=2)
    world.join("A", instance_id="i")
    world.join("B", subscribed_topic_regex="u", subscribed_topic_names=["t"])
    world.beat("A", instance_id="i")
    world.sleep(1)
    before = world.described()
    world.command("move_coordinator", group="g", node=3 - world.node)
    assert world.described() == before
    assert world.beat("A", instance_id="i", owned=[0, 1, 2])[0] == 4


@for_each("entry, code", [(("A", None), 0), (("", "i"), 0), (("B", "i"), 82), (("C", None), 25), (("", "j"), 25)])
def test_an_administrator_removes_members(entry: tuple[str, str | None], code: int) -> None:
    world = ConsumerWorld()
    world.join("A", instance_id="i")
    world.join("B")
    asked = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=entry[0], group_instance_id=entry[1])])
    (found,) = world.ask(13, 5, asked).members
    assert found.error_code == code
    assert world.state() == (("Reconciling", 3, 3) if code else ("Assigning", 4, 3))


def test_several_that_are_removed_together_call_for_one_target() -> None:
    world = ConsumerWorld()
    for name in "ABC":
        world.join(name)
    gone = [MemberIdentity(member_id=name) for name in ("A", "B", "A")]
    found = world.ask(13, 5, LeaveGroupRequest(group_id="g", members=gone)).members
    assert [each.error_code for each in found] == [0, 0, 0]
    assert world.state() == ("Assigning", 5, 4)


def test_members_are_expired_and_frozen_by_command() -> None:
    world = ConsumerWorld()
    world.join("A")
    world.join("B")
    world.command("freeze_member", group="g", member="B")
    sent = world.rig.send(68, 1, world.heartbeat_request("B", 3), client_id="c")
    assert sent.ticket not in world.answers
    world.command("thaw_member", group="g", member="B")
    assert world.answers[sent.ticket].member_epoch == 3
    world.command("expire_member", group="g", member="A")
    assert world.beat("B") == (4, ALL)


def test_rows_say_who_owes_what_to_whom() -> None:
    world = ConsumerWorld()
    world.join("A")
    world.join("B")
    world.beat("A")
    world.beat("A", owned=[0, 1, 2])
    world.beat("B")
    told = [(each.member_id, each.what, each.reason) for each in world.rig.of(MemberChanged)]
    assert told == [
        ("A", "added", "member A joined"),
        ("A", "reconciled", "member A is at epoch 2 with t/0, t/1, t/2, t/3 and 2 more"),
        ("B", "added", "member B joined"),
        ("B", "reconciled", "member B is at epoch 3 with nothing and waits for t/3, t/4, t/5"),
        ("A", "revoking", "member A owes the broker t/3, t/4, t/5"),
        ("A", "reconciled", "member A is at epoch 3 with t/0, t/1, t/2"),
        ("B", "reconciled", "member B is at epoch 3 with t/3, t/4, t/5"),
    ]
    moves = [(each.before, each.after, each.generation, each.cause) for each in world.rig.of(Moved)]
    assert moves == [
        ("", "Empty", 1, "group_created"), ("Empty", "Stable", 2, "member_joined"), ("Stable", "Reconciling", 3, "member_joined"),
        ("Reconciling", "Stable", 3, "reconciled"),
    ]  # fmt: skip
