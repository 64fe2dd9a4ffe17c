"""The ownership map tells which process owned a partition from when to when, and what each rebalance moved and left without an owner."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from consumer_wire import ConsumerWire, handed_over, in_trouble
from journal_pen import TOPIC, Pen
from ownership_recount import Recount
from random_groups import Namesakes, history, restarts
from rebalance_corners import BOTH, JOINED, SWAPPED
from searching import seeds

from groupmock.journal.read import read
from groupmock.journal.rows import MemberRow, Row
from groupmock.rounds import OWNED, PALE, SHARED, UNKNOWN, UNOWNED, OwnershipMap, Partition, Processes, ownership_maps
from groupmock_clients.scenarios.catalogue import SCENARIOS, VIRTUAL, plays, scenario
from groupmock_clients.scenarios.measure import measure
from groupmock_clients.scenarios.play import Protocol, Sizes, play
from groupmock_clients.scenarios.virtual import open_stage
from groupmock_codec.units import NS_PER_S
from tools.budgets.meter import counted

STATES = (PALE, UNOWNED, SHARED)


def spans_of(found: OwnershipMap, partition: Partition) -> list[tuple[str, tuple[str, ...], int, int | None]]:
    return [(each.state, each.processes, each.since, each.until) for each in found.spans[partition]]


# -- processes


def test_members_of_one_client_id_are_numbered_in_the_order_in_which_they_come() -> None:
    processes = Processes()
    for member in ("x", "y", "z"):
        processes.comes(member, "app")
    assert [processes.of(each) for each in ("x", "y", "z")] == ["app", "app (2)", "app (3)"]


def test_a_member_that_comes_costs_the_same_beside_thousands_of_its_name() -> None:
    """The log once compared a new member with every other one, which took the server seconds while 5,000 joined."""

    def cost(others: int) -> int:
        processes = Processes()
        for number in range(others):
            processes.comes(f"m{number}", "app")
        processes.hangs_up(f"m{others // 2}")

        def both_come() -> None:
            processes.comes("new", "app")
            processes.comes("newer", "app")

        return counted(both_come, 1_000, 2**20).steps

    assert cost(2_000) == cost(10)


@for_each("how", ["hangs_up", "goes"])
def test_a_process_that_restarts_keeps_its_name(how: str) -> None:
    processes = Processes()
    for member in ("x", "y", "z"):
        processes.comes(member, "app")
    getattr(processes, how)("y")
    processes.comes("y-again", "app")
    assert [processes.of(each) for each in ("x", "y", "z", "y-again")] == ["app", "app (2)", "app (3)", "app (2)"]


def test_a_member_that_connects_again_after_its_number_was_taken_gets_another() -> None:
    processes = Processes()
    processes.comes("x", "app")
    processes.hangs_up("x")
    processes.comes("y", "app")
    processes.comes("x", None)
    assert (processes.of("x"), processes.of("y")) == ("app (2)", "app")


def test_the_name_in_a_member_id_goes_before_the_client_id() -> None:
    processes = Processes()
    processes.comes("shelf-7-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f", "anna")
    assert processes.of("shelf-7-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f") == "shelf-7"


# -- states


def test_a_dead_owner_is_pale_until_its_session_ends_and_then_nobody_owns() -> None:
    stage = Namesakes({"orders": 2})
    anna, ben = (stage.consumer(name, session_ms=10_000) for name in ("anna", "ben"))
    stage.together(anna, ben)
    begin = stage.rig.clock.now()
    (mine,) = ben.assignment
    stage.hang_up("ben")
    for _ in range(4):
        stage.sleep(3000)
        anna.beat()
    anna.join()
    stage.sleep(0)
    anna.sync()
    stage.sleep(0)
    found = ownership_maps(stage.ring.rows)["kitchen"]
    told = [(state, processes, since - begin, until) for state, processes, since, until in spans_of(found, mine)][-3:]
    (lapsed,) = (row.t for row in stage.ring.rows if isinstance(row, MemberRow) and row.what == "removed")
    got = begin + 12 * NS_PER_S
    assert told == [(PALE, ("ben",), 0, lapsed), (UNOWNED, (), lapsed - begin, got), (OWNED, ("anna",), got - begin, None)]
    assert (found.rebalances[-1].moved, found.processes) == (1, ["anna", "ben"])
    assert begin < lapsed < got
    assert found.rebalances[-1].unowned(found.end) == found.lasted(PALE, UNOWNED, begin=begin)


def test_a_member_that_only_lost_its_connection_owns_again_when_it_commits() -> None:
    stage = Namesakes({"orders": 1})
    anna = stage.consumer("anna", session_ms=10_000)
    stage.together(anna)
    stage.sleep(1000)
    since = stage.rig.clock.now()
    stage.hang_up("anna")
    stage.sleep(2000)
    anna.commit({("orders", 0): 1})
    stage.sleep(0)
    found = ownership_maps(stage.ring.rows)["kitchen"]
    again = since + 2 * NS_PER_S
    assert spans_of(found, ("orders", 0))[1:] == [(PALE, ("anna",), since, again), (OWNED, ("anna",), again, None)]
    assert found.lasted(PALE, UNOWNED, begin=since) == 2 * NS_PER_S


def test_what_rows_do_not_show_is_unknown() -> None:
    pen = Pen()
    pen.at(100).round("tea", 1, BOTH, JOINED, "Empty")
    pen.at(1000).round("tea", 2, SWAPPED, "leader m1 rejoined")
    pen.at(2000).round("tea", 3, BOTH, "leader m1 rejoined")
    second = next(place for place, row in enumerate(pen.rows) if row["t"] == 1000)
    whole, cut = ownership_maps(pen.rows)["tea"], ownership_maps(pen.rows[second:])["tea"]
    assert ([each.moved for each in whole.rebalances], whole.moved) == ([0, 4, 4], 8)
    assert ([each.moved for each in cut.rebalances], cut.moved) == ([None, 4], None)
    assert spans_of(cut, (TOPIC, 0))[0] == (UNKNOWN, (), 1000, 1020)


def test_new_partitions_have_no_owner_until_the_leader_knows_them() -> None:
    stage = Namesakes({"orders": 1})
    anna = stage.consumer("anna")
    stage.together(anna)
    stage.rig.command("grow_topic", name="orders", partitions=2)
    since = stage.rig.clock.now()
    stage.sleep(2000)
    stage.together(anna)
    first, second = spans_of(ownership_maps(stage.ring.rows)["kitchen"], ("orders", 1))[:2]
    assert first == (UNOWNED, (), since, second[2])
    assert second[:2] == (OWNED, ("anna",))


# -- all figures, against a recount


def check(rows: list[Row]) -> None:
    for name, found in ownership_maps(rows).items():
        counted = Recount(name).feed(rows)
        assert {state: found.lasted(state) for state in STATES} == {state: counted.ns[state] for state in STATES}, name
        assert found.moved == counted.moved, name
        now = {partition: (spans[-1].state, spans[-1].processes) for partition, spans in found.spans.items()}
        assert now == counted.states(), name
        lost = sum(each.unowned(found.end) for each in found.rebalances)
        assert lost <= found.lasted(PALE, UNOWNED)


@for_each("seed", seeds(10))
def test_a_random_history_of_a_classic_group_is_as_a_recount_has_it(seed: int) -> None:
    check(history(seed, names=("anna", "app~1", "app~2", "app~3")))
    check(restarts(seed))


@pytest.mark.property
@for_each("seed", seeds(len(VIRTUAL)))
def test_a_random_scenario_of_each_protocol_is_as_a_recount_and_as_its_measurement_has_it(seed: int) -> None:
    dice = random.Random(seed)
    played = VIRTUAL[seed % len(VIRTUAL)]
    found = dice.choice([each for each in SCENARIOS if plays(each, played)])
    sizes = Sizes(members=dice.randint(3, 5), partitions=dice.randint(1, 9), seed=seed, rate=0.0)
    rows, measured = scenario_rows(found.name, played, sizes)
    check(rows)
    begin, end = (next(row.t for row in rows if getattr(row, "what", "") == what) for what in ("begin", "end"))
    ownership = ownership_maps(rows)["scenario"]
    assert measured.unowned_s == pytest.approx(ownership.lasted(PALE, UNOWNED, begin=begin, end=end) / NS_PER_S)
    assert measured.moved == sum(each.moved or 0 for each in ownership.rebalances if (each.ended or 0) > begin)


def scenario_rows(name: str, played: Protocol, sizes: Sizes) -> tuple[list[Row], Any]:
    with open_stage(sizes, played) as stage:
        seen = play(scenario(name), sizes, played, stage)
    return list(stage.world.kept.rows), measure(seen.rows)


@for_each("seed", seeds(6))
def test_a_random_history_of_a_consumer_group_is_as_a_recount_has_it(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    world = ConsumerWire(tmp_path / "run.jsonl")
    for _ in range(40):
        member, action = dice.choice("ABC"), dice.choice(("join", "beat", "beat", "give up", "leave", "hang up", "grow", "sleep"))
        try:
            if action == "join":
                world.join(member)
            elif action == "leave":
                world.beat(member, member_epoch=-1)
            elif action == "hang up" and member in world.wires:
                world.wires.pop(member).hang_up()
            elif action == "grow" and dice.random() < 0.2:
                world.rig.command("grow_topic", name="t", partitions=6)
            elif action in ("beat", "give up") and member in world.members:
                world.beat(member, [] if action == "give up" else None)
        except (AssertionError, ValueError, LookupError):  # The coordinator refuses what a member must not do now.
            pass
        world.rig.sleep(dice.choice((1, 250, 3000)))
    world.rig.close()
    check([row for row in read(world.path)[1] if isinstance(row, Row)])


@for_each("story", [handed_over, in_trouble])
def test_a_consumer_group_is_as_a_recount_has_it(story: Any, tmp_path: Path) -> None:
    check([row for row in read(story(tmp_path / "run.jsonl"))[1] if isinstance(row, Row)])


@for_each(("protocol", "moved"), [("range", 32), ("cooperative-sticky", 24), ("design-1", 24), ("design-2", 0), ("design-3", 0)])
def test_a_bounce_moves_nothing_where_the_leader_waits_for_a_process_to_return(protocol: str, moved: int) -> None:
    rows, measured = scenario_rows("rolling-bounce", Protocol(protocol, "scripted"), Sizes(members=3, partitions=12, rate=0.0))
    found = ownership_maps(rows)["scenario"]
    assert (found.moved, measured.moved) == (moved, moved)
    assert found.processes == ["m0001", "m0002", "m0003"]
