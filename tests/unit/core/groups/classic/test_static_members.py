"""Static membership and replacement of instances (KIP-345, KIP-814; docs/kafka/group-protocol.md#static-membership; P1-b2, P1-d9,
P1-d16)."""

from __future__ import annotations

from cases import for_each
from core_world import World, subscription

from groupmock.core.settings import Quirks


def static_group(world: World, *instances: str, **how: int) -> list[str]:
    """Create a Stable group of static members in that order, with the first as leader."""
    joins = [world.join(instance=one, **how) for one in instances]
    world.finish_phase()
    ids = [one.answer.member_id for one in joins]
    for member_id in reversed(ids):
        world.sync(member_id, assignments={one: one.encode() for one in ids})
    assert world.group().state == "Stable"
    return ids


def test_no_79_for_a_static_member_at_any_version() -> None:
    world = World.make()
    assert world.join(instance="i", version=5).parked
    assert world.join(instance="j", version=9).parked


@for_each(
    ("member", "instance", "error"),
    [
        ("own", "i", 0),
        ("own", None, 0),
        ("own", "j", 82),
        ("own", "nobody", 25),
        ("ghost", "i", 82),
        ("ghost", None, 25),
        ("ghost", "nobody", 25),
    ],
)
@for_each("api", ["heartbeat", "sync", "leave", "commit", "join"])
def test_request_is_judged_by_member_id_and_instance(api: str, member: str, instance: str | None, error: int) -> None:
    world = World.make()
    ids = static_group(world, "j", "i")
    who = ids[1] if member == "own" else member
    if api == "heartbeat":
        found = world.beat(who, instance=instance)
    elif api == "sync":
        found = world.sync(who, instance=instance).error
    elif api == "leave":
        found = world.leave((who, instance)).answer.members[0].error_code
    elif api == "commit":
        found = world.commit(who, 1, instance=instance).answer.topics[0].partitions[0].error_code
    else:
        found = world.join(who, instance=instance).error
    assert found == error


def test_a_replaced_leader_v9_keeps_the_generation_and_skips_the_assignment() -> None:
    world = World.make()
    old, other = static_group(world, "i", "j")
    asked = world.join(instance="i", protocols=[("range", subscription("orders", "pay"))])
    answer, new = asked.answer, asked.answer.member_id
    assert (answer.error_code, answer.generation_id, answer.leader, answer.skip_assignment) == (0, 1, new, True)
    listed = {one.member_id: one.metadata for one in answer.members}
    assert listed == {new: subscription("orders", "pay"), other: subscription("orders")}
    assert world.sync(new).answer.assignment == old.encode()
    assert (world.beat(old, instance="i"), world.beat(old), world.beat(new), world.beat(other)) == (82, 25, 0, 0)
    assert world.group().state == "Stable"


def test_a_replaced_leader_v8_is_told_that_its_old_id_leads() -> None:
    world = World.make()
    old, _ = static_group(world, "i", "j")
    answer = world.join(instance="i", version=8).answer
    assert (answer.leader, answer.members, answer.skip_assignment) == (old, [], False)
    assert world.group().leader_id == answer.member_id


def test_a_replaced_follower_is_told_the_leader() -> None:
    world = World.make()
    leader, _ = static_group(world, "i", "j")
    answer = world.join(instance="j").answer
    assert (answer.leader, answer.members, answer.skip_assignment) == (leader, [], False)


def test_a_replacement_that_changes_the_protocol_rebalances() -> None:
    world = World.make()
    static = [("range", subscription("orders")), ("sticky", subscription("orders"))]
    joins = [world.join(instance=one, protocols=static) for one in ("i", "j", "k")]
    world.finish_phase()
    world.sync(joins[0].answer.member_id, assignments={})
    for instance, parked in (("j", False), ("k", True)):
        assert world.join(instance=instance, protocols=list(reversed(static))).parked is parked


def test_a_replacement_in_completing_rebalances_and_refuses_the_old_requests() -> None:
    world = World.make()
    joins = [world.join(instance=one) for one in ("i", "j")]
    world.sleep(6001)
    old = joins[1].answer.member_id
    sync = world.sync(old)
    again = world.join(instance="j")
    assert (sync.error, again.parked, world.group().state) == (82, True, "PreparingRebalance")


def test_a_replacement_in_preparing_refuses_the_old_join() -> None:
    world = World.make()
    first = world.join(instance="i")
    old = next(iter(world.group().members))
    second = world.join(instance="i")
    assert (first.error, first.answer.member_id, first.answer.generation_id) == (82, old, -1)
    world.sleep(3000)
    assert (second.error, len(world.group().members)) == (0, 1)


def test_the_replaced_session_counts_the_old_timeout_at_first() -> None:
    world = World.make()
    static_group(world, "i", "j", session=8000)
    new = world.join(instance="i", session=20_000).answer.member_id
    world.sleep(7999)
    assert new in world.group().members
    world.sleep(1)
    assert new not in world.group().members


