"""Every line of a story of recorded and simulated runs is true, the first line describes the server's state, also with a part of the
rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from cases import for_each
from told_runs import ToldRun, kitchen_run, recorded_runs, scenario_runs, simulated_run, transactional_run

from tools.story_check.bench import Verdict
from tools.story_check.history import History
from tools.story_check.judge import JUDGES, view_of_rows
from tools.story_check.trial import story_of, tried

SIMULATED = (*range(24), 69, 169, 170, 223)
"""Seeds of simulated runs: the first 24, and those of the first 260 whose stories have a kind of line that the first 24 lack."""
CLAIMS = {
    "recorded": {"begins", "head", "leads", "order", "share"},
    "simulated": {"back", "begins", "commits", "head", "leads", "order", "share"},
    "scenario": {"commits", "epoch", "head", "leads", "order", "owes", "share"},
    "transactions": {"head", "pending", "won"},
    "kitchen": {"back", "leads now", "not its own"},
    "last rows": {"has", "stateless"},
}
"""Kinds of statements that the stories of each kind of run must contain."""


@pytest.fixture(scope="module")
def simulated() -> list[ToldRun]:
    return [simulated_run(seed) for seed in SIMULATED]


@pytest.fixture(scope="module")
def scenarios() -> list[ToldRun]:
    return list(scenario_runs())


def no_lie(name: str, verdicts: Sequence[Verdict]) -> Counter[str]:
    false = [str(each) for each in verdicts if each.true is False]
    assert not false, "\n".join([name, *false])
    return Counter(each.claim.kind for each in verdicts if each.true)


@for_each("run", recorded_runs(), ids=lambda run: run.name)
def test_story_of_a_recorded_run_is_true(run: ToldRun) -> None:
    assert no_lie(run.name, tried(run.rows, run.story())).keys() >= CLAIMS["recorded"]


def test_story_of_a_simulated_run_is_true(simulated: list[ToldRun]) -> None:
    counted = Counter[str]()
    for run in simulated:
        counted += no_lie(run.name, tried(run.rows, run.story(), run.moments[-1].views))
    assert counted.keys() >= CLAIMS["simulated"]


def test_story_of_a_scenario_is_true(scenarios: list[ToldRun]) -> None:
    counted = Counter[str]()
    for run in scenarios:
        counted += no_lie(run.name, tried(run.rows, run.story()))
    assert counted.keys() >= CLAIMS["scenario"]


@for_each("run", [transactional_run(), kitchen_run()], ids=lambda run: run.name)
def test_story_of_a_scripted_run_is_true(run: ToldRun) -> None:
    assert no_lie(run.name, tried(run.rows, run.story(), run.moments[-1].views)).keys() >= CLAIMS[run.name]


def test_story_told_in_the_middle_of_a_run_is_true(simulated: list[ToldRun]) -> None:
    for run in simulated:
        moment = run.moments[len(run.moments) // 2]
        rows = run.rows[: moment.rows]
        no_lie(f"{run.name}, {moment.rows} rows", tried(rows, story_of(rows), moment.views))


def test_story_told_from_the_last_rows_is_true(simulated: list[ToldRun]) -> None:
    counted = Counter[str]()
    for run in simulated:
        for first in (len(run.rows) // 3, len(run.rows) * 2 // 3):
            verdicts = tried(run.rows, story_of(run.rows[first:], dropped=first), run.moments[-1].views)
            counted += no_lie(f"{run.name}, from row {first + 1}", verdicts)
    assert counted.keys() >= CLAIMS["last rows"]


def test_every_kind_of_claim_is_made_by_some_story() -> None:
    """If a sentence changes, its statements are no longer recognized, and this test reports the missing kind."""
    assert set().union(*CLAIMS.values()) == {*JUDGES, "head", "stateless"} - {"unread"}


def test_rows_show_the_judge_what_the_server_has(simulated: list[ToldRun]) -> None:
    for run in simulated:
        for moment in run.moments:
            facts = History(run.rows[: moment.rows])
            for name, view in moment.views.items():
                seen = view_of_rows(facts.group(name), facts)
                assert (seen.state, seen.generation, seen.members, seen.leader) == (view.state, view.generation, view.members, view.leader)
                assert seen.committed is None or seen.committed == view.committed
