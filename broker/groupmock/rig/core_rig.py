"""The pure core, pumped by hand: requests in, answers out, a clock that moves when it is told to.

It keeps the rules that the driver keeps for a served cluster (net/driver.py), and they stand here once for everybody who has no driver:

- One request at a time per connection: what is sent behind a parked request waits, and goes to the core the moment that one is answered.
- A request that the core abandons leaves its connection mute: what stands behind it is never handed in (P1-d6).
- A connection that the core closes, or that hangs up, loses whatever is open on it; answers that come later are lost as well.
- Timers fire at their own times, each before the next, however far the clock is moved at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import APIS
from groupmock_codec.units import NS_PER_MS

from ..core.effects import Abandoned, Close, Replies, Reply, Silent
from ..core.events import Command, Disconnected, Request
from ..core.turn import Turn
from ..core.work import OF_GROUPS, Asks, Work, on
from .ask import ABANDONED, CLOSED, LOST, PARKED, SILENT, Ask, Connection
from .dice import FedDice
from .making import EPOCH_MS, Topics, counted, make_core
from .watch import Watch

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.core import Core
    from ..core.effects import Effect, Effects
    from ..core.groups.type import GroupType
    from ..core.log.topics import Topic
    from ..core.work import Steps
    from ..journal.rows import Row
    from .member import Member

HOST: Final = "/127.0.0.1"


class _AtOnce(Turn):
    """Nobody performs its effects, so work that is begun is done there and then."""

    def _begin(self, steps: Callable[[Turn], Steps], groups: Container[str] = (), asks: Asks = OF_GROUPS, *, commits: bool = False) -> None:
        for _ in steps(self):
            pass


class CoreRig:
    """A core and its connections on a virtual clock that starts at 0. `CoreRig.make` makes one of a profile and settings.

    `watch` is told what happens when it happens. `coded`: requests and answers go through bytes in their version, as over a socket, so that
    an answer has what its version carries. `checked`: every group's invariants are looked at after every event. `dice` replace the core's.
    """

    def __init__(
        self, core: Core, *, watch: Watch | None = None, coded: bool = True, checked: bool = True, dice: FedDice | None = None
    ) -> None:
        self.core = core
        self.dice = dice
        if dice is not None:
            core.environment.dice = dice
        self.now = 0
        """Run time in ns."""
        self.effects: list[Effect] = []
        """All that the core has said so far, but for answers that came in one effect: those are in their requests."""
        self.watch = Watch() if watch is None else watch
        self._coded, self._checked = coded, checked
        self._times: list[int] = []
        self._connections: dict[str, Connection] = {}
        self._open: dict[int, Ask] = {}
        self._numbers = 0
        self._tickets = 0

    @classmethod
    def make(
        cls,
        *,
        profile: str | None = None,
        settings: Mapping[str, object] | None = None,
        seed: int = 1,
        nodes: int = 1,
        topics: Topics | None = None,
        epoch_ms: int = EPOCH_MS,
        watch: Watch | None = None,
        dice: FedDice | None = None,
    ) -> CoreRig:
        """A fresh cluster. `settings`: Kafka's names and values; `topics`: name -> partitions; `epoch_ms`: the wall clock at 0.

        Raises groupmock.ConfigError for a setting or profile that there is not."""
        core = make_core(profile, settings, seed=seed, nodes=nodes, epoch_ms=epoch_ms)
        rig = cls(core, watch=watch, dice=dice)
        for name, partitions in counted(topics, rig.core.environment.settings).items():
            rig.topic(name, partitions)
        return rig

    # -- asking

    def send(
        self,
        key: int,
        version: int,
        message: Message,
        *,
        connection: str | None = None,
        client_id: str | None = "rig",
        node: int = 1,
        client_host: str = HOST,
        ticket: int | None = None,
        draws: Sequence[str] = (),
    ) -> Ask:
        """Send one request; the clock stands still. What it caused is in the result: the answer, if it came at once.

        `connection`: its name, opened at first use; None: one of the request's own. `ticket`: its number in the run, None for the next one.
        `draws`: what fed dice give it. Requests sent without moving the clock arrive together: what one of them has written (a committed
        offset) is answered when the clock moves, by `sleep(0)` too."""
        if self._coded:
            api = APIS[key].request
            message = api.decode(version, api.encode(version, message))
        link = self.connection(connection)
        if ticket is None:
            self._tickets += 1
            ticket = self._tickets
        ask = Ask(Request(ticket, link.number, node, key, version, client_id, client_host, message), link, self.now, draws)
        if link.ended:
            ask.status = CLOSED
        elif link.flying is not None:
            link.waiting.append(ask)
        else:
            self._dispatch(ask)
        return ask

    def ask(self, key: int, version: int, message: Message, **how: Any) -> Any:
        """`send` what is answered within this moment, and return the answer. AssertionError when it is not."""
        ask = self.send(key, version, message, **how)
        self.sleep(0)
        assert ask.answer is not None, f"no answer: {ask!r}"
        return ask.answer

    def member(self, client_id: str, **how: Any) -> Member:
        """A scripted member with a connection of its own; `how`: as `groupmock.rig.Member` takes it."""
        from .member import Member

        return Member(self, client_id, **how)

    def command(self, name: str, /, **arguments: Any) -> None:
        """Steer the cluster (docs/reference/control.md). Raises CannotSteer, which is a ValueError, or UnknownCommand, a LookupError."""
        self._perform(self.core.handle(Command(name, arguments), self.now))

    def topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None, replicas: Sequence[list[int]] | None = None
    ) -> Topic:
        """Make a topic. `replicas`: the nodes of each partition, the leader first; None: placed as Kafka does."""
        topics = self.core.cluster.topics
        placed = topics.place(name, partitions, 1) if replicas is None else replicas
        return topics.add(self.turn(), name, placed, configs or {})

    def connection(self, name: str | None = None) -> Connection:
        """The connection of that name, opened if there is none; None: one without a name."""
        link = None if name is None else self._connections.get(name)
        if link is None:
            self._numbers += 1
            link = Connection(self._numbers)
            if name is not None:
                self._connections[name] = link
        return link

    def hang_up(self, connection: str) -> None:
        """The peer is gone: what is open on that connection is lost. The name may be used again, for a new one."""
        link = self._connections.pop(connection, None)
        if link is None:
            return
        link.ended = True
        lost = [*link.waiting] if link.flying is None else [link.flying, *link.waiting]
        link.waiting.clear()
        for ask in lost:
            ask.status = LOST
            self.watch.ended(ask)
        self._perform(self.core.handle(Disconnected(link.number), self.now))

    # -- the clock

    @property
    def now_ms(self) -> float:
        """Run time in ms."""
        return self.now / NS_PER_MS

    def sleep(self, ms: float) -> list[Effect]:
        """Let time pass, firing every timer on the way at its own time; what happened meanwhile."""
        mark = len(self.effects)
        self.advance(self.now + round(ms * NS_PER_MS))
        return self.effects[mark:]

    def until(self, done: Callable[[], object], limit_ms: float = 3_600_000) -> None:
        """Let time pass, timer by timer, until `done` is true. AssertionError after `limit_ms`."""
        self.advance(self.now + round(limit_ms * NS_PER_MS), done)
        assert done(), f"not so after {limit_ms:g} virtual ms"

    def advance(self, to: int, done: Callable[[], object] | None = None) -> None:
        """Move the clock to run time `to` (ns), or until `done` is true, which is asked before every timer."""
        while done is None or not done():
            deadline = self.core.deadline()
            if deadline is None or deadline > to:
                self.now = max(self.now, to)
                return
            # What is overdue fires now: the clock never goes back.
            self.now = max(self.now, deadline)
            self._perform(self.core.expire(self.now) or [])

    # -- looking

    def group(self, group_id: str) -> GroupType:
        """The group as the core has it: `state`, `generation`, `members`, `leader_id`. LookupError when there is none."""
        group = self.core.cluster.groups.find(group_id)
        if group is None:
            raise LookupError(f"no group {group_id!r}")
        return group

    def of(self, kind: type[Any]) -> list[Any]:
        """The effects of that class so far: Moved, MemberChanged, TimerFired, Note, ... of groupmock.core.effects."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def rows(self) -> list[Row]:
        """State changes, members, timers and notes so far as journal rows (docs/reference/journal.md)."""
        from ..net.record import ROW_OF

        happened = zip(self.effects, self._times, strict=True)
        return [ROW_OF[type(effect)][1](effect, now) for effect, now in happened if type(effect) in ROW_OF]

    def turn(self) -> Turn:
        """An entry made by hand, for whoever calls a part of the core; its effects are nobody's."""
        return _AtOnce(self.core.environment, self.now, [])

    # -- inside

    def _dispatch(self, ask: Ask) -> None:
        ask.status = PARKED
        ask.connection.flying = self._open[ask.request.ticket] = ask
        dice = self.dice
        if dice is None:
            effects = self.core.handle(ask.request, self.now)
        else:
            dice.fed.extend(ask.draws)
            dice.drew.clear()
            effects = self.core.handle(ask.request, self.now)
            ask.drew = dice.drew.copy()
            dice.fed.clear()
        self.watch.handed(ask)
        self._perform(effects)

    def _perform(self, effects: Effects) -> None:
        for effect in effects:
            if isinstance(effect, Work):
                while (more := self.core.go_on(effect, self.now)) is not None:
                    self._perform(more)
                continue
            self.effects.append(effect)
            self._times.append(self.now)
            kind = type(effect)
            if kind is Reply:
                self._reply(effect)  # type: ignore[arg-type]  # asked by its type, for speed
            elif kind is Replies:
                for reply in effect.replies:  # type: ignore[union-attr]
                    self._reply(reply)
            elif isinstance(effect, Abandoned | Close | Silent):
                self._without_answer(effect)
            else:
                self.watch.effect(effect)
        if self._checked:
            busy = self.core.environment.busy
            for group in self.core.cluster.groups.all():
                if not busy or not on(busy, group.group_id):  # what must hold need not hold in the midst of work on it
                    group.invariants()

    def _taken(self, ticket: int) -> Ask:
        ask = self._open.pop(ticket, None)
        assert ask is not None, f"ticket {ticket} is done already, or was never open"
        ask.connection.flying = None
        ask.done = self.now
        return ask

    def _reply(self, reply: Reply) -> None:
        ask = self._taken(reply.ticket)
        if ask.status == PARKED:
            ask.lease = reply.lease
            ask.take(self._as_read(ask.request, reply.message) if self._coded else reply.message)
            self.watch.answered(ask)
        self._next(ask.connection)

    @staticmethod
    def _as_read(request: Request, message: Message) -> Message:
        api = APIS[request.key].response
        version = request.version if request.version in api.versions else 0  # so an ApiVersions of an unknown version is answered
        return api.decode(version, api.encode(version, message))

    def _next(self, link: Connection) -> None:
        if link.waiting and link.flying is None and not link.ended:
            ask = link.waiting.popleft()
            self.watch.next(ask)
            self._dispatch(ask)

    def _without_answer(self, effect: Abandoned | Close | Silent) -> None:
        ask = self._taken(effect.ticket)
        link = ask.connection
        if ask.status == LOST:
            return
        if isinstance(effect, Silent):
            ask.status = SILENT
            self.watch.ended(ask)
            self._next(link)
        elif isinstance(effect, Abandoned):
            # In flight for ever: its connection is mute, what comes behind it is never handed in (P1-d6).
            ask.status, ask.reason, link.flying = ABANDONED, effect.reason, ask
            self.watch.ended(ask)
        else:
            link.ended = True
            for gone in (ask, *link.waiting):
                gone.status, gone.reason, gone.done = CLOSED, effect.reason, self.now
                self.watch.ended(gone)
            link.waiting.clear()

    def open(self) -> Iterator[Ask]:
        """The requests that the core has and has not answered, oldest first; those of lost connections too."""
        return iter(self._open.values())
