"""The judge of stories finds every kind of false statement that is planted in true stories."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import pytest
from cases import for_each
from told_runs import kitchen_run, recorded_runs, scenario_run, simulated_run, transactional_run

from groupmock_clients.scenarios.catalogue import protocols, scenario
from tools.story_check.bench import Verdict, printed
from tools.story_check.claims import read_section
from tools.story_check.history import History
from tools.story_check.judge import View, judge
from tools.story_check.lies import LIES, planted
from tools.story_check.trial import story_of

SEEDS = (9, 29, 37)
"""Simulated runs in which members commit often, exchange partitions and leave records unread, so that every false statement fits
somewhere."""
SCENARIOS = ("death-at-once", "scale-up")
"""The scenarios that the tests of consumer groups use."""
(CONSUMER_PROTOCOL,) = protocols("virtual", "kip-848")
PLACES = 4
"""Number of places in each story at which a false statement is tried, small so that the test is fast."""


class Trial(NamedTuple):
    """A story together with the facts about its run."""

    name: str
    story: list[str]
    facts: History
    views: dict[str, View]

    def verdicts(self, story: list[str]) -> list[Verdict]:
        return judge(story, self.facts, self.views)


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    found = list(made())
    assert not any(false_lines(trial.verdicts(trial.story)) for trial in found), "a lie is planted in what is true"
    return found


def made() -> Iterator[Trial]:
    for run in (*recorded_runs(), *(scenario_run(scenario(name), CONSUMER_PROTOCOL) for name in SCENARIOS)):
        yield Trial(run.name, run.story(), History(run.rows), {})
    for run in transactional_run(), kitchen_run():
        yield Trial(run.name, run.story(), History(run.rows), dict(run.moments[-1].views))
    for seed in SEEDS:
        run = simulated_run(seed)
        for moment in (run.moments[len(run.moments) // 2], run.moments[-1]):
            rows = run.rows[: moment.rows]
            yield Trial(f"{run.name}, {moment.rows} rows", story_of(rows), History(rows), dict(moment.views))
        first = len(run.rows) // 3
        last_rows = story_of(run.rows[first:], dropped=first)
        yield Trial(f"{run.name}, from row {first + 1}", last_rows, History(run.rows), dict(run.moments[-1].views))


def false_lines(verdicts: list[Verdict]) -> set[str]:
    return {each.claim.line for each in verdicts if each.true is False}


@for_each("lie", LIES)
def test_judge_finds_a_planted_lie(lie: str, trials: list[Trial]) -> None:
    found = 0
    for trial in trials:
        for place, altered in islice(planted(lie, trial.story), PLACES):
            assert altered[place] in false_lines(trial.verdicts(altered)), f"{trial.name}: {trial.story[place]!r}, {altered[place]!r}"
            found += 1
    assert found, "the lie was planted nowhere"


@for_each(("group", "line", "true"), [
    ("committed", "anna (no member) commits t/0 = 4", True),
    ("aborted", "anna (no member) commits t/0 = 4", False),
    ("open", "anna (no member) commits t/0 = 4", False),
    ("open", "anna (no member) puts t/0 = 4 into its transaction", True),
    ("aborted", "anna (no member) puts t/0 = 5 into its transaction", False),
])  # fmt: skip
def test_judge_counts_offsets_of_a_transaction_that_is_committed(group: str, line: str, true: bool) -> None:
    run = transactional_run()
    facts = History(run.rows)
    at = next(each.t for each in facts.group(group).commits)
    verdicts = judge([f"{group}: Empty, generation 0, 0 members", f"{printed(at):>9}  {line}"], facts, run.moments[-1].views)
    assert [each.true for each in verdicts] == [True, True, true]


@for_each("said", [
    "anna#d3b9 begins to read at the end of t/0",
    "anna#d3b9 commits t/0 at 4",
    "anna#d3b9: 3 commits until the end",
    "generation 2 came after 12 ms: anna#d3b9 leads",
    "its rebalance is under way; awaited: SyncGroup of the leader anna#d3b9",
    "generation 2 after 12 ms: anna#d3b9 leads; anna#d3b9 gets t/0 (again)",
])  # fmt: skip
def test_judge_finds_a_claim_false_that_it_cannot_read(said: str) -> None:
    run = transactional_run()
    verdicts = judge(["open: Empty, generation 0, 0 members", f"    0.200  {said}"], History(run.rows), run.moments[-1].views)
    assert verdicts[-1].true is False


def test_judge_finds_the_leader_behind_a_reason_with_a_colon() -> None:
    line = "    0.303  generation 2 after 12 ms, member anna#d3b9 left: as ordered: ben#0c68 leads; ben#0c68 gets orders/0-3 (new)"
    claims = read_section(["told: Stable, generation 2, range, 1 member (ben#0c68 leads)", line])
    assert [(each.kind, each.who) for each in claims[1:]] == [("leads", "ben#0c68"), ("share", "ben#0c68")]
