"""What passed by and is not in the journal yet: bytes with their times, read and written between two turns of the loop.

Passing on comes first: a client waits for nothing here. But memory is bounded: when more than `MOST_BYTES` wait, nothing more is read from
any connection until half of that is written. Then the recording is what limits the rate, and nobody's buffers grow.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic_ns
from typing import Final

MOST_BYTES: Final = 16 * 1024 * 1024
EACH: Final = 128
"""What a waiting piece costs beyond its bytes."""
SLICE_NS: Final = 2_000_000
"""Longest stretch of this work between two turns of the loop, as the server's own (`net.limits`, groupmock.requests.slice.us)."""

Step = Callable[[], bool]
"""A little of one piece of work. True: there is more of it."""


class Work:
    """Steps in order. `add(step, size)`; `full`: too much waits; `relieved()` is called when it no longer does."""

    def __init__(self, relieved: Callable[[], None], most: int = MOST_BYTES) -> None:
        self.waiting = 0
        self.full = False
        self._most = most
        self._relieved = relieved
        self._steps: deque[tuple[Step, int]] = deque()
        self._ordered = False

    def add(self, step: Step, size: int) -> None:
        """To be done soon, after all that was added before."""
        self._steps.append((step, size))
        self.waiting += size + EACH
        if self.waiting > self._most:
            self.full = True
        if not self._ordered:
            self._ordered = True
            asyncio.get_running_loop().call_soon(self._turn)

    def finish(self) -> None:
        """Do all of it now."""
        while self._steps:
            self._do()

    def _turn(self) -> None:
        end = monotonic_ns() + SLICE_NS
        while self._steps:
            self._do()
            if monotonic_ns() >= end:
                break
        self._ordered = bool(self._steps)
        if self._ordered:
            asyncio.get_running_loop().call_soon(self._turn)

    def _do(self) -> None:
        step, size = self._steps[0]
        if step():
            return
        self._steps.popleft()
        self.waiting -= size + EACH
        if self.full and self.waiting <= self._most // 2:
            self.full = False
            self._relieved()
