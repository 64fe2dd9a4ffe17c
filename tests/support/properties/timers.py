"""Timers with keys fire like those of a simple model that sorts all deadlines every time. Case: `steps`: [rule, its values]."""

from __future__ import annotations

from found import Case, Property
from hypothesis import strategies as st
from recorded import RecordedMachine, step

from groupmock.core.timers import Key, Timers

KEYS = [("session", "g", name) for name in "abcde"]
PLACES = st.integers(0, len(KEYS) - 1)


class TimersMachine(RecordedMachine):
    """Sets, moves and cancels timers in every way while the clock advances."""

    proves = Property("timers", lambda case: _retaken(case))

    def __init__(self, retaken: bool = False) -> None:
        super().__init__(retaken)
        self.timers = Timers()
        self.model: dict[Key, int] = {}
        self.now = 0

    @step(place=PLACES, delay=st.integers(0, 50))
    def arm(self, place: int, delay: int) -> None:
        self.timers.set(KEYS[place], self.now + delay)
        self.model[KEYS[place]] = self.now + delay
        self._judge()

    @step(place=PLACES)
    def cancel(self, place: int) -> None:
        self.timers.cancel(KEYS[place])
        self.model.pop(KEYS[place], None)
        self._judge()

    @step(lambda self: self.model, place=PLACES, delay=st.integers(0, 50))
    def move_later(self, place: int, delay: int) -> None:
        """Postpone a timer as a repeated heartbeat does: by one assignment and without a heap operation."""
        key = sorted(self.model)[place % len(self.model)]
        timer = self.timers.get(key)
        assert timer is not None
        timer.deadline = self.model[key] = max(self.model[key], self.now + delay)
        self._judge()

    @step(ms=st.integers(0, 60))
    def time_goes_on(self, ms: int) -> None:
        self.now += ms
        fired = []
        while (key := self.timers.due(self.now)) is not None:
            fired.append((self.model.pop(key), key))
        assert [at for at, _ in fired] == sorted(at for at, _ in fired), "deadline order"
        assert not [key for key, at in self.model.items() if at <= self.now], "nothing that is due is left"
        self._judge()

    def _judge(self) -> None:
        looked_at = self.timers.next()
        assert (looked_at is None) == (not self.model)
        assert looked_at is None or looked_at <= min(self.model.values()), "next is never late"
        assert len(self.timers) == len(self.model)
        assert all(key in self.timers for key in self.model), "armed are those of the model"


TIMERS = TimersMachine.proves


def _retaken(case: Case) -> None:
    TimersMachine(retaken=True).retake(case)
