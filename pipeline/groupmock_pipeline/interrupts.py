"""Ctrl-C that is not lost: who goes on for ever asks here before each pause.

Python drops what is raised while a destructor or the callback of a weak reference runs, a signal's KeyboardInterrupt with it
(https://docs.python.org/3/library/signal.html#note-on-signal-handlers-and-exceptions), and each object that a session has in Java has such
a callback: of five that came just after a round's report, one was lost.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import Final

_CAME: Final = Event()


@contextmanager
def kept() -> Iterator[None]:
    """While this lasts, `check` knows of every SIGINT; what was done about one before is done still."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):  # only there may a handler be set, and who ignores it is left alone
        yield
        return

    def came(number: int, frame: FrameType | None) -> None:
        _CAME.set()
        before(number, frame)

    _CAME.clear()
    signal.signal(signal.SIGINT, came)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _CAME.clear()


@contextmanager
def put_off() -> Iterator[None]:
    """A first SIGINT is raised at the end of this, a second one at once: Java that is being started cannot be ended before PySpark knows
    it, and would be left behind (pyspark.java_gateway.launch_gateway)."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield
        return
    first = Event()

    def wait(number: int, frame: FrameType | None) -> None:
        if first.is_set():
            before(number, frame)
        first.set()

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is wait:  # else PySpark has set its own, which ends jobs
            signal.signal(signal.SIGINT, before)
        if first.is_set():
            raise KeyboardInterrupt


def came() -> bool:
    """Did one come, while `kept` lasts?"""
    return _CAME.is_set()


def check() -> None:
    """Raises KeyboardInterrupt if one came."""
    if came():
        raise KeyboardInterrupt
