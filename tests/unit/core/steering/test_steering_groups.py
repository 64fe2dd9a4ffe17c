"""Commands on classic groups hold a group in any state, release it, force a rebalance, end delays, order joins, and choose the leader."""

from __future__ import annotations

import pytest
from cases import for_each
from core_world import RANGE, World, subscription

from groupmock.core.steering import NotNow
from groupmock.core.steering.holds import holds_of
from groupmock_codec.messages.k42_delete_groups import DeleteGroupsRequest

OTHER = [("range", subscription("returns"))]


def completing(world: World, count: int = 2) -> list[str]:
    """Create a group in CompletingRebalance and return the member ids, the leader's first."""
    entered = [world.enter()[0] for _ in range(count)]
    world.finish_phase()
    return sorted(entered, key=lambda one: one != world.group().leader_id)


# -- holding -----------------------------------------------------------------------------------------------------------


def test_held_empty_nobody_joins() -> None:
    world = World.make()
    world.command("hold_group", group="g", state="Empty")
    first = world.join()
    assert first.error == 79, "reserving an id moves nobody"
    second = world.join(first.answer.member_id)
    world.sleep(5000)
    assert (second.parked, world.group().state, world.moves()) == (True, "Empty", [("", "Empty", 0)])
    world.command("release_group", group="g")
    world.finish_phase()
    assert (second.error, second.answer.generation_id) == (0, 1)


def test_held_empty_a_group_is_neither_deleted_nor_swept() -> None:
    world = World.make(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1000)
    world.commit()
    world.command("hold_group", group="g", state="Empty")
    deletion = world.send(DeleteGroupsRequest(groups_names=["g"]), 42)
    world.sleep(120_000)
    assert deletion.parked
    assert world.group().state == "Empty"
    world.command("release_group", group="g")
    assert not deletion.parked
    assert world.cluster.groups.find("g") is None


@for_each("delay", [0, 3000])
def test_held_preparing_the_first_phase_does_not_end(delay: int) -> None:
    world = World.make(group_initial_rebalance_delay_ms=delay)
    world.command("hold_group", group="g", state="PreparingRebalance")
    _, first = world.enter()
    world.sleep(delay + 10_000)
    _, second = world.enter()
    world.sleep(10_000)
    assert (first.parked, second.parked, world.group().state) == (True, True, "PreparingRebalance")
    world.command("release_group", group="g")
    assert (first.answer.generation_id, second.answer.generation_id) == (1, 1)


def test_held_preparing_a_later_phase_waits_though_all_joined() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.command("hold_group", group="g", state="PreparingRebalance")
    assert world.beat(leader) == 0, "armed: the group is still Stable"
    joins = [world.join(leader), world.join(follower)]
    world.sleep(30_000)
    assert [each.parked for each in joins] == [True, True]
    world.command("release_group", group="g")
    assert [each.answer.generation_id for each in joins] == [2, 2]


def test_held_preparing_the_rebalance_timeout_removes_nobody_before_the_release() -> None:
    world = World.make()
    leader, follower = world.stable(2, rebalance=5_000, session=60_000)
    world.command("hold_group", group="g", state="PreparingRebalance")
    world.join(leader, rebalance=5_000, session=60_000)
    world.sleep(20_000)
    assert set(world.group().members) == {leader, follower}
    world.command("release_group", group="g")
    assert (set(world.group().members), world.group().state) == ({leader}, "CompletingRebalance")


def test_released_before_the_phase_is_due_nothing_happens() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.command("hold_group", group="g", state="PreparingRebalance")
    join = world.join(leader)
    world.command("release_group", group="g")
    assert (join.parked, world.group().state) == (True, "PreparingRebalance")
    world.join(follower)
    assert join.answer.generation_id == 2


def test_held_completing_the_leaders_sync_waits_and_followers_do_as_ever() -> None:
    world = World.make()
    leader, follower = completing(world)
    world.command("hold_group", group="g", state="CompletingRebalance")
    syncs = [world.sync(follower), world.sync(leader, assignments={follower: b"f", leader: b"l"})]
    world.sleep(1000)
    assert ([each.parked for each in syncs], world.group().state) == ([True, True], "CompletingRebalance")
    assert world.beat(leader) == 0
    world.command("release_group", group="g")
    assert ([each.answer.assignment for each in syncs], world.group().state) == ([b"f", b"l"], "Stable")


@for_each("state", ["CompletingRebalance", "Stable"])
def test_held_in_a_generation_newcomers_and_leaves_wait(state: str) -> None:
    world = World.make()
    _, follower = world.stable(2) if state == "Stable" else completing(world)
    world.command("hold_group", group="g", state=state)
    _, newcomer = world.enter()
    leaving = world.leave(follower)
    changed = world.join(follower, protocols=OTHER)
    assert (newcomer.parked, leaving.parked, changed.parked, world.group().state) == (True, True, True, state)
    world.command("release_group", group="g")
    assert world.group().state == "PreparingRebalance"
    assert (newcomer.parked, leaving.error, changed.error) == (True, 0, 25), "in order of arrival: it left before it joined again"


