"""Random members drive the pure core: 2,000 runs of 50 steps against the judge of tests/support/group_model.py."""

from __future__ import annotations

import pytest
from group_machine import MACHINES, GroupMachine
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

RUNS = 2000
SEARCH = settings(
    max_examples=RUNS // len(MACHINES), stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@pytest.mark.parametrize("machine", MACHINES)
def test_random_members_find_nothing(machine: type[GroupMachine]) -> None:
    run_state_machine_as_test(machine, settings=SEARCH)
