"""A rebalance of a consumer group lasts from a new group epoch until all members have reached the epoch, with the path of each member."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from consumer_wire import ConsumerWire, handed_over

from groupmock.journal.read import read
from groupmock.rounds import Arrival, Rebalance, rebalances
from groupmock.story.telling import tell
from groupmock.watch.shortened import Shortened
from groupmock_codec.group_states import ASSIGNING, RECONCILING
from groupmock_codec.units import NS_PER_S

Some = frozenset[tuple[str, int]]


def of(*numbers: int) -> Some:
    return frozenset(("t", number) for number in numbers)


def folded(path: Path) -> list[Rebalance]:
    _, rows = read(path)
    return list(rebalances(rows))


@pytest.fixture
def told(tmp_path: Path) -> list[Rebalance]:
    return folded(handed_over(tmp_path / "run.jsonl"))


def test_epochs_and_times(told: list[Rebalance]) -> None:
    found = [(each.generation_before, each.generation_after, each.began, each.ended, each.ended_in, each.cause) for each in told]
    assert found == [
        (1, 2, 0, 0, "Stable", "member_joined"), (2, 3, 1 * NS_PER_S, 2.2 * NS_PER_S, "Stable", "member_joined"),
        (3, 4, 2.3 * NS_PER_S, 2.4 * NS_PER_S, "Stable", "member_left"), (4, 7, 3 * NS_PER_S, 14 * NS_PER_S, "Stable", "member_joined"),
    ]  # fmt: skip
    assert [(each.spent(ASSIGNING), each.spent(RECONCILING)) for each in told] == [
        (0, 0),
        (0, 1.2 * NS_PER_S),
        (0.1 * NS_PER_S, 0),
        (1 * NS_PER_S, 10 * NS_PER_S),
    ]
    assert [(each.leader, each.protocol, each.last_joined, each.classic) for each in told] == [
        (None, "uniform", each, False) for each in "ABAD"
    ]


def test_how_each_member_came_to_the_target(told: list[Rebalance]) -> None:
    assert told[0].arrivals == {"A": Arrival(given=of(0, 1, 2, 3), arrived=0)}
    assert told[1].arrivals == {
        "A": Arrival(told=int(1.5 * NS_PER_S), gave_up=2 * NS_PER_S, revoked=of(2, 3), arrived=2 * NS_PER_S),
        "B": Arrival(given=of(2, 3), arrived=int(2.2 * NS_PER_S)),
    }
    slow = told[3].arrivals
    assert (slow["A"].told, slow["A"].gave_up, slow["A"].arrived) == (4 * NS_PER_S, 4 * NS_PER_S, 14 * NS_PER_S)
    assert (slow["D"].given, slow["C"].given) == (of(2, 3), of())


def test_what_moved_and_what_nobody_had_meanwhile(told: list[Rebalance]) -> None:
    moves = [[(each.partition[1], each.before.member, each.after.member) for each in found.moves] for found in told]
    assert moves == [[], [(2, "A", "B"), (3, "A", "B")], [(2, "B", "A"), (3, "B", "A")], [(3, "A", "D"), (2, "A", "D")]]
    gaps = [[(each.partition[1], each.since, each.until) for each in found.gaps] for found in told]
    assert gaps[1] == [(2, 1.5 * NS_PER_S, 2.2 * NS_PER_S), (3, 1.5 * NS_PER_S, 2.2 * NS_PER_S)]
    assert gaps[3] == [(2, 4 * NS_PER_S, 14 * NS_PER_S), (3, 4 * NS_PER_S, 4 * NS_PER_S)]


def test_rows_in_memory_say_the_same(tmp_path: Path, told: list[Rebalance]) -> None:
    _, found = read(handed_over(tmp_path / "again.jsonl"))
    rows: list[Any] = list(found)
    assert list(rebalances([msgspec.to_builtins(row) for row in rows])) == list(rebalances(rows)) == told


def test_who_joins_again_has_given_everything_up(tmp_path: Path) -> None:
    world = ConsumerWire(tmp_path / "run.jsonl")
    world.join("A")
    world.rig.command("fence_member", group="g", member="A")
    world.rig.sleep(1_000)
    world.join("A")
    world.rig.close()
    (_, fenced) = folded(world.path)
    assert (fenced.cause, fenced.ended_in, fenced.began, fenced.ended) == ("member_fenced", "Stable", 0, 0)
    assert [(each.since, each.until) for each in fenced.gaps] == [(0, NS_PER_S)] * 4
    assert fenced.moves == []


def test_a_static_member_that_is_away_is_awaited_at_the_same_epoch(tmp_path: Path) -> None:
    world = ConsumerWire(tmp_path / "run.jsonl")
    world.join("A", instance_id="i")
    world.beat("A", member_epoch=-2, instance_id="i")
    world.rig.sleep(2_000)
    world.join("B", instance_id="i")
    world.rig.close()
    (_, away) = folded(world.path)
    assert (away.generation_before, away.generation_after, away.cause, away.spent(RECONCILING)) == (2, 2, "instance_away", 2 * NS_PER_S)
    assert [(each.before.member, each.after.member) for each in away.reassigned] == [("A", "B")] * 4
    assert away.moves == []


def test_one_that_does_not_end_lasts_as_long_as_the_journal(tmp_path: Path) -> None:
    world = ConsumerWire(tmp_path / "run.jsonl")
    world.join("A")
    world.join("B")
    world.rig.sleep(3_000)
    world.beat("A")
    world.rig.close()
    (_, last) = folded(world.path)
    assert (last.ended, last.spent(RECONCILING), last.arrivals["A"].gave_up) == (None, 3 * NS_PER_S, None)


def test_the_log_has_a_line_for_each_and_the_story_one_for_those_that_took_time(tmp_path: Path) -> None:
    _, found = read(handed_over(tmp_path / "run.jsonl"))
    rows: list[Any] = list(found)
    maker = Shortened()
    log = [line.text for row in rows for line in maker.tell(row)]
    assert [line.removeprefix("group g: ") for line in log if "-> epoch" in line or "under way" in line] == [
        "A# joins -> epoch 2 after 0 ms: uniform",
        "B# joins -> epoch 3 after 1200 ms: uniform; A# gave up what it was told to within 500 ms; B# came last",
        "B# left -> epoch 4 after 100 ms: uniform",
        "its rebalance is under way for 10.000 s, Reconciling since 3.100; awaited: a heartbeat of C# (C#, D# join)",
        "D# joins -> epoch 7 after 11000 ms, 3 epochs: uniform; A# gave up what it was told to within 0 ms; D# came last",
    ]
    assert [line.split(maxsplit=1)[1] for line in tell(rows, group="g") if "everybody" in line or "epoch 6:" in line] == [
        "everybody is at epoch 3 after 1200 ms: A# gave up what it was told to within 500 ms; B# came last",
        "everybody is at epoch 4 after 100 ms",
        "epoch 6: member D joined",
        "everybody is at epoch 7 after 11000 ms, 3 epochs: A# gave up what it was told to within 0 ms; D# came last",
    ]
