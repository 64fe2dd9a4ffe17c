"""Journal rows are folded into rebalances: claims, assignments and their delivery, completion, lost partitions, and what is remembered."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from cases import for_each
from journal_pen import TOPIC, Pen
from rebalance_corners import BOTH, CORNERS, JOINED, SWAPPED, expected
from rebalance_reader import Line, Reader
from recorded_journals import LIBRARIES, recorded

from groupmock.journal.follow import Follower
from groupmock.journal.read import read
from groupmock.rounds import Claim, Generation, Instruction, Rebalance, Rebalances, Share, name_of, rebalances
from groupmock_clients.scenarios.catalogue import scenario
from groupmock_clients.scenarios.play import Protocol, Sizes, play
from groupmock_clients.scenarios.virtual import open_stage
from groupmock_codec.group_states import COMPLETING_REBALANCE, PREPARING_REBALANCE

GROUP = "tea"
Some = frozenset[tuple[str, int]]


def of(*numbers: int) -> Some:
    return frozenset((TOPIC, number) for number in numbers)


def story(told: dict[str, list[int]], taken: bool = True, heard: bool = True, refused: bool = False) -> Pen:
    """Return the rows of a rebalance of m1, which leads, and m2 on two partitions."""
    pen = Pen()
    pen.row("note", what="topic_created", fields={"topic": TOPIC, "partitions": 2, "topic_id": "AAAA"})
    pen.at(1_000_000).moved(GROUP, "Empty", PREPARING_REBALANCE, 0, JOINED, 1, "m1")
    joins = {name: pen.join(GROUP, name, int(name[-1])) for name in ("m1", "m2")}
    pen.at(2_000_000).moved(GROUP, PREPARING_REBALANCE, COMPLETING_REBALANCE, 1, "all members joined", 2, "m1")
    for name, ticket in joins.items():
        pen.joined(ticket, name, 1, "m1", {"m1": [], "m2": []} if name == "m1" else None)
    syncs = {name: pen.sync(GROUP, name, int(name[-1]), 1, told if name == "m1" else None) for name in joins}
    if taken:
        pen.at(3_000_000).moved(GROUP, COMPLETING_REBALANCE, "Stable", 1, "leader m1 brought the assignments", 2, "m1")
        pen.synced(syncs["m1"], told["m1"])
        pen.synced(syncs["m2"], told["m2"], delivered=heard, **({"error": "REBALANCE_IN_PROGRESS"} if refused else {}))
    return pen


def only(rows: Iterable[Any]) -> Rebalance:
    (found,) = rebalances(rows, GROUP)
    return found


def newest(pen: Pen) -> Generation:
    return only(pen.rows).generations[-1]


def test_a_rebalance_that_everybody_heard_and_that_gave_everything_is_settled() -> None:
    found = only(story({"m1": [0], "m2": [1]}).rows)
    assert (found.number, found.began, found.reason, found.ended, found.ended_in) == (1, 1_000_000, JOINED, 3_000_000, "Stable")
    assert (found.generation_before, found.generation_after, found.members_before, found.members_after) == (0, 1, 0, 2)
    phases = [(phase.state, phase.began, phase.spent) for phase in found.phases]
    assert phases == [(PREPARING_REBALANCE, 10**6, 10**6), (COMPLETING_REBALANCE, 2 * 10**6, 10**6)]
    assert (found.leader, found.protocol, found.joined, found.last_joined) == ("m1", "range", {"m1": 10**6, "m2": 10**6}, "m2")
    (last,) = found.generations
    assert found.plan is last
    assert (last.began_ms, last.planned_ms, last.heard, last.settled) == (2.0, 3.0, {"m1": 3 * 10**6, "m2": 3 * 10**6}, True)
    assert last.claims == dict.fromkeys(("m1", "m2"), Claim(frozenset({TOPIC}), frozenset()))
    assert last.told == {"m1": Instruction(of(0), frozenset(), 0), "m2": Instruction(of(1), frozenset(), 0)}
    assert last.holders() == {(TOPIC, 0): "m1", (TOPIC, 1): "m2"}


@for_each("lack", [{"heard": False}, {"refused": True}])
def test_one_that_somebody_did_not_hear_is_not(lack: dict[str, bool]) -> None:
    last = newest(story({"m1": [0], "m2": [1]}, **lack))
    assert (set(last.heard), last.settled) == ({"m1"}, False)


def test_one_that_leaves_something_out_is_not() -> None:
    assert not newest(story({"m1": [0], "m2": []})).settled


def test_what_a_leader_brings_too_late_counts_for_nothing() -> None:
    found = only(story({"m1": [0], "m2": [1]}, taken=False).rows)
    (only_one,) = found.generations
    assert (found.plan, only_one.planned, only_one.planned_ms, only_one.settled) == (None, None, None, False)
    assert (found.ended, found.ended_in, found.shares()) == (None, None, {})


def test_another_group_is_not_this_one() -> None:
    fold = Rebalances("other")
    assert [fold.feed(row) for row in story({"m1": [0], "m2": [1]}).rows if fold.feed(row) is not None] == []
    assert (fold.groups["other"].generation, fold.groups["other"].state, fold.counts) == (None, "", {TOPIC: 2})


def test_members_are_those_that_came_and_did_not_go() -> None:
    pen = Pen()
    came = (("A", "reserved", ""), ("A", "added", ""), ("B", "added", ""), ("A", "led", ""), ("B", "removed", "left"))
    for member, what, reason in (*came, ("C", "added", ""), ("D", "replaced", "instance i came back: D replaces C")):
        pen.row("member", group=GROUP, member_id=member, what=what, reason=reason)
    fold = Rebalances()
    for row in pen.rows:
        fold.feed(row)
    assert fold.groups[GROUP].members == {"A", "D"}


def test_shares_and_moves_are_against_the_plan_before() -> None:
    pen = Pen()
    pen.at(100).round(GROUP, 1, BOTH, JOINED, "Empty")
    pen.at(1000).round(GROUP, 2, {"m1": [0, 2], "m3": [1, 3]}, "session of m2 expired after 10000 ms")
    first, second = rebalances(pen.rows)
    assert first.shares() == {"m1": Share(of(), of(0, 1)), "m2": Share(of(), of(2, 3))}
    assert second.shares() == {"m1": Share(of(0, 1), of(0, 2)), "m2": Share(of(2, 3), of()), "m3": Share(of(), of(1, 3))}
    assert (second.shares()["m1"].got, second.shares()["m1"].lost) == (of(2), of(1))
    moved = {(move.partition[1], move.before.member, move.after.member) for move in second.moves}
    assert moved == {(1, "m1", "m3"), (2, "m2", "m1"), (3, "m2", "m3")}


def test_a_cause_is_taken_where_a_row_has_one() -> None:
    pen = Pen()
    pen.round(GROUP, 1, BOTH, JOINED, "Empty")
    pen.rows[0]["cause"] = "joined"
    found = only(pen.rows)
    assert (found.cause, found.reason, [phase.cause for phase in found.phases]) == ("joined", JOINED, ["joined", ""])


def test_a_leader_that_is_answered_again_begins_no_other_generation() -> None:
    """A returning static leader gets an answer again (KIP-814), and so does a leader whose answer was lost."""
    pen = story({"m1": [0], "m2": [1]})
    again = pen.at(4_000_000).join(GROUP, "m1", 1)
    pen.joined(again, "m1", 1, "m1", {"m1": [], "m2": []})
    pen.synced(pen.sync(GROUP, "m1", 1, 1, {}), [0])
    found = only(pen.rows)
    assert (len(found.generations), found.generations[0].told["m1"].assigned, found.generations[0].settled) == (1, of(0), True)


def test_a_join_that_was_refused_was_not_the_last_one() -> None:
    pen = Pen()
    pen.at(1).moved(GROUP, "Empty", PREPARING_REBALANCE, 0, JOINED, 1, "m1")
    ticket = pen.join(GROUP, "m1", 1)
    pen.reply(pen.at(2).join(GROUP, "stranger", 2), {"error_code": 25, "members": [], "member_id": ""}, error="UNKNOWN_MEMBER_ID")
    pen.at(3).moved(GROUP, PREPARING_REBALANCE, COMPLETING_REBALANCE, 1, "the initial delay is over", 1, "m1")
    pen.joined(ticket, "m1", 1, "m1", {"m1": []})
    found = only(pen.rows)
    assert (found.last_joined, list(found.joined)) == ("m1", ["m1"])


UNKNOWN_TO_SPARK = {"leader", "unowned", "unowned_ns"}
"""Fields that the Spark job leaves empty for a journal that begins in the middle."""


@for_each("corner", CORNERS)
def test_what_seldom_happens_has_the_figures_worked_out_by_hand(corner: str) -> None:
    """The pipeline's test of the same name checks the Spark job, and this test checks the columns that the Python reader computes."""
    known = {field.name for field in fields(Line)} - (UNKNOWN_TO_SPARK if corner == "headless" else set())
    worked_out = [{name: wanted for name, wanted in each.items() if name in known} for each in expected()[corner]]
    lines = Reader(CORNERS[corner]().rows).lines
    assert [{name: getattr(line, name) for name in each} for line, each in zip(lines, worked_out, strict=True)] == worked_out
    assert any(worked_out)


