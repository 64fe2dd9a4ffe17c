"""Measure lateness while dialogues are played: how late this machine wakes a thread, and how late the broker gives a trivial answer.
Times cannot be judged on a busy machine."""

from __future__ import annotations

import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final

from groupmock.rig.wire import Client, Unreadable
from groupmock.security.login import LoginFailed

from .ping import ping

NAP_SECONDS: Final = 0.01
BEAT_SECONDS: Final = 0.1
HUNG_SECONDS: Final = 5
REMEMBERED: Final = 60_000
WORTH_NOTING_MS: Final = 20


class Lateness(ABC):
    """Measures lateness on a thread of its own within a `with` block, which may be entered again. Any thread may ask."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=REMEMBERED)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lateness:
        self._stop.clear()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    @abstractmethod
    def _measure(self) -> None: ...

    def note(self, late_ms: float) -> None:
        """Record a lateness in ms that was measured just now."""
        if late_ms > WORTH_NOTING_MS:
            self._late.append((time.monotonic(), late_ms))

    def since(self, moment: float) -> float:
        """Return the worst lateness measured since a moment, in ms."""
        # The deque is copied, because iterating it fails if the measuring thread appends meanwhile.
        return max((late for at, late in list(self._late) if at >= moment), default=0.0)


class WakeLateness(Lateness):
    """Measures how late this machine wakes a thread."""

    def _measure(self) -> None:
        while not self._stop.is_set():
            before = time.monotonic()
            self._stop.wait(NAP_SECONDS)
            self.note((time.monotonic() - before - NAP_SECONDS) * 1000)


class AnswerLateness(Lateness):
    """Measures how late the broker answers ApiVersions, a request that costs a broker hardly anything. Without answers nothing is
    measured."""

    def __init__(self, connect: Callable[[], Client]) -> None:
        """`connect` opens a connection, on which a broker answers ApiVersions time and again."""
        super().__init__()
        self._connect = connect

    def _measure(self) -> None:
        try:
            with self._connect() as client:
                while not self._stop.wait(BEAT_SECONDS):
                    self._beat(client.socket)
        except (OSError, LoginFailed, Unreadable):  # The connection is closed or hangs, which the dialogues notice themselves.
            return

    def _beat(self, link: socket.socket) -> None:
        before = time.monotonic()
        try:
            ping(link)
        finally:
            self.note((time.monotonic() - before) * 1000)
