"""Limit the cost of one request: its journal rows, answer bytes, objects and function calls. Measures without a clock, so that the same
seed has the same verdict.

The bounds are well below the promise (50 ms and 32 MB beyond the frame's own size): a call of a Python function is some 0.1 µs, an object
some 100 bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

    from .findings import Findings

JUDGE: Final = "budgets"
ROWS, ROWS_PER_PERSON = 16, 4
"""Limit the journal rows that one request may cause: a fixed number and an allowance per member or open request, because the end of a
join phase answers all members."""
ANSWER_BYTES: Final = 1 << 18
ANSWER_PER_BYTE: Final = 32
BLOCKS: Final = 20_000
BLOCKS_PER_BYTE: Final = 8
CALLS: Final = 20_000
CALLS_PER_BYTE: Final = 8
"""The function calls that one request may cause per byte, which is two to three times the cost of any request in 600 seeds."""


class OverBudget(BaseException):
    """Stops a request that makes more function calls than its budget allows. No Exception, so that no handler of the server's takes it
    for a defect."""


class BudgetJudge:
    """Checks the cost of each request, with `watched` also its function calls and objects. That makes them three times as slow; strangers'
    are counted in any case.

    `largest` has the greatest of each measure: what -> (value, API key).
    """

    def __init__(self, bench: Findings, watched: bool) -> None:
        self.bench = bench
        self.watched = watched
        self.largest: dict[str, tuple[int, int]] = {}
        self._left = 0

    def request(
        self, frame: bytes, connection: int, people: int, measures: Callable[[], tuple[int, int]], handle: Callable[[], None]
    ) -> None:
        """Handle one request and check its cost. `measures` gives rows and answer bytes so far; `people`: members and open requests."""
        size, key = len(frame), int.from_bytes(frame[:2], "big", signed=True)
        allowed = CALLS + CALLS_PER_BYTE * size
        rows, answers = measures()
        counting = self.watched or connection in self.bench.strange
        blocks = sys.getallocatedblocks() if counting else 0
        try:
            if counting:
                self._counted(handle, allowed)
            else:
                handle()
        except OverBudget:
            self.bench.found(JUDGE, f"a request of API {key} with {size} bytes made more than {allowed} calls")
            return
        rows, answers = (after - before for after, before in zip(measures(), (rows, answers), strict=True))
        self._measured("rows", key, rows, ROWS + ROWS_PER_PERSON * people, size)
        self._measured("answer bytes", key, answers, ANSWER_BYTES + ANSWER_PER_BYTE * size, size)
        if counting:
            blocks = sys.getallocatedblocks() - blocks
            self._measured("objects kept", key, blocks, BLOCKS + BLOCKS_PER_BYTE * size, size)
            self._measured("calls", key, allowed - self._left, allowed, size)

    def _measured(self, what: str, key: int, value: int, allowed: int, size: int) -> None:
        if value > allowed:
            self.bench.found(JUDGE, f"a request of API {key} with {size} bytes cost {value} {what}, {allowed} are allowed")
        if value > self.largest.get(what, (0, 0))[0]:
            self.largest[what] = value, key

    def _counted(self, handle: Callable[[], None], allowed: int) -> None:
        self._left = allowed
        sys.setprofile(self._called)
        try:
            handle()
        finally:
            sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            self._left -= 1
            if self._left < 0:
                sys.setprofile(None)
                raise OverBudget
