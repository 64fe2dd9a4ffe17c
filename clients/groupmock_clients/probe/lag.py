"""How late this machine wakes a thread: on a busy one times cannot be judged."""

from __future__ import annotations

import threading
import time
from collections import deque
from types import TracebackType
from typing import Final

NAP_SECONDS: Final = 0.01
REMEMBERED: Final = 60_000
WORTH_NOTING_MS: Final = 20


class Lag:
    """Measures while it is entered (`with lag:`), may be entered again; safe to ask from any thread."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=REMEMBERED)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lag:
        self._stop.clear()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _measure(self) -> None:
        while not self._stop.is_set():
            before = time.monotonic()
            self._stop.wait(NAP_SECONDS)
            late = (time.monotonic() - before - NAP_SECONDS) * 1000
            if late > WORTH_NOTING_MS:
                self._late.append((time.monotonic(), late))

    def since(self, moment: float) -> float:
        """The worst wake-up since then, in ms beyond what was asked for."""
        return max((late for at, late in list(self._late) if at >= moment), default=0.0)
