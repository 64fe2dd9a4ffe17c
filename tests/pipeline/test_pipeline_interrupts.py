"""The pipeline handles Ctrl-C even if Python drops the KeyboardInterrupt."""

from __future__ import annotations

import logging
import signal
import sys

import pytest

from groupmock_pipeline import interrupts
from groupmock_pipeline.command import _of_no_interrupt


def test_first_interrupt_is_put_off_and_the_second_is_not() -> None:
    """An interrupt during the start of Java would leave the Java process behind."""
    before, steps = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), interrupts.delayed_sigint():
        signal.raise_signal(signal.SIGINT)
        steps.append("started")
    with pytest.raises(KeyboardInterrupt), interrupts.delayed_sigint():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        steps.append("not reached")
    assert steps == ["started"] and signal.getsignal(signal.SIGINT) is before


def test_interrupt_leaves_no_traceback_of_py4j_in_the_log() -> None:
    def record(error: BaseException) -> logging.LogRecord:
        return logging.LogRecord("root", logging.ERROR, "", 1, "while sending command.", (), (type(error), error, None))

    inside = ConnectionError()
    inside.__context__ = RuntimeError("reentrant call inside <_io.BufferedReader name=3>")
    assert not _of_no_interrupt(record(KeyboardInterrupt())) and not _of_no_interrupt(record(inside))
    assert _of_no_interrupt(record(OSError()))
    with interrupts.recorded_sigint(), pytest.raises(KeyboardInterrupt):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            assert not _of_no_interrupt(record(OSError()))
    assert _of_no_interrupt(record(OSError()))


class Interrupted:
    """An object whose destructor raises SIGINT."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_one_that_came_while_an_object_was_taken_away_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[type[BaseException] | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: dropped.append(told.exc_type))
    before = signal.getsignal(signal.SIGINT)
    with interrupts.recorded_sigint():
        interrupts.check()
        Interrupted()
        assert dropped == [KeyboardInterrupt]
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    interrupts.check()
    assert signal.getsignal(signal.SIGINT) is before
