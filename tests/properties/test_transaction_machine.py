"""Random producers, including zombies, are checked against the model in tests/support/transaction_machine.py."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test
from searching import examples
from transaction_machine import MACHINES, TransactionMachine

RUNS = 160


@pytest.mark.property
@pytest.mark.parametrize("machine", MACHINES)
def test_random_transactions_find_nothing(machine: type[TransactionMachine]) -> None:
    run_state_machine_as_test(machine, settings=examples(RUNS // len(MACHINES), stateful_step_count=50))
