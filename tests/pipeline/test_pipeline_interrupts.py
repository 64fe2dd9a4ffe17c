"""A Ctrl-C that Python drops is known."""

from __future__ import annotations

import signal
import sys

import pytest

from groupmock_pipeline import interrupts


class Interrupted:
    """Somebody types Ctrl-C while it is taken away."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_one_that_came_while_an_object_was_taken_away_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[type[BaseException] | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(told.exc_type))
    before = signal.getsignal(signal.SIGINT)
    with interrupts.kept():
        interrupts.check()
        Interrupted()
        assert dropped == [KeyboardInterrupt]
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    interrupts.check()
    assert signal.getsignal(signal.SIGINT) is before