@for_each(("quirks", "error"), [(Quirks(), None), (Quirks(replacement_stays_new=True), 25)])
def test_who_replaces_a_member_before_its_first_answer(quirks: Quirks, error: int | None) -> None:
    """The replaced member's session timeout still applies while the JoinGroup is parked; the coordinator of Kafka 3.9 then expires the
    member."""
    world = World.make(quirks=quirks)
    static_group(world, "i", session=100_000, rebalance=100_000)
    world.join(instance="new", session=8000, rebalance=100_000)
    second = world.join(instance="new", session=100_000, rebalance=100_000)
    world.sleep(7999)
    assert second.parked
    world.sleep(1)
    assert (None if second.parked else (second.error, second.answer.member_id)) == (None if error is None else (error, ""))


def test_a_debt_that_a_replaced_id_left_behind() -> None:
    """The member was replaced in Stable before it synced, so its old id stays in pending_syncs, and the sync timer starts a rebalance."""
    world = World.make()
    joins = [world.join(instance=one, rebalance=20_000, session=100_000) for one in ("i", "j")]
    world.sleep(6001)
    leader = joins[0].answer.member_id
    world.sync(leader)
    new = world.join(instance="j", rebalance=20_000, session=100_000).answer.member_id
    world.sync(new)
    world.sleep(20_000)
    assert (world.group().state, len(world.group().members)) == ("PreparingRebalance", 2)


def test_silent_static_members_stay_through_the_phase_and_owe_a_sync() -> None:
    world = World.make()
    leader, silent = static_group(world, "i", "j", rebalance=5000, session=60_000)
    asked = world.join(leader, instance="i", rebalance=5000, session=60_000)
    world.sleep(5000)
    assert {one.member_id for one in asked.answer.members} == {leader, silent}
    assert (world.beat(silent, 1), world.beat(silent, 2)) == (22, 0)
    world.sync(leader, 2, {silent: b"S"})
    world.sleep(5000)
    assert (world.beat(silent, 2), world.beat(leader, 2)) == (25, 27)


def test_a_silent_static_member_may_settle_with_its_old_id() -> None:
    world = World.make()
    leader, silent = static_group(world, "i", "j", rebalance=5000, session=60_000)
    world.join(leader, instance="i", rebalance=5000, session=60_000)
    world.sleep(5000)
    world.sync(leader, 2, {silent: b"S"})
    assert world.sync(silent, 2).answer.assignment == b"S"
    world.sleep(5000)
    assert (world.group().state, len(world.group().members)) == ("Stable", 2)


def test_only_silent_static_members_keep_the_group_preparing() -> None:
    world = World.make()
    leader, silent = static_group(world, "i", "j", rebalance=5000, session=60_000)
    world.enter(rebalance=5000)
    world.leave(next(one for one in world.group().members if one not in (leader, silent)))
    world.sleep(16_000)
    assert (world.group().state, world.group().generation) == ("PreparingRebalance", 1)
    world.sleep(60_000)
    assert (world.group().state, world.group().generation) == ("Empty", 2)


def test_a_replacement_that_cannot_be_stored_is_undone() -> None:
    world = World.make(quirks=Quirks(group_record_limit=True), message_max_bytes=2000)
    old, _other = static_group(world, "i", "j")
    asked = world.join(instance="i", protocols=[("range", subscription("orders", user_data=bytes(2000)))])
    assert (asked.error, asked.answer.member_id, asked.answer.generation_id) == (-1, "", 1)
    assert (world.beat(old, instance="i"), world.group().leader_id, world.group().state) == (0, old, "Stable")
    assert world.group().members[old].protocols == (("range", subscription("orders")),)


def test_an_empty_instance_id_is_an_instance_id() -> None:
    world = World.make()
    world.join(instance="")
    assert next(iter(world.group().members)).startswith("-")
    assert list(world.group().static_members) == [""]


def test_a_replacement_that_lists_its_protocol_twice_is_refused_and_counts_as_joined() -> None:
    # A protocol that a member lists twice is counted twice in Kafka 4.3, which then finds none that all members list, and throws
    # (differential check, groups seed 20413).
    world = World.make(quirks=Quirks(doubled_protocol_hangs=True))
    leader, follower = static_group(world, "i", "j")
    twice = [("range", subscription("t")), ("range", subscription("u"))]
    refused = world.join(instance="j", protocols=twice)
    assert refused.answer.error_code == -1 and world.group().state == "Stable"
    new = next(one for one in world.group().members if one not in (leader, follower))
    parked = world.group().members[new].join
    assert parked is not None and parked.answered
    # Two members list the protocol "range" three times, so no protocol counts as listed by all.
    assert world.join(leader, instance="i").answer.error_code == 23


