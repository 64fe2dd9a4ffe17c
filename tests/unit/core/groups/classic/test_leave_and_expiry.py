"""LeaveGroup, expired sessions and silent connections (docs/kafka/group-protocol.md#leavegroup-and-expiry; P1-b3, P1-d6, P2-b5, P2-d4)."""

from __future__ import annotations

from cases import for_each
from core_world import World

from groupmock.core.settings import Quirks


@for_each("version", [0, 1, 2])
def test_up_to_v2_the_member_error_is_the_answers(version: int) -> None:
    world = World.make()
    (leader,) = world.stable(1)
    answer = world.leave("ghost", version=version).answer
    assert (answer.error_code, answer.members) == (25, [])
    assert world.leave(leader, version=version).error == 0


@for_each("version", [3, 4, 5])
def test_from_v3_each_entry_has_its_code_in_request_order_with_ids_as_sent(version: int) -> None:
    world = World.make()
    world.join(instance="i")
    leader = world.enter()[0]
    reserved = world.join().answer.member_id
    entries = [("ghost", None), ("", "i"), (leader, None), (leader, None), ("", None), ("", "nobody"), (reserved, "whatever")]
    answer = world.leave(*entries, version=version).answer
    assert answer.error_code == 0
    assert [(one.member_id, one.group_instance_id) for one in answer.members] == entries
    assert [one.error_code for one in answer.members] == [25, 0, 0, 25, 25, 25, 0]


@for_each(("version", "top", "members"), [(1, 25, []), (5, 0, [25, 25])])
def test_an_unknown_group(version: int, top: int, members: list[int]) -> None:
    world = World.make()
    answer = world.leave("a", "b", version=version).answer
    assert (answer.error_code, [one.error_code for one in answer.members]) == (top, members)
    assert world.cluster.groups.find("g") is None


@for_each(("version", "group", "error"), [(5, "", 24), (2, "", 24), (5, "g", 0)])
def test_an_empty_id_and_an_empty_list(version: int, group: str, error: int) -> None:
    answer = World.make().leave(*(["a"] if version < 3 else []), group=group, version=version).answer
    assert (answer.error_code, answer.members) == (error, [])


def test_several_that_leave_cause_one_rebalance_and_the_last_empties_the_group() -> None:
    world = World.make()
    leader, *others = world.stable(4)
    world.leave(*others[:2], reason="done")
    assert world.moves()[-1] == ("Stable", "PreparingRebalance", 1)
    assert world.reasons()[-1] == f"member {others[0]} and 1 more left: done"
    world.leave(leader, others[2])
    assert (world.group().state, world.group().generation, world.group().protocol_type) == ("Empty", 2, "consumer")


def test_a_parked_sync_of_a_leaver_is_never_answered_and_others_get_27() -> None:
    world = World.make()
    ids = [world.enter()[0] for _ in range(3)]
    world.sleep(6000)
    leader = world.group().leader_id
    one, other = (member_id for member_id in ids if member_id != leader)
    gone, stays = world.sync(one), world.sync(other)
    world.leave(one)
    assert gone.reason is not None
    assert one in gone.reason
    assert stays.error == 27


def test_a_parked_join_of_a_leaver_is_answered_25_without_an_id() -> None:
    world = World.make()
    member_id, asked = world.enter()
    world.leave(member_id)
    assert (asked.error, asked.answer.member_id, asked.answer.generation_id) == (25, "", -1)


@for_each(("quirks", "state"), [(Quirks(), "PreparingRebalance"), (Quirks(leaving_reservation_starts_nothing=True), "Stable")])
def test_a_reserved_id_that_leaves_in_stable(quirks: Quirks, state: str) -> None:
    world = World.make(quirks=quirks)
    world.stable(1)
    world.join()
    world.leave(next(iter(world.group().pending_joins)))
    assert world.group().state == {"PreparingRebalance": "PreparingRebalance", "Stable": "Stable"}[state]


