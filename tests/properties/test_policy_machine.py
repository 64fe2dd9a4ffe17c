"""Random joins, leaves, deaths, expulsions, delays and lost answers: every invariant after every step, for each design.

120 runs of 50 steps per design in `make test`, 600 in the gate; GROUPMOCK_POLICY_RUNS=2000 is the full search.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from policy_machine import MACHINES, PolicyMachine

RUNS = int(os.environ.get("GROUPMOCK_POLICY_RUNS", "120"))
CHUNK = 250  # a test that takes minutes says nothing until its end
CHUNKS = [min(CHUNK, RUNS - start) for start in range(0, RUNS, CHUNK)]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("runs", CHUNKS, ids=[f"{place}-{runs}" for place, runs in enumerate(CHUNKS)])
def test_random_histories_break_no_invariant(machine: type[PolicyMachine], runs: int) -> None:
    search = settings(max_examples=runs, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
    run_state_machine_as_test(machine, settings=search)