# -- what arrives while the record of a replacement is written (each seen on 4.3.0) -----------------------------------------------------


def at_once(quirks: Quirks | None = None, instances: str = "ij", **how: int) -> tuple[World, list[str]]:
    """Create a Stable group of static members with the first as leader, in which later requests arrive together."""
    world = World.make(quirks=quirks)
    ids = static_group(world, *instances, **how)
    world.at_once = True
    return world, ids


def test_a_static_member_overtaken_before_its_answer_is_fenced() -> None:
    world, _ = at_once()
    first, second, third = (world.join(instance="j") for _ in range(3))
    overtaken = world.changes("replaced")
    world.fire()
    assert [one.error for one in (first, second, third)] == [82, 82, 0]
    assert [first.answer.member_id, second.answer.member_id, third.answer.member_id] == overtaken
    assert (first.answer.generation_id, world.group().state, world.group().generation) == (-1, "Stable", 1)
    assert world.beat(third.answer.member_id, instance="j") == 0


def test_static_members_that_restart_one_after_the_other_are_all_answered() -> None:
    world, _ = at_once()
    first = world.join(instance="j")
    world.fire()
    second = world.join(instance="j")
    world.fire()
    assert (first.error, second.error) == (0, 0)


def test_the_old_coordinator_answers_every_restart_at_once() -> None:
    world, _ = at_once(Quirks(replacement_answered_at_once=True))
    assert [world.join(instance="j").error for _ in range(2)] == [0, 0]


def test_a_replacement_that_forces_a_rebalance_fences_the_one_before() -> None:
    world = World.make()
    both = [("range", subscription("orders")), ("sticky", subscription("orders"))]
    joins = [world.join(instance=one, protocols=both) for one in "ij"]
    world.finish_phase()
    for one in reversed(joins):
        world.sync(one.answer.member_id, assignments={})
    world.at_once = True
    chosen = world.group().protocol_name
    first = world.join(instance="j", protocols=both)
    second = world.join(instance="j", protocols=[one for one in both if one[0] != chosen])
    world.fire()
    assert (first.error, second.parked, world.group().state) == (82, True, "PreparingRebalance")


def test_before_v9_who_overtakes_is_told_that_the_overtaken_leads() -> None:
    world, _ = at_once()
    first, second = (world.join(instance="i", version=8) for _ in range(2))
    world.fire()
    assert (first.error, second.error, second.answer.leader) == (82, 0, first.answer.member_id)
    assert world.group().leader_id == second.answer.member_id


def test_a_replacement_whose_instance_leaves_before_its_answer_is_unknown() -> None:
    world, _ = at_once()
    joined, left = world.join(instance="j"), world.leave(("", "j"))
    world.fire()
    assert (joined.error, joined.answer.member_id, left.answer.members[0].error_code) == (25, "", 0)


def test_a_replacement_counts_as_joined_where_a_leader_rebalances_before_its_answer() -> None:
    world, (leader, _) = at_once()
    joined, again = world.join(instance="j"), world.join(leader, instance="i")
    world.fire()
    assert [(one.error, one.answer.generation_id) for one in (joined, again)] == [(0, 2), (0, 2)]


def test_a_lone_replacement_and_a_newcomer_begin_a_generation_together() -> None:
    world, _ = at_once(instances="i")
    joined, newcomer = world.join(instance="i"), world.join(instance="new")
    world.fire()
    assert [(one.error, one.answer.generation_id) for one in (joined, newcomer)] == [(0, 2), (0, 2)]
    assert (len(joined.answer.members), joined.answer.skip_assignment) == (2, False)


def test_a_replacement_is_answered_in_a_join_phase_that_others_hold_up_and_has_to_come_again() -> None:
    world, (leader, _) = at_once()
    joined, newcomer = world.join(instance="j"), world.join(instance="new")
    assert world.group().awaiting == 2
    world.fire()
    assert (joined.error, joined.answer.generation_id, world.group().awaiting) == (0, 1, 1)
    again = world.join(leader, instance="i")
    assert (newcomer.parked, again.parked) == (True, True)
    world.join(joined.answer.member_id, instance="j")
    assert (newcomer.answer.generation_id, again.answer.generation_id) == (2, 2)


def test_a_replacement_whose_record_is_not_written_before_the_coordinator_moves() -> None:
    world, _ = at_once()
    joined = world.join(instance="j")
    world.command("unload_coordinator", group="g")
    world.fire()
    assert joined.error == 16


def test_restarts_that_a_held_group_lets_in_together_fence_each_other() -> None:
    world, _ = at_once()
    world.command("hold_group", group="g", state="Stable")
    first, second = world.join(instance="j"), world.join(instance="j")
    assert (first.parked, second.parked) == (True, True)
    world.command("release_group", group="g")
    world.fire()
    assert (first.error, second.error) == (82, 0)
