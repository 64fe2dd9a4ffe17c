"""The first rebalance of an Empty group waits for the initial delay (KIP-134; docs/kafka/group-protocol.md#join-timer; P1-d14)."""

from __future__ import annotations

from cases import for_each
from core_world import World

from groupmock.core.settings import Quirks

D = 3000

# Each row has the initial delay, the rebalance timeout, the time at which a member joins (0: the first) and the end of the phase, all in
# ms.
ENDS = [
    (3000, 10_000, [0], 3000),
    (3000, 10_000, [0, 1000], 6000),
    (3000, 10_000, [0, 1000, 4000, 7000], 10_000),
    (3000, 2000, [0, 1000], 3000),
    (0, 60_000, [0], 0),
]


@for_each(("delay", "timeout", "joins", "end"), ENDS)
def test_when_the_initial_phase_ends(delay: int, timeout: int, joins: list[int], end: int) -> None:
    world = World.make(group_initial_rebalance_delay_ms=delay)
    asked = []
    for at in joins:
        world.sleep(at - world.now)
        asked.append(world.enter(rebalance=timeout)[1])
    if end > world.now:
        world.sleep(end - world.now - 1)
        assert all(one.parked for one in asked)
    world.sleep(end - world.now)
    assert [one.error for one in asked] == [0] * len(joins)


@for_each(("first", "second", "end"), [(1800, 18_000, D), (18_000, 1800, 2 * D)])
def test_what_is_left_to_extend_comes_from_the_first_member(first: int, second: int, end: int) -> None:
    world = World.make()
    one = world.enter(rebalance=first)[1]
    world.enter(rebalance=second)
    world.sleep(end - 1)
    assert one.parked
    world.sleep(1)
    assert not one.parked


def test_a_join_that_left_again_still_extends() -> None:
    world = World.make()
    one = world.enter()[1]
    world.leave(world.enter()[0])
    world.sleep(2 * D - 1)
    assert one.parked
    world.sleep(1)
    assert one.error == 0


def test_a_reserved_id_neither_extends_nor_blocks() -> None:
    world = World.make()
    one = world.enter()[1]
    world.join()
    world.sleep(D)
    assert one.error == 0


def test_a_leave_does_not_cut_it_short() -> None:
    world = World.make()
    one = world.enter()[1]
    world.leave(world.join().answer.member_id)
    assert one.parked


@for_each(("quirks", "parked"), [(Quirks(), False), (Quirks(expiry_keeps_initial_delay=True), True)])
def test_an_expiry_cuts_it_short_unless_old(quirks: Quirks, parked: bool) -> None:
    world = World.make(quirks=quirks)
    one = world.enter()[1]
    world.join(session=200)
    world.sleep(200)
    assert one.parked is parked


@for_each(("quirks", "end"), [(Quirks(), 2 * D), (Quirks(new_member_at_generation_zero=True), D)])
def test_extension_in_a_group_that_was_emptied_before(quirks: Quirks, end: int) -> None:
    world = World.make(quirks=quirks)
    world.leave(*world.stable(1))
    one = world.enter()[1]
    world.enter()
    world.sleep(end - 1)
    assert one.parked
    world.sleep(1)
    assert one.error == 0


def test_an_only_member_that_leaves_empties_the_group_at_the_end() -> None:
    world = World.make()
    member_id, one = world.enter()
    world.leave(member_id)
    assert (one.error, one.answer.member_id, one.answer.generation_id) == (25, "", -1)
    assert world.group().state == "PreparingRebalance"
    world.sleep(D)
    assert (world.group().state, world.group().generation) == ("Empty", 1)


def test_moves_and_reasons_of_a_first_round() -> None:
    world = World.make()
    member_id, _ = world.enter(client="shop", reason="first start")
    world.sleep(D)
    world.sync(member_id, assignments={member_id: b"all"})
    assert world.moves() == [
        ("", "Empty", 0),
        ("Empty", "PreparingRebalance", 0),
        ("PreparingRebalance", "CompletingRebalance", 1),
        ("CompletingRebalance", "Stable", 1),
    ]
    assert world.reasons() == [
        "client 'shop' sent the first JoinGroup",
        f"member {member_id} joined: first start",
        "the initial delay is over",
        f"leader {member_id} brought the assignments",
    ]
