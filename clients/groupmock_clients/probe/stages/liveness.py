"""Is the judged server still there, and if not: under which dialogues did it go?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Death:
    """The server took no connections any more. `dialogues`: those that had said something since it was last seen alive, in the order in
    which they ended; `before`: the last one that ended while it was alive ("" after a start); `culprit`: the dialogue that killed it when
    nothing else was under way; `back`: did it come back? `how`: in words."""

    dialogues: list[str] = field(default_factory=list)
    before: str = ""
    culprit: str = ""
    back: bool = False
    how: str = ""


class Liveness:
    """Asks after every dialogue; safe to use from any thread. `alive`: asks the server."""

    def __init__(self, alive: Callable[[], bool]) -> None:
        self._alive = alive
        self._lock = threading.Lock()
        self._unsure: list[str] = []
        self._before = ""
        self._gone = False

    def gone(self) -> bool:
        """Has it been missed since the last `begin_anew`?"""
        return self._gone

    def ended(self, dialogue: str, connected: bool) -> None:
        """That dialogue is over; `connected`: it had reached the server."""
        with self._lock:
            if connected:
                self._unsure.append(dialogue)
            asked_about = list(self._unsure)
            gone = self._gone
        # Asked without the lock: a server that hangs takes seconds, and other dialogues end meanwhile.
        if gone or not self._alive():
            self._gone = True
            return
        with self._lock:
            if not self._gone and asked_about:
                self._before = asked_about[-1]
                self._unsure = [each for each in self._unsure if each not in asked_about]

    def death(self) -> Death:
        """What is known of it, when every dialogue has ended."""
        with self._lock:
            return Death(list(self._unsure), self._before)

    def begin_anew(self) -> None:
        """It is back."""
        with self._lock:
            self._unsure, self._before, self._gone = [], "", False
