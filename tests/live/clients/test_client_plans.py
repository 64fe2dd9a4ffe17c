"""Under every ready fault plan every stock client settles again without lost records, unless docs/how-to/faults.md says otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from plan_runs import Outcome, libraries_of, run

from groupmock.faults.facts import for_other_groups, for_producers
from groupmock.faults.kind import for_secured
from groupmock.faults.plan import read_plan, ready_plans

pytestmark = pytest.mark.usefixtures("sockets_are_found_where_they_were_left")

DATA = Path(__file__).resolve().parents[3] / "tools" / "records" / "plans.json"
RECORDED: dict[tuple[str, str], dict[str, Any]] = {(each["plan"], each["library"]): each for each in json.loads(DATA.read_text())}
OTHERWISE = [key for key, each in RECORDED.items() if not each["settled"]]
"""Fault plans after which this release of a client never recovers. They are not run again, because each costs half a minute."""
SOMETIMES = [("offsets-elsewhere", "aiokafka")]
"""Fault plans after which a client does not recover in about one run of five."""
GIVES_UP = {("loading-coordinator", "aiokafka"): "GroupLoadInProgressError"}
"""(fault plan, client) -> the error with which the client ends by chance, if its SyncGroup is late and meets the fault."""
PLANS = [name for name in ready_plans() if not any(of(read_plan(name)) for of in (for_producers, for_secured, for_other_groups))]
"""The ready fault plans for consumer groups. tests/live/transactions has those for transactional producers."""
EVERYBODY = {(name, library) for name in PLANS for library in libraries_of(name)}
RUNS = sorted(EVERYBODY - {*OTHERWISE, *SOMETIMES})


@pytest.mark.parametrize(("name", "library"), RUNS)
def test_the_client_does_what_the_page_says(name: str, library: str) -> None:
    outcome = run(name, library)
    recorded = RECORDED[name, library]
    assert outcome.fired >= 1
    assert outcome.settled, outcome
    assert (outcome.lost == 0) or outcome.ended, outcome
    gave_up = outcome.ended == 1 and GIVES_UP.get((name, library), "no such words") in " ".join(outcome.raised)
    assert gave_up or outcome.ended == recorded["ended"], (outcome, recorded)


def test_all_plans_were_run_with_all_clients() -> None:
    assert set(RECORDED) == EVERYBODY
    assert all(each["fired"] for each in RECORDED.values())
    assert set(RECORDED[next(iter(RECORDED))]) == set(Outcome.__dataclass_fields__)
