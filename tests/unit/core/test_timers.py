"""Keyed deadlines against a model that sorts them all every time."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test
from properties.timers import KEYS, TimersMachine
from searching import examples

from groupmock.core.timers import Timers


@pytest.mark.property
def test_random_moves_of_deadlines_are_those_of_the_model() -> None:
    run_state_machine_as_test(TimersMachine, settings=examples(100))


def test_equal_deadlines_fire_in_arming_order() -> None:
    timers = Timers()
    for key in reversed(KEYS):
        timers.set(key, 7)
    assert [timers.due(7) for _ in KEYS] == KEYS[::-1]


def test_heartbeats_do_not_grow_the_heap() -> None:
    timers = Timers()
    timer = timers.set(KEYS[0], 100)
    for now in range(10_000):
        timers.set(KEYS[0], now + 100)
    assert timers.get(KEYS[0]) is timer
    assert len(timers._heap) == 1
