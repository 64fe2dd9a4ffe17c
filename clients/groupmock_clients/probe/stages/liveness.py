"""Watch whether the judged server is alive, and which dialogues were in progress when it died."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Death:
    """A time at which the judged server stopped accepting connections.

    `dialogues`: those that contacted the server since it was last seen alive, in the order of their ends. `before`: the last dialogue that
    ended while it was alive ("" after a start). `culprit`: the dialogue that killed it while no other was in progress. `back` says whether
    the server came back, and `how` describes that.
    """

    dialogues: list[str] = field(default_factory=list)
    before: str = ""
    culprit: str = ""
    back: bool = False
    how: str = ""


class Liveness:
    """Checks after every dialogue whether the judged server is alive. `alive` asks the server. Safe to use from any thread."""

    def __init__(self, alive: Callable[[], bool]) -> None:
        self._alive = alive
        self._lock = threading.Lock()
        self._unsure: list[str] = []
        self._before = ""
        self._gone = False

    def gone(self) -> bool:
        """Tell whether the server was found dead since the last `begin_anew`."""
        return self._gone

    def ended(self, dialogue: str, connected: bool) -> None:
        """Note the end of a dialogue, so that the server is checked. `connected` says whether it had reached the server."""
        with self._lock:
            if connected:
                self._unsure.append(dialogue)
            asked_about = list(self._unsure)
            gone = self._gone
        # The server is asked without holding the lock, because a hanging server takes seconds, and other dialogues end meanwhile.
        if gone or not self._alive():
            self._gone = True
            return
        with self._lock:
            if not self._gone and asked_about:
                self._before = asked_about[-1]
                self._unsure = [each for each in self._unsure if each not in asked_about]

    def death(self) -> Death:
        """Return what is known about the server's death, once every dialogue has ended."""
        with self._lock:
            return Death(list(self._unsure), self._before)

    def begin_anew(self) -> None:
        """Watch for the server's next death, because the server is back."""
        with self._lock:
            self._unsure, self._before, self._gone = [], "", False
