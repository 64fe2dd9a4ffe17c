"""Check that all connections are served in turn. How many requests are handled before the loop has its turn, and how many of one connection
meanwhile.

The driver's slices are of time (`net.turns`), which a virtual clock does not have: here a request takes REQUEST_US, so that a slice is so
many requests, the same ones for the same seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from groupmock.net.clock import Callback, Handle, VirtualClock
from groupmock.net.turns import Turns

if TYPE_CHECKING:
    from groupmock.net.connection import Connection

    from .findings import Findings

JUDGE: Final = "turns"
SLICE_US, REQUEST_US = 2_000, 100
IN_A_SLICE: Final = SLICE_US // REQUEST_US
ALONE: Final = 4
"""The number of requests that may be handled beyond a time slice: the one that ends the slice, and those that arrived singly."""


class TurnJudge:
    """Counts the requests handled between two calls of the event loop. `longest`: most requests in one turn."""

    def __init__(self, bench: Findings) -> None:
        self.bench = bench
        self.longest = 0
        self.worked_ns = 0
        self.clock = LoopClock(self)
        self.turns: Turns[Connection] = Turns(SLICE_US, clock=lambda: self.worked_ns, soon=self.clock.soon)
        self._in_turn = 0
        self._of_one = 0
        self._one = 0

    def turned(self) -> None:
        """Note that the event loop runs its next callback."""
        self._in_turn = self._of_one = 0

    def handled(self, connection: int) -> None:
        """Count a request of that connection as handled in the present turn of the loop."""
        self.worked_ns += REQUEST_US * 1_000
        self._in_turn += 1
        self._of_one = self._of_one + 1 if connection == self._one else 1
        self._one = connection
        self.longest = max(self.longest, self._in_turn)
        if self._in_turn > IN_A_SLICE + ALONE:
            self.bench.found(JUDGE, f"{self._in_turn} requests are handled in one turn of the loop, {IN_A_SLICE} are a slice")
        others = len(self.turns.waiting)
        if self._of_one > max(1, 2 * IN_A_SLICE // (1 + others)) + ALONE:
            self.bench.found(JUDGE, f"connection {connection} has {self._of_one} requests handled in a row while {others} others wait")


class LoopClock(VirtualClock):
    """A virtual clock that acts as the event loop, and whose callbacks each begin a new turn."""

    def __init__(self, judge: TurnJudge) -> None:
        super().__init__()
        self._turned = judge.turned

    def soon(self, callback: Callback) -> Handle:
        """Call back in the loop's next turn, after the data that has arrived by now."""
        return self.call_at(self.now(), callback)

    def call_at(self, when: int, callback: Callback) -> Handle:
        """Call back as VirtualClock does, and note that a new turn begins."""

        def turn() -> None:
            self._turned()
            callback()

        return super().call_at(when, turn)
