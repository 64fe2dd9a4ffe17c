"""Whose requests are handled next, and for how long: what keeps one peer that sends much from making the others wait.

One request at the end of a read, with nothing before it, is handled when it comes. Whoever has more than that waiting (requests sent
without waiting for answers, requests behind one that was just answered) stands in a queue, and nothing more is read from it meanwhile.
Between two turns of the loop the queue has one slice of time: each connection in it gets an equal part, then the next one is served;
who has not finished goes to the end. When the slice is over the loop has its turn: others are read and answered, timers and signals
come, answers are written. Kafka's shape is the same: a connection has one request at a time in the queue of the request handlers
(kafka.network.RequestChannel), behind it every other one that has a request ready.

A connection whose last request took longer than a whole slice is slow: its next one stands in the queue even if it comes alone. So
twenty peers that each send one costly request after the other cost a bystander one such request and not twenty.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from .clock import Handle

LEAST_NS: Final = 100_000
"""However many wait, a connection gets this much: changing over costs a write and two calls that stop and start reading."""
NO_END: Final = 1 << 62


class Served(Protocol):
    """Who stands in the queue: a connection."""

    slow: bool


Each = TypeVar("Each", bound=Served)


class Turns(Generic[Each]):
    """Handed to the driver. `slice_us`: longest stretch of waiting requests between two turns of the running loop; None: all of them at
    once, as where there is no loop. `clock`: ns; real time, for a slice is about how long others wait. `soon`: calls back after the loop's
    next look at its sockets. The driver sets `again`, which is called for the next slice."""

    def __init__(
        self, slice_us: int | None, clock: Callable[[], int] = time.monotonic_ns, soon: Callable[[Callable[[], None]], Handle] | None = None
    ) -> None:
        self.again: Callable[[], None] = _nobody
        self.waiting: deque[Each] = deque()
        self.slice_ns = NO_END if slice_us is None else slice_us * 1000
        self._clock = clock
        self._soon = soon or on_the_running_loop
        self._next: Handle | None = None
        self._end = NO_END

    @property
    def ordered(self) -> bool:
        """Does the queue wait for the loop's next turn?"""
        return self._next is not None

    def due(self) -> Iterator[Each]:
        """Who is to be served now, each until its part is `over`. Nobody while a next slice is ordered: that one comes first."""
        if self._next is not None:
            return
        waiting = self.waiting
        if self.slice_ns is NO_END:
            while waiting:
                yield waiting.popleft()
            return
        now = self._clock()
        stop = now + self.slice_ns
        while waiting:
            if now >= stop:
                self.order()
                return
            self._end = now + max(LEAST_NS, min(self.slice_ns // len(waiting), stop - now))
            served = waiting.popleft()
            yield served
            began, now = now, self._clock()
            served.slow = now - began > self.slice_ns

    def over(self) -> bool:
        """Has the connection that is being served had its part?"""
        return self._end is not NO_END and self._clock() >= self._end

    def order(self) -> None:
        """Who waits is served in the loop's next turn, even where nobody waited before."""
        if self._next is None:
            self._next = self._soon(self._turn)

    def stop(self) -> None:
        """Nobody is served any more."""
        self.waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _turn(self) -> None:
        self._next = None
        self.again()


def on_the_running_loop(callback: Callable[[], None]) -> Handle:
    """In its next turn."""
    return asyncio.get_running_loop().call_soon(callback)


def _nobody() -> None:
    """No driver was built with it."""