def test_a_reserved_id_that_expires_in_stable_starts_nothing() -> None:
    world = World.make()
    (_leader,) = world.stable(1)
    world.join(session=2000)
    world.sleep(2000)
    assert (world.group().state, world.group().pending_joins) == ("Stable", set())


# -- sessions ----------------------------------------------------------------------------------------------------------


def test_a_silent_member_expires_and_the_rest_rebalances() -> None:
    world = World.make()
    leader, follower = world.stable(2)
    world.sleep(3000)
    world.beat(follower)
    world.sleep(9999)
    assert (leader in world.group().members, world.group().state) == (False, "PreparingRebalance")
    assert world.reasons()[-1] == f"session of {leader} expired after 10000 ms"
    assert ("session", ("g", leader)) in world.fired()
    world.sleep(1)
    assert (world.group().state, world.group().generation) == ("Empty", 2)


@for_each(("state", "code"), [("Stable", 0), ("PreparingRebalance", 27)])
def test_heartbeats_keep_a_member_alive(state: str, code: int) -> None:
    world = World.make()
    leader, follower = world.stable(2, session=6000, rebalance=200_000)
    if state == "PreparingRebalance":
        world.enter(rebalance=200_000)
    for _ in range(6):
        world.sleep(5000)
        assert [world.beat(leader), world.beat(follower)] == [code, code]


@for_each(("generation", "alive"), [(1, True), (0, False)])
def test_commits_keep_a_member_alive_if_they_are_accepted(generation: int, alive: bool) -> None:
    world = World.make()
    (leader,) = world.stable(1)
    for _ in range(3):
        world.sleep(4000)
        world.commit(leader, generation)
    assert (leader in world.group().members) is alive


def test_a_new_member_may_wait_300_s_for_its_first_answer() -> None:
    world = World.make()
    (_leader,) = world.stable(1, session=1_000_000, rebalance=1_000_000)
    newcomer, asked = world.enter(session=6000)
    world.sleep(299_999)
    assert asked.parked
    world.sleep(1)
    assert (asked.error, asked.answer.member_id, newcomer in world.group().members) == (25, "", False)


@for_each(("generation", "code", "waits"), [(1, 27, 6000), (0, 22, 299_000)])
def test_a_heartbeat_of_a_new_member_puts_its_own_session_in_place(generation: int, code: int, waits: int) -> None:
    world = World.make()
    world.stable(1, session=1_000_000, rebalance=1_000_000)
    newcomer, asked = world.enter(session=6000)
    world.sleep(1000)
    assert world.beat(newcomer, generation) == code
    world.sleep(waits - 1)
    assert asked.parked
    world.sleep(1)
    assert asked.error == 25


def test_a_known_member_does_not_expire_while_it_is_parked() -> None:
    world = World.make()
    leader, follower = world.stable(2, session=6000, rebalance=60_000)
    _newcomer, _ = world.enter(session=100_000)
    asked = world.join(follower, session=6000)
    for _ in range(5):
        world.sleep(5000)
        world.beat(leader)
    assert asked.parked
    world.join(leader, session=6000)
    assert asked.error == 0


def test_a_parked_sync_keeps_a_member_and_its_answer_starts_the_session_again() -> None:
    world = World.make()
    (leader, _), (follower, _) = world.enter(session=6000), world.enter(session=6000)
    world.sleep(6000)
    asked = world.sync(follower)
    for _ in range(4):
        world.sleep(5000)
        world.beat(leader)
    assert asked.parked
    world.sync(leader)
    world.sleep(5999)
    assert follower in world.group().members
    world.sleep(1)
    assert follower not in world.group().members


def test_the_last_expiry_in_preparing_ends_the_phase() -> None:
    world = World.make()
    leader, _follower = world.stable(2, session=6000)
    asked = world.join(leader, session=6000)
    world.sleep(6000)
    assert (asked.error, asked.answer.generation_id, len(asked.answer.members)) == (0, 2, 1)
