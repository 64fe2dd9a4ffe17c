"""Timers with keys fire like those of a simple model that sorts all deadlines every time."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test
from properties.timers import KEYS, TimersMachine
from searching import examples

from groupmock.core.timers import MOVED_AT_ONCE, NOT_YET, Timers


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


def test_cancelled_timers_do_not_stay_in_the_heap() -> None:
    timers = Timers()
    timers.set(KEYS[0], 10**9)
    for number in range(5_000):
        timers.set(("session", "g", str(number)), 10**8)
        timers.cancel(("session", "g", str(number)))
    assert len(timers._heap) <= 100
    assert [timers.due(10**9), timers.due(10**9)] == [KEYS[0], None]


def test_timers_that_are_set_earlier_each_time_do_not_stay_in_the_heap() -> None:
    timers = Timers()
    for number in range(5_000):
        timers.set(KEYS[0], 10**8 - number)
    assert len(timers._heap) <= 100
    assert [timers.due(10**9), timers.due(10**9)] == [KEYS[0], None]


def test_firing_leaves_no_more_cancelled_entries_than_armed_timers() -> None:
    timers = Timers()
    for number in range(1_000):
        timers.set(("session", "early", str(number)), number)
        timers.set(("session", "late", str(number)), 10**9)
    for number in range(900):
        timers.cancel(("session", "late", str(number)))
    while timers.due(1_000) is not None:
        pass
    assert len(timers._heap) <= 2 * len(timers) + 100
    assert len(timers) == 100


def test_many_moved_timers_are_looked_at_in_parts() -> None:
    """The sessions of many members that joined at once were renewed since, so none is due when they are looked at."""
    timers = Timers()
    many = 3 * MOVED_AT_ONCE
    for place in range(many):
        timers.set(("session", "g", str(place)), 10).deadline = 20 + place
    assert [timers.due(10) for _ in range(4)] == [NOT_YET] * 3 + [None]
    assert timers.next() == 20
    assert [timers.due(10**6) for _ in range(many)] == [("session", "g", str(place)) for place in range(many)]
