"""Make sure that Ctrl-C is not lost: loops that run until interrupted call `check` before each pause.

Python drops an exception raised while a destructor or the callback of a weak reference runs, even a signal's KeyboardInterrupt
(https://docs.python.org/3/library/signal.html#note-on-signal-handlers-and-exceptions). Every Java object of a session has such a callback:
of five interrupts right after a round's report, one was lost.
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
def recorded_sigint() -> Iterator[None]:
    """Record every SIGINT for `check` within the block. The previous handler is still called."""
    before = signal.getsignal(signal.SIGINT)
    # Nothing is done outside the main thread, which alone can set a signal handler, or if SIGINT is ignored.
    if current_thread() is not main_thread() or not callable(before):
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
def delayed_sigint() -> Iterator[None]:
    """Delay a first SIGINT to the end of the block and pass on a second one at once. A Java process that is being started cannot be
    ended before PySpark knows it, and would be left behind (pyspark.java_gateway.launch_gateway)."""
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
        if signal.getsignal(signal.SIGINT) is wait:  # Any other handler at this point is PySpark's, which ends jobs and must stay.
            signal.signal(signal.SIGINT, before)
        if first.is_set():
            raise KeyboardInterrupt


def came() -> bool:
    """Tell whether a SIGINT came within `recorded_sigint`."""
    return _CAME.is_set()


def check() -> None:
    """Raises KeyboardInterrupt if a SIGINT came within `recorded_sigint`."""
    if came():
        raise KeyboardInterrupt