def test_held_stable_a_follower_that_rejoins_unchanged_is_answered_and_the_leader_waits() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.command("hold_group", group="g", state="Stable")
    assert world.join(follower).answer.generation_id == 1
    rejoin = world.join(leader)
    assert rejoin.parked
    world.command("release_group", group="g")
    assert (rejoin.parked, world.group().state) == (True, "PreparingRebalance")


def test_held_stable_sessions_do_not_end_before_the_release() -> None:
    world = World.make()
    leader, follower = world.stable(2, session=10_000)
    world.command("hold_group", group="g", state="Stable")
    world.sleep(9_000)
    world.beat(leader)
    world.sleep(9_000)
    assert world.group().state == "Stable"
    world.beat(leader)
    world.command("release_group", group="g")
    assert (set(world.group().members), world.group().state) == ({leader}, "PreparingRebalance")
    assert world.fired()[-1] == ("session", ("g", follower))


def test_a_session_that_was_over_and_is_renewed_before_the_release_goes_on() -> None:
    world = World.make()
    leader, follower = world.stable(2, session=10_000)
    world.command("hold_group", group="g", state="Stable")
    world.sleep(12_000)
    assert [world.beat(leader), world.beat(follower)] == [0, 0]
    world.command("release_group", group="g")
    assert world.group().state == "Stable"
    world.sleep(10_000)
    assert world.group().state == "Empty", "the renewed sessions end in their time"


def test_held_completing_the_sync_timer_waits() -> None:
    world = World.make()
    completing(world)
    world.command("hold_group", group="g", state="CompletingRebalance")
    world.sleep(100_000)
    assert world.group().state == "CompletingRebalance"
    world.command("release_group", group="g")
    assert world.group().state != "CompletingRebalance"


def test_who_is_not_the_coordinator_does_not_wait() -> None:
    world = World.make(nodes=2)
    world.command("hold_group", group="g", state="Empty")
    away = 3 - (world.cluster.groups.hosting.node_of("g") or 0)
    assert world.join("", version=0, node=away).error == 16


def test_held_in_another_state_it_is_released_from_the_first() -> None:
    world = World.make()
    world.command("hold_group", group="g", state="Empty")
    join = world.join(version=0)
    world.command("hold_group", group="g", state="CompletingRebalance")
    world.finish_phase()
    assert join.answer.generation_id == 1
    sync = world.sync(join.answer.member_id, version=0)
    assert sync.parked


def test_held_in_another_state_what_waited_happens_before_that_counts() -> None:
    """Two members join with other protocols while the group is held in Stable. The new hold applies to PreparingRebalance, but they pass
    through that state because their requests came earlier."""
    world = World.make()
    members = world.stable(2)
    world.command("hold_group", group="g", state="Stable")
    joins = [world.join(member, protocols=OTHER) for member in members]
    assert [join.parked for join in joins] == [True, True]
    world.command("hold_group", group="g", state="PreparingRebalance")
    assert ([join.answer.generation_id for join in joins], world.group().state) == ([2, 2], "CompletingRebalance")
    assert world.environment.holds.of("g").state == "PreparingRebalance"


def test_a_hold_and_its_release_end_leases() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    for name, more in (("hold_group", {"state": "Stable"}), ("release_group", {})):
        lease = world.beats(leader).lease
        assert lease is not None
        world.command(name, group="g", **more)
        assert world.group().epoch != lease.epoch


def test_released_twice_is_harmless() -> None:
    world = World.make()
    world.stable(1)
    world.command("hold_group", group="g", state="Stable")
    world.command("release_group", group="g")
    world.command("release_group", group="g")
    assert world.group().state == "Stable"


@for_each(("name", "arguments"), [("force_rebalance", {}), ("expire_member", {"member": "c"})], ids=["rebalance", "expire"])
def test_a_held_group_is_not_moved_by_a_command_either(name: str, arguments: dict[str, str]) -> None:
    world = World.make()
    world.stable(1)
    world.command("hold_group", group="g", state="Stable")
    with pytest.raises(NotNow, match="group 'g' is held in Stable: release it before you"):
        world.command(name, group="g", **arguments)


# -- moving ------------------------------------------------------------------------------------------------------------


def test_a_forced_rebalance_is_told_by_heartbeats() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.command("force_rebalance", group="g", reason="a test wants it")
    assert [world.beat(leader), world.beat(follower)] == [27, 27]
    assert world.reasons()[-1] == "a test wants it"


def test_a_forced_rebalance_refuses_the_syncs_that_wait() -> None:
    world = World.make()
    _, follower = completing(world)
    sync = world.sync(follower)
    world.command("force_rebalance", group="g")
    assert (sync.error, world.group().state) == (27, "PreparingRebalance")


