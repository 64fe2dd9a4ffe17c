"""Keyed deadlines against a model that sorts them all every time."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from groupmock.core.timers import Key, Timers

KEYS = [("session", "g", name) for name in "abcde"]
keys = st.sampled_from(KEYS)


class AgainstModel(RuleBasedStateMachine):
    """Every way to move a deadline, and time going on."""

    def __init__(self) -> None:
        super().__init__()
        self.timers = Timers()
        self.model: dict[Key, int] = {}
        self.now = 0

    @rule(key=keys, delay=st.integers(0, 50))
    def arm(self, key: Key, delay: int) -> None:
        self.timers.set(key, self.now + delay)
        self.model[key] = self.now + delay

    @rule(key=keys)
    def cancel(self, key: Key) -> None:
        self.timers.cancel(key)
        self.model.pop(key, None)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), delay=st.integers(0, 50))
    def move_later(self, data: st.DataObject, delay: int) -> None:
        """What a repeated heartbeat does: one assignment, no heap."""
        key = data.draw(st.sampled_from(sorted(self.model)))
        timer = self.timers.get(key)
        assert timer is not None
        timer.deadline = self.model[key] = max(self.model[key], self.now + delay)

    @rule(step=st.integers(0, 60))
    def time_goes_on(self, step: int) -> None:
        self.now += step
        fired = []
        while (key := self.timers.due(self.now)) is not None:
            fired.append((self.model.pop(key), key))
        assert [at for at, _ in fired] == sorted(at for at, _ in fired), "deadline order"
        assert not [key for key, at in self.model.items() if at <= self.now], "nothing that is due is left"

    @invariant()
    def next_is_never_late(self) -> None:
        looked_at = self.timers.next()
        assert (looked_at is None) == (not self.model)
        assert looked_at is None or looked_at <= min(self.model.values())

    @invariant()
    def armed_are_those_of_the_model(self) -> None:
        assert len(self.timers) == len(self.model)
        assert all(key in self.timers for key in self.model)


TestTimersAgainstModel = AgainstModel.TestCase


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
