"""Random members of a consumer group are checked against the model in tests/support/consumer_machine.py."""

from __future__ import annotations

import pytest
from consumer_machine import ConsumerMachine
from hypothesis.stateful import run_state_machine_as_test
from searching import examples

RUNS = 80


@pytest.mark.property
def test_random_members_find_nothing() -> None:
    run_state_machine_as_test(ConsumerMachine, settings=examples(RUNS, stateful_step_count=40))
