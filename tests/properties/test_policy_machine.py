"""Random joins, leaves, crashes, expulsions, delays and lost answers keep every invariant of each cooperative design after every step."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test
from properties.policies import MACHINES, PolicyMachine
from searching import examples

RUNS = 120


@pytest.mark.property
@pytest.mark.policy
@pytest.mark.parametrize("machine", MACHINES)
def test_random_histories_break_no_invariant(machine: type[PolicyMachine]) -> None:
    run_state_machine_as_test(machine, settings=examples(RUNS, stateful_step_count=50))
