"""Connect the judges with the core, the driver and the clients that they watch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from groupmock.core.core import Core
from groupmock.core.effects import Effects, Replies, Reply
from groupmock.core.events import Event, Request
from groupmock.core.work import Work

from .budgets import BudgetJudge
from .consumer_groups import ConsumerGroupJudge
from .findings import Findings
from .groups import GroupJudge
from .history import HistoryJudge
from .shares import ShareJudge
from .streams_groups import StreamsGroupJudge
from .transactions import TransactionJudge
from .turns import TurnJudge

if TYPE_CHECKING:
    from groupmock.core.effects import Lease
    from groupmock.core.timers import Beats


class Bench(Findings):
    """Holds all judges of one simulated run."""

    def __init__(self, watched: bool) -> None:
        super().__init__()
        self.groups = GroupJudge(self)
        self.consumer_groups = ConsumerGroupJudge(self)
        self.streams_groups = StreamsGroupJudge(self)
        self.shares = ShareJudge(self)
        self.history = HistoryJudge(self, self.groups)
        self.transactions = TransactionJudge(self)
        self.budgets = BudgetJudge(self, watched)
        self.turns = TurnJudge(self)
        self.asked: dict[int, Request] = {}
        """Maps a ticket to its request until the request is answered."""
        self.works: set[int] = set()
        """The ids of the objects of unfinished work."""

    def look_at_groups(self) -> None:
        """Check the invariants of streams groups, unless work is under way that tells groups of changed topics."""
        if not self.works:
            self.streams_groups.look_at_invariants()

    def answered(self, reply: Reply) -> None:
        """Pass an answer of the core to the judges."""
        asked = self.asked.pop(reply.ticket, None)
        if asked is None:
            self.found("answers", f"ticket {reply.ticket} is answered, and nobody waits for it")
            return
        self.groups.answered(asked, reply.message)
        self.consumer_groups.answered(asked, reply.message)
        self.streams_groups.answered(asked, reply.message)
        self.shares.answered(asked, reply.message)
        self.history.answered(asked, reply.message)
        self.transactions.answered(asked, reply.message)


class _WatchedBeats:
    """The time of the last repeated heartbeat under a lease. Each one that the driver writes is shown to the judge of its group."""

    def __init__(self, beats: Beats, bench: Bench, lease: Lease) -> None:
        self._beats, self._bench, self._lease = beats, bench, lease

    @property
    def last(self) -> int:
        return self._beats.last

    @last.setter
    def last(self, now: int) -> None:
        bench = self._bench
        bench.now = now
        group = self._lease.group.group_id
        if group in bench.consumer_groups.names:
            bench.consumer_groups.renewed(self._lease)
        elif group in bench.streams_groups.names:
            bench.streams_groups.renewed(self._lease)
        elif group not in bench.shares.names:
            bench.groups.renewed(self._lease)
        self._beats.last = now


class WatchedCore(Core):
    """A core that shows every event and its effects to the judges."""

    def __init__(self, core: Core, bench: Bench) -> None:
        super().__init__(core.cluster)
        self.bench = bench
        self._within = False
        bench.groups.cluster = bench.consumer_groups.cluster = bench.streams_groups.cluster = core.cluster
        bench.history.cluster = bench.transactions.cluster = bench.shares.cluster = core.cluster

    def handle(self, event: Event, now: int) -> Effects:
        bench = self.bench
        bench.now = now
        if isinstance(event, Request):
            bench.asked[event.ticket] = event
            bench.groups.expects(event)
            bench.consumer_groups.expects(event)
            bench.streams_groups.expects(event)
            bench.shares.expects(event)
            bench.history.asks(event)
            bench.transactions.asks(event)
        self._within = True
        effects = super().handle(event, now)
        self._within = False
        self._seen(effects)
        return effects

    def expire(self, now: int) -> Effects | None:
        self.bench.now = now
        self._within = True
        effects = super().expire(now)
        self._within = False
        self._seen(effects or [])
        return effects

    def go_on(self, work: Work, now: int) -> Effects | None:
        """Continue suspended work of the core, and show its effects to the judges. Within another entry, which a command is, its effects
        are part of that one's."""
        self.bench.now = now
        effects = super().go_on(work, now)
        if effects is None:
            self.bench.works.discard(id(work))
        if not self._within:
            self._seen(effects or [])
        return effects

    def renew(self, lease: Lease) -> Beats:
        return cast("Beats", _WatchedBeats(super().renew(lease), self.bench, lease))

    def _seen(self, effects: Effects) -> None:
        bench = self.bench
        elsewhere = bench.groups.elsewhere
        bench.groups.happened([each for each in effects if getattr(each, "group", None) not in elsewhere] if elsewhere else effects)
        for place, effect in enumerate(effects):
            if isinstance(effect, Reply):
                bench.answered(effect)
            elif isinstance(effect, Work):
                self.bench.works.add(id(effect))
            elif isinstance(effect, Replies):
                effects[place] = Replies(self._lazily(effect.replies))
            else:
                self._passed(effect)
        bench.shares.look_at_all()

    def _passed(self, effect: Any) -> None:
        ticket = getattr(effect, "ticket", None)
        if ticket is not None:  # The effects Silent, Abandoned and Close mean that there will be no answer.
            self.bench.asked.pop(ticket, None)
        bench = self.bench
        for judge in (bench.consumer_groups, bench.streams_groups, bench.shares, bench.history, bench.transactions):
            judge.happened(effect)

    def _lazily(self, replies: Iterator[Reply]) -> Iterator[Reply]:
        for reply in replies:
            self.bench.answered(reply)
            yield reply