@for_each("generation", [None, 3, 7])
def test_a_generation_that_is_set_makes_its_members_join_again(generation: int | None) -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.command("set_generation", group="g", generation=5)
    known = 5
    world.command("set_generation", group="g", **({} if generation is None else {"generation": generation}))
    now = known + 1 if generation is None else generation
    assert (world.moves()[-1], world.group().generation) == (("Stable", "Stable", now), now)
    assert world.reasons()[-1] == f"its generation was {known} and was set, unknown to its members"
    commit = world.commit(leader, known).answer.topics[0].partitions[0].error_code
    assert [world.beat(leader, known), commit, world.sync(follower, known).error] == [22, 22, 22]
    assert [world.beat(leader, now), world.sync(follower, now).error] == [0, 0]
    assert set(world.group().members) == {leader, follower}
    joins = [world.join(leader), world.join(follower)]
    assert [join.answer.generation_id for join in joins][:1] == [now + 1]


def test_a_generation_that_is_set_is_in_the_coordinators_log() -> None:
    world = World.make()
    (leader,) = world.stable(1)
    world.command("set_generation", group="g", generation=41)
    world.command("move_coordinator", group="g")
    assert (world.group().generation, world.beat(leader, 41)) == (41, 0)


@for_each("state", ["PreparingRebalance", "CompletingRebalance"])
def test_no_generation_is_set_while_a_group_rebalances(state: str) -> None:
    world = World.make()
    if state == "PreparingRebalance":
        world.enter()
    else:
        completing(world)
    with pytest.raises(NotNow, match=f"group 'g' is {state}: the generation can be set of a Stable or an Empty group only"):
        world.command("set_generation", group="g")


def test_the_generation_that_a_group_has_is_not_set() -> None:
    world = World.make()
    world.stable(1)
    with pytest.raises(NotNow, match="group 'g' is in generation 1 already: name another one, or none for the next"):
        world.command("set_generation", group="g", generation=1)


@for_each("state", ["Empty", "PreparingRebalance"])
def test_what_rebalances_or_has_nobody_cannot_be_made_to(state: str) -> None:
    world = World.make()
    if state == "Empty":
        world.commit()
    else:
        world.enter()
    with pytest.raises(NotNow, match=f"group 'g' is {state}: only a Stable"):
        world.command("force_rebalance", group="g")


def test_the_initial_delay_is_ended_without_the_extension_for_newcomers() -> None:
    world = World.make()
    joins = [world.enter()[1], world.enter()[1]]
    world.command("complete_delay", group="g")
    assert [each.answer.generation_id for each in joins] == [1, 1]
    assert world.fired() == [("join", ("g",))]


def test_the_rebalance_timeout_is_ended_and_who_is_silent_is_removed() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    join = world.join(leader)
    world.command("complete_delay", group="g")
    assert (join.answer.generation_id, list(world.group().members)) == (2, [leader])
    assert world.changes("removed") == [follower]


# -- who joins, who leads ----------------------------------------------------------------------------------------------


def test_joins_are_let_in_in_the_order_told() -> None:
    world = World.make()
    world.command("order_joins", group="g", names=["a", "b"])
    others = [world.join(version=3, client="x")]
    b = world.join(version=3, client="b")
    assert world.cluster.groups.find("g") is None
    a = world.join(version=3, client="a")
    assert [world.group().members[member_id].client_id for member_id in world.changes("added")] == ["a", "b", "x"]
    world.finish_phase()
    assert [each.answer.generation_id for each in (a, b, *others)] == [1, 1, 1]
    assert world.group().members[a.answer.leader].client_id == "a", "who joins first leads"


def test_an_order_is_called_off_by_a_release() -> None:
    world = World.make()
    world.command("order_joins", group="g", names=["a"])
    join = world.join(version=3, client="b")
    world.command("release_group", group="g")
    world.finish_phase()
    assert join.answer.generation_id == 1


def test_a_second_order_is_refused_while_one_is_awaited() -> None:
    world = World.make()
    world.command("order_joins", group="g", names=["a", "b"])
    with pytest.raises(NotNow, match="a, b are awaited: release it first"):
        world.command("order_joins", group="g", names=["c"])


@for_each("by", ["member id", "client id"])
def test_the_chosen_leader_leads_the_next_generation_once(by: str) -> None:
    world = World.make()
    ids = [world.enter(client=f"c{place}")[0] for place in range(3)]
    world.finish_phase()
    before = world.group().leader_id
    chosen = next(one for one in ids if one != before)
    world.command("choose_leader", group="g", member=chosen if by == "member id" else world.group().members[chosen].client_id)
    assert world.group().leader_id == before, "the next generation, not this one"
    world.command("force_rebalance", group="g")
    joins = {one: world.join(one) for one in ids}
    assert {one: join.answer.leader for one, join in joins.items()} == dict.fromkeys(ids, chosen)
    assert len(joins[chosen].answer.members) == 3
    assert holds_of(world.cluster).leaders == {}


def test_a_chosen_leader_that_did_not_join_is_still_chosen_for_the_generation_after() -> None:
    world = World.make()
    world.command("choose_leader", group="g", member="late")
    (first,) = world.stable(1, protocols=RANGE)
    _, late = world.enter(client="late")
    world.join(first)
    assert late.answer.leader == late.answer.member_id
