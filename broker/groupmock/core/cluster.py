"""The single funnel: every change to a group or a log goes through `handle`, `expire` or `renew` (architecture rule 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import apis
from .dice import Bits, Dice
from .effects import Effects, Lease, TimerFired
from .events import Command, Disconnected, Event, Request
from .group.coordinator import Coordinators
from .identity import Identity
from .log.topics import Topics
from .settings import Settings
from .timers import Key, Timers
from .units import NS_PER_MS

if TYPE_CHECKING:
    from .steering.doors import Doors

TimerHandler = Callable[[tuple[str, ...], int, Effects], bool]


class Cluster:
    """Nodes, topics and one coordinator per offsets partition, as a pure state machine.

    `epoch_ms` is the wall clock (ms since 1970) at run time 0: timestamps on the wire are `wall_ms(now)`.
    """

    def __init__(self, settings: Settings, identity: Identity, bits: Bits, epoch_ms: int) -> None:
        self.settings = settings
        self.identity = identity
        self.dice = Dice(bits)
        self.timers = Timers()
        self.up = identity.nodes
        """The nodes that run; a stalled one does."""
        self.stalled: set[int] = set()
        self.doors: Doors | None = None
        """Where somebody told requests and timers to wait; None: nobody ever did."""
        self._epoch_ms = epoch_ms
        self.topics = Topics(self)
        self.coordinators = Coordinators(self)
        self._timer_handlers: dict[str, TimerHandler] = {
            **self.topics.timer_handlers(),
            **self.coordinators.timer_handlers(),
            "stall": self._steered("stall"),
            "thaw": self._steered("thaw"),
        }

    def wall_ms(self, now: int) -> int:
        """Milliseconds since 1970 at run time `now`."""
        return self._epoch_ms + now // NS_PER_MS

    def handle(self, event: Event, now: int) -> Effects:
        """Let one event happen. Parked requests are answered by a later call's effects."""
        out: Effects = []
        if isinstance(event, Request):
            if self.doors is None:
                apis.behaviour(event.key)(self, event, now, out)
            else:
                self.doors.admit(event, now, out)
        elif isinstance(event, Disconnected):
            self.topics.disconnected(event.connection)
        elif isinstance(event, Command):
            from . import steering  # loaded by the first command

            steering.steer(self, event, now, out)
        if self.doors is not None:
            self.doors.admit_ready(now, out)
        return out

    def expire(self, now: int) -> Effects:
        """Fire every timer whose deadline is at or before `now`, in deadline order."""
        out: Effects = []
        while (key := self.timers.due(now)) is not None:
            self.fire(key, now, out)
            if self.doors is not None:
                self.doors.admit_ready(now, out)
        return out

    def fire(self, key: Key, now: int, out: Effects) -> None:
        """Do what a timer is for, and tell it if that changed anything."""
        place = len(out)
        if self._timer_handlers[key[0]](key[1:], now, out):
            out.insert(place, TimerFired(key[0], key[1:]))

    def _steered(self, name: str) -> TimerHandler:
        def handle(subject: tuple[str, ...], now: int, out: Effects) -> bool:
            from .steering.clock import TIMERS
            from .turn import Turn

            return TIMERS[name](Turn(self, now, out), subject)

        return handle

    def deadline(self) -> int | None:
        """When to call `expire` next; None: nothing is armed. May be early, never late."""
        return self.timers.next()

    def renew(self, lease: Lease, now: int) -> None:
        """A repeated heartbeat under a valid lease: the member's session deadline moves, nothing else (architecture section 3)."""
        member = lease.member
        member.session.deadline = now + member.session_timeout_ms * NS_PER_MS