def told_of_all(found: Iterable[Rebalance]) -> list[tuple[Any, ...]]:
    return [(one.group, one.number, one.began, one.ended, one.had, one.joined, one.generations, one.gaps, one.moves) for one in found]


@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_of_a_file_are_the_same_as_their_json(library: str, tmp_path: Path) -> None:
    path = recorded(library, tmp_path)
    follower = Follower(path)
    plain = follower.json_rows()
    follower.close()
    found = told_of_all(rebalances(read(path)[1]))
    assert found == told_of_all(rebalances(plain))
    assert len(found) >= 3


def test_rows_in_memory_are_read_as_well(tmp_path: Path) -> None:
    sizes, protocol = Sizes(members=3, partitions=6, rate=0.0), Protocol("design-2", "scripted")
    path = tmp_path / "journal.jsonl"
    with open_stage(sizes, protocol, path) as stage:
        play(scenario("death-in-time"), sizes, protocol, stage)
        in_memory = told_of_all(rebalances(stage.world.kept.rows))
    assert in_memory == told_of_all(rebalances(read(path)[1]))
    assert len(in_memory) >= 3


def test_what_is_kept_does_not_grow_with_the_journal() -> None:
    def there() -> int:
        """Count the Rebalance and Generation objects in the process, because other tests may have left some."""
        gc.collect()
        return sum(isinstance(each, Rebalance | Generation) and each.began >= 0 for each in gc.get_objects())

    def kept(times: int) -> tuple[int, ...]:
        others = there()
        fold, pen = Rebalances(), Pen()
        for number in range(1, times + 1):
            pen.round(GROUP, number, BOTH if number % 2 else SWAPPED, JOINED)
            for row in pen.rows:
                fold.feed(row)
            pen.rows.clear()
        return there() - others, len(fold._asked), len(fold._connections)

    assert kept(3) == kept(50) == (2, 0, 3)


def test_the_process_behind_a_member_id() -> None:
    assert name_of("m0001-2c1ad2ec-9b5e-4d0e-9c0d-7b1b8c7ad001") == "m0001"
    assert name_of("my-app-2c1ad2ec-9b5e-4d0e-9c0d-7b1b8c7ad001") == "my-app"
    assert name_of("static") == "static"
