"""The core is a state machine, and everything that happens to a cluster enters it by `handle`, `expire` or `renew`, and leaves it as
effects.

A pure state machine. An event (a decoded request, a connection that ended, a command) and the time go in, and a list of effects comes out.
Nothing here waits, reads a clock or has a random generator of its own; `now` is an argument and the dice are passed in. So a session of 45
seconds is tested in microseconds, and a journal with the same events, times and draws reproduces the run (docs/reference/journal.md;
groupmock.rig.replay).

Order of effects. Effects are performed in the order of the list, and all effects of an entry before the next entry. Within an entry a state
changes before the answers that depend on it are sent. A timer that did something is recorded before what it did (`TimerFired`). The answers
to a thousand members at the end of a phase are one effect that makes them on demand (`Replies`), after the state has changed. Long work is
an effect as well (`core.work`): the driver calls `go_on` for each of its steps.

Waiting. A request that cannot be answered yet is data (a ticket kept with the member or the fetch that waits), as Kafka keeps delayed
operations in a purgatory (kafka.server.DelayedOperationPurgatory). The effects of a later entry answer it, if anything does.

Timers. They fire after arrivals: the driver passes in all that has arrived before it calls `expire`, as Kafka 4 queues a due timer behind
the requests that are there (docs/kafka/differences.md, "rebalance timeout 0"). Due timers fire by deadline, then in the order in which they
were set. `deadline` may be too early and is never too late.

Held and released. An operator may hold groups, members and joins (core.steering.holds). A held request or timer is checked once, before it
does anything. After its release it goes to the end of a queue, `Environment.ready`, which is emptied before the entry returns. So released
requests and timers happen in order of arrival and never in the middle of something else.

Budgets. The connection of a request that would cost too much is closed (`core.budget`): its handler raises OverBudget before it does
anything.

Renewal. A client repeats its heartbeat byte for byte, and the answer stays the same until its group changes. The answer carries a `Lease`:
while `group.epoch` is unchanged, the driver repeats the answer itself and writes the time into the `Beats` that `renew` has returned. That
moves the session's deadline to a later time, which its timer finds out when it is due, and nothing else. Everything that could change the
answer raises the group's epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groupmock_codec.units import NS_PER_MS

from . import apis
from .budget import OverBudget
from .cluster import Cluster, cluster_on
from .effects import Effects, Lease, TimerFired
from .environment import NO_HOLDS, Environment
from .events import Command, Disconnected, Event, Request
from .timers import NOT_YET, Beats, Key
from .turn import TimerHandler, Turn
from .work import begun_after, keeps

if TYPE_CHECKING:
    from collections.abc import Callable

    from .dice import Bits
    from .identity import Identity
    from .settings import Settings
    from .work import Work


def core_of(settings: Settings, identity: Identity, bits: Bits, epoch_ms: int) -> Core:
    """Create a core of a cluster without topics and groups. `epoch_ms` is the wall clock (ms since 1970) at run time 0."""
    return Core(cluster_on(Environment(settings, identity, bits, epoch_ms)))


class Core:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.environment = cluster.environment
        self.behaviour = apis.behaviour if cluster.authorizer is None else _checked_behaviour()
        """Returns the function that handles the requests of an API key. Raises KeyError if there is none; the driver never dispatches
        such a request."""
        # All other timers are set by groups, whose registry knows what they mean.
        self.timer_handlers: dict[str, TimerHandler] = {
            **cluster.topics.timer_handlers(),
            **cluster.groups.timer_handlers(),
            **cluster.tenancy.timer_handlers(),
            "share_fetch": self._of_shares("share_fetch"),
            "record_lock": self._of_shares("record_lock"),
            "stall": self._steered("stall"),
            "thaw": self._steered("thaw"),
            "markers_release": self._steered("markers_release"),
            "right_returns": self._steered("right_returns"),
        }

    def handle(self, event: Event, now: int) -> Effects:
        """Handle one event and return its effects. Parked requests are answered by a later call's effects."""
        environment = self.environment
        turn = Turn(environment, now, [])
        # This code is not split into functions, because nearly every request runs through it.
        if isinstance(event, Request) and environment.holds is NO_HOLDS and not environment.busy:
            try:
                self.behaviour(event.key)(self.cluster, event, turn)
            except OverBudget as refusal:
                turn.refuse(event.ticket, refusal)
            return turn.out
        self._let(event, turn)
        if environment.ready:
            self._let_ready(turn)
        return turn.out

    def expire(self, now: int) -> Effects | None:
        """Fire the timer with the earliest deadline, and return its effects, or None if no timer is due. Call it
        until None."""
        turn = Turn(self.environment, now, [])
        key = turn.timers.due(now)
        if key is None:
            return None
        if key is NOT_YET:
            return turn.out
        self._fire(key, turn)
        if self.environment.ready:
            self._let_ready(turn)
        return turn.out

    def go_on(self, work: Work, now: int) -> Effects | None:
        """Do the next step of work that was split into steps and return its effects, or None if the work is done. Call it until None."""
        if work.over:
            return None
        turn: Turn = work.turn
        turn.now, turn.out = now, []
        if next(work.steps, work) is work:
            self._stepped(work, turn)
        return turn.out

    def deadline(self) -> int | None:
        """Return the time for the next call of `expire`, or None if no timer is set. It may be too early and is never too late."""
        return self.environment.timers.next()

    def renew(self, lease: Lease) -> Beats:
        """Return where the driver writes the time of each heartbeat that it answers by repeating an answer. That renews the session of
        the member; nothing else changes."""
        member = lease.member
        return member.session.beating(member.session_timeout_ms * NS_PER_MS)

    def _let(self, event: Event, turn: Turn) -> None:
        if isinstance(event, Request):
            if not keeps(self.environment.busy, event) and not self.environment.holds.keeps(event):
                self._ask(event, turn)
        elif isinstance(event, Disconnected):
            # Groups are not told of a closed connection, because a JoinGroup or SyncGroup whose connection closed still counts (P1-d7).
            self.cluster.topics.disconnected(event.connection)
            self.cluster.disconnected_from_shares(turn, event.connection)
        elif isinstance(event, Command):
            from . import steering  # The first command imports the steering module, because most clusters get no command.

            self._finish(turn)
            steering.steer(self.cluster, event, turn)

    def _ask(self, request: Request, turn: Turn) -> None:
        try:
            self.behaviour(request.key)(self.cluster, request, turn)
        except OverBudget as refusal:
            turn.refuse(request.ticket, refusal)

    def _let_ready(self, turn: Turn) -> None:
        ready = self.environment.ready
        while ready:
            self._let_go(ready.popleft(), turn)

    def _let_go(self, released: Event | Key, turn: Turn) -> None:
        """Handle a request, or fire a timer, that a command had held back. A timer that was set again meanwhile does not fire: a session
        was renewed, or a new phase began."""
        if not isinstance(released, tuple):
            self._let(released, turn)
        elif released not in turn.timers:
            self._fire(released, turn)

    def _stepped(self, work: Work, turn: Turn) -> None:
        """Handle the requests that had to wait until this work was done, one by one."""
        busy = self.environment.busy
        if work.waiting and (later := begun_after(busy, work)) is not None:
            # A request or timer that was let in has begun other work on the group, and the rest has to wait for that.
            later.waiting += work.waiting
            work.waiting.clear()
        if work.waiting:
            work.let_in = work.waiting.popleft()
            self._let_go(work.let_in, turn)
            if self.environment.ready:
                self._let_ready(turn)
            return
        work.over = True
        if work in busy:
            busy.remove(work)

    def _finish(self, turn: Turn) -> None:
        """Finish all work that is split into steps, so that a command finds no group in the middle of a change."""
        busy = self.environment.busy
        while busy:  # A request that waited for earlier work to end may have begun new work.
            work = busy[0]
            while (effects := self.go_on(work, turn.now)) is not None:
                turn.out += effects

    def _fire(self, key: Key, turn: Turn) -> None:
        """Fire a timer, and add an effect for it if it changed anything."""
        place = len(turn.out)
        handler = self.timer_handlers.get(key[0])
        if handler(key[1:], turn) if handler is not None else self.cluster.groups.fire(key, turn):
            turn.out.insert(place, TimerFired(key[0], key[1:]))

    def _of_shares(self, name: str) -> TimerHandler:
        return lambda subject, turn: self.cluster.shares.timer_handlers()[name](subject, turn)

    def _steered(self, name: str) -> TimerHandler:
        def handle(subject: tuple[str, ...], turn: Turn) -> bool:
            from .steering.clock import TIMERS

            return TIMERS[name](self.cluster, subject, turn)

        return handle


def _checked_behaviour() -> Callable[[int], apis.Behaviour]:
    from .gate import behaviour  # This import is late, because most clusters have no authorizer.

    return behaviour
