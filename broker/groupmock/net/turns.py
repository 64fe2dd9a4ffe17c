"""Connections take fair turns, so that a peer that sends much does not make the others wait.

A single request at the end of a read is handled when it arrives. A connection with more requests (sent without waiting for answers, or
behind one that was just answered) stands in a queue, and nothing more is read from it meanwhile. Between two iterations of the loop the
queue has one slice of time: each connection in it gets an equal part and goes to the end if it has not finished. Then the loop goes on:
other connections are read and answered, timers and signals come, answers are written. Kafka is similar: a connection has one request at a
time in the queue of the request handlers (kafka.network.RequestChannel), behind all other connections with a request.

A connection whose last request took longer than a whole slice is slow: its next request goes into the queue even if it comes alone. So
twenty peers that each send one costly request after the other delay a bystander by one such request and not by twenty. So is a connection
that is about to send a token of SASL, which costs much of a peer that nobody knows yet (`net.guard`).
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
"""A connection gets at least this many ns, however many connections wait, because each change costs a write and two calls that stop and
start reading."""
NO_END: Final = 1 << 62


class Served(Protocol):
    """A connection in the queue of turns."""

    slow: bool


Each = TypeVar("Each", bound=Served)


class Turns(Generic[Each]):
    """The queue of a driver's connections that wait for their turn. `slice_us` is the longest time for waiting requests between two
    iterations of the running loop; None handles all of them at once, for a driver without a loop. `clock` gives ns of real time, because
    a slice bounds how long others wait. `soon` calls back after the loop's next look at its sockets. The driver sets `again`, which is
    called for the next slice."""

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
        self._rush_began = self._rushed = -NO_END

    @property
    def ordered(self) -> bool:
        """True if the queue is to be served in the loop's next turn."""
        return self._next is not None

    def due(self) -> Iterator[Each]:
        """Yield each connection to serve now, until its share of the time slice is `over`. No connection is yielded while a next slice
        is scheduled, because that slice comes first."""
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
            served.slow = False
            yield served
            began, now = now, self._clock()
            served.slow |= now - began > self.slice_ns

    def over(self) -> bool:
        """True if the connection that is being served has used up its share of the time slice."""
        return self._end is not NO_END and self._clock() >= self._end

    def is_rush(self) -> bool:
        """True if calls of this method have come, with less than a slice between two of them, for more than a slice. The caller then lets
        its connection wait for a turn instead of handling it at once."""
        now = self._clock()
        if now - self._rushed > self.slice_ns:
            self._rush_began = now
        self._rushed = now
        return now - self._rush_began > self.slice_ns

    def order(self) -> None:
        """Serve the queue in the loop's next turn, even if the queue is empty now."""
        if self._next is None:
            self._next = self._soon(self._turn)

    def stop(self) -> None:
        """Drop the queue and serve no connection any more."""
        self.waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _turn(self) -> None:
        self._next = None
        self.again()


def on_the_running_loop(callback: Callable[[], None]) -> Handle:
    """Call back in the running loop's next turn."""
    return asyncio.get_running_loop().call_soon(callback)


def _nobody() -> None:
    """Stand for the callback until a driver uses this queue."""
