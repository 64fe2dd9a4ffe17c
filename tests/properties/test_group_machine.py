"""Random members of a classic group on the pure core are checked against the model in tests/support/group_model.py."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test
from properties.groups import MACHINES, GroupMachine
from searching import examples

RUNS = 600


@pytest.mark.property
@pytest.mark.parametrize("machine", MACHINES)
def test_random_members_find_nothing(machine: type[GroupMachine]) -> None:
    run_state_machine_as_test(machine, settings=examples(RUNS // len(MACHINES), stateful_step_count=50))
