"""An event loop whose turns a test runs one by one."""

from __future__ import annotations

from collections.abc import Callable


class Loop:
    """Runs the scheduled callbacks when the test ends the turn of the loop."""

    def __init__(self) -> None:
        self.ordered: list[Callable[[], None]] = []
        self.cancelled = 0

    def soon(self, callback: Callable[[], None]) -> Loop:
        self.ordered.append(callback)
        return self

    def cancel(self) -> None:
        self.cancelled += 1
        self.ordered.clear()

    def turn(self) -> None:
        for callback in self.ordered[:]:
            self.ordered.remove(callback)
            callback()
