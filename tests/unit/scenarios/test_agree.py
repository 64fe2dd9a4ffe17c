"""Live runs are compared with virtual runs of the same scenario, and a run that disagrees is repeated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from cases import for_each

from groupmock_clients.scenarios.agree import compared, disagreement, twin_of
from groupmock_clients.scenarios.catalogue import protocols, scenario
from groupmock_clients.scenarios.play import Sizes
from groupmock_clients.scenarios.results import Job, ScenarioResult

SIZES = Sizes(members=3, partitions=6)


def job(name: str = "scale-up", named: str = "design-1/aiokafka") -> Job:
    return Job("live", scenario(name), protocols("live", named)[0], SIZES)


def live(moved: float, rounds: float, late: float = 0, **more: Any) -> ScenarioResult:
    """Return a measured result; a scale-up from 3 to 4 should move 1 partition in 2 rebalances."""
    figures = {"moved": moved, "rounds": rounds, "late": late}
    return ScenarioResult(scenario="scale-up", protocol="design-1", client="aiokafka", figures=figures, **more)


def never(_: Job) -> ScenarioResult:
    raise AssertionError("it is not played again")


def test_moves_and_rounds_are_compared_without_the_late_ones() -> None:
    assert disagreement(job(), live(1, 2)) is None
    assert disagreement(job(), live(1, 3, late=1)) is None
    assert disagreement(job(), live(1, 3)) == "moves and rounds were 1 and 3, of its virtual twin 1 and 2"
    assert disagreement(job(), live(2, 2)) == "moves and rounds were 2 and 2, of its virtual twin 1 and 2"


def test_one_that_agrees_is_not_played_again() -> None:
    assert compared(job(), live(1, 2), never).agreed is True


@for_each("others", [[live(1, 2)], [live(3, 3), live(1, 2)]])
def test_one_that_disagrees_is_played_again_and_the_last_one_counts(others: list[ScenarioResult]) -> None:
    """A broken invariant of an earlier run still counts."""
    left = iter(others)
    found = compared(job(), live(4, 4, broken=["I1"]), lambda _: next(left))
    assert (found.agreed, found.broken, found.figures) == (True, ["I1"], live(1, 2).figures)
    assert not list(left)


def test_one_that_disagrees_three_times_is_broken() -> None:
    left = iter([live(3, 3), live(2, 2, broken=["I6"])])
    found = compared(job(), live(4, 4), lambda _: next(left))
    assert (found.agreed, found.broken) == (False, ["I6", "moves and rounds were 2 and 2, of its virtual twin 1 and 2 (played 3 times)"])


def test_the_journals_of_earlier_plays_are_kept(tmp_path: Path) -> None:
    wanted = replace(job(), journal=tmp_path)
    file = wanted.file
    assert file is not None
    plays = iter(["second", "third"])

    def again(_: Job) -> ScenarioResult:
        file.write_text(next(plays))
        return live(9, 9)

    file.write_text("first")
    compared(wanted, live(9, 9), again)
    assert [each.read_text() for each in (file.with_suffix(".1.jsonl"), file.with_suffix(".2.jsonl"), file)] == ["first", "second", "third"]


@for_each("named", ["connect"])
def test_connect_has_no_twin(named: str) -> None:
    connect = job("death-in-time", named)
    assert twin_of(connect) is None
    assert compared(connect, live(9, 9), never).agreed is None


def test_a_count_that_the_start_of_a_live_group_decides_is_not_compared() -> None:
    by_chance = job("death-at-once", "kip-1071/kafka-streams")
    assert twin_of(by_chance) is None
    assert compared(by_chance, live(4, 1), never).agreed is None
    assert twin_of(job("death-in-time", "kip-1071/kafka-streams")) is not None
    assert twin_of(job("death-at-once", "streams-classic/kafka-streams")) is not None


def test_what_could_not_be_measured_is_not_compared() -> None:
    trouble = ScenarioResult(scenario="scale-up", protocol="design-1", client="aiokafka", trouble="missed: it")
    assert compared(job(), trouble, never) == trouble
