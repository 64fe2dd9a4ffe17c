"""The pure core is driven by hand here: requests go in, answers come out, and the clock moves only when the caller moves it.

It follows the rules that the driver follows for a served cluster (net/driver.py):

- A connection has one request in flight. Later ones wait, and the next goes to the core as soon as that is answered.
- A request that the core abandons leaves its connection mute: later ones never reach the core (P1-d6).
- A connection that the core or the client closes loses its open requests, and later answers to them are lost as well.
- Timers fire one after the other, each at its own time, however far the clock is moved at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import APIS
from groupmock_codec.units import NS_PER_MS

from ..core.effects import Abandoned, Close, Replies, Reply, Silent
from ..core.events import ANONYMOUS, Command, Disconnected, Request
from ..core.turn import Turn
from ..core.work import OF_GROUPS, Asks, Work, at_once, on
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
    """A turn that does long work at once and not step by step, because nobody performs its effects, which would bring the next step."""

    def _begin(self, steps: Callable[[Turn], Steps], groups: Container[str] = (), asks: Asks = OF_GROUPS, *, commits: bool = False) -> None:
        for _ in steps(self):
            pass


class CoreRig:
    """A core and its connections, on a virtual clock that starts at 0. `CoreRig.make` makes one from a profile and settings.

    `watch` is called when something happens. With `coded`, requests and answers are encoded and decoded in their version, so that an answer
    has only what its version carries. With `checked`, the invariants of every group and share partition are checked after every event.
    `dice` replace the core's."""

    def __init__(
        self, core: Core, *, watch: Watch | None = None, coded: bool = True, checked: bool = True, dice: FedDice | None = None
    ) -> None:
        self.core = core
        self.dice = dice
        if dice is not None:
            core.environment.dice = dice
        self.now = 0
        """The run time in ns."""
        self.effects: list[Effect] = []
        """The effects of the core so far. Answers that came as one effect are in their requests instead."""
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
        """Make a rig with a new cluster. `settings`: Kafka's names and values; `topics`: name -> partitions; `epoch_ms`: the wall clock
        at 0. Raises groupmock.ConfigError for an unknown setting or profile."""
        core = make_core(profile, settings, seed=seed, nodes=nodes, epoch_ms=epoch_ms)
        rig = cls(core, watch=watch, dice=dice)
        for name, partitions in counted(topics, rig.core.environment.settings).items():
            rig.topic(name, partitions)
        return rig

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
        principal: str = ANONYMOUS,
        ticket: int | None = None,
        draws: Sequence[str] = (),
    ) -> Ask:
        """Send one request without moving the clock. The returned request has the answer, if it came at once.

        `connection` is a name, opened at first use; None gives the request a connection of its own. `ticket` is its number in the run,
        None for the next one. `principal` is its authenticated sender. `draws` is what fed dice give it. Requests sent without moving the
        clock arrive together. A request that commits an offset is answered only when the clock moves, with `sleep(0)` at the earliest."""
        if self._coded:
            api = APIS[key].request
            message = api.decode(version, api.encode(version, message))
        link = self.connection(connection)
        if ticket is None:
            self._tickets += 1
            ticket = self._tickets
        request = Request(ticket, link.number, node, key, version, client_id, client_host, message, principal=principal)
        ask = Ask(request, link, self.now, draws)
        if link.ended:
            ask.status = CLOSED
        elif link.flying is not None:
            link.waiting.append(ask)
        else:
            self._dispatch(ask)
        return ask

    def ask(self, key: int, version: int, message: Message, **how: Any) -> Any:
        """Send a request that is answered within this moment, and return the answer. Raises AssertionError if it is not answered."""
        ask = self.send(key, version, message, **how)
        self.sleep(0)
        assert ask.answer is not None, f"no answer: {ask!r}"
        return ask.answer

    def member(self, client_id: str, **how: Any) -> Member:
        """Make a scripted member with a connection of its own; `how` is passed to `groupmock.rig.Member`."""
        from .member import Member

        return Member(self, client_id, **how)

    def command(self, name: str, /, **arguments: Any) -> None:
        """Run a command of the core (docs/reference/control.md). Raises CannotSteer (a ValueError) or UnknownCommand (a LookupError)."""
        self._perform(self.core.handle(Command(name, arguments), self.now))

    def topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None, replicas: Sequence[list[int]] | None = None
    ) -> Topic:
        """Create a topic and return it. `replicas` has the nodes of each partition, the leader first; None places them as Kafka does."""
        topics = self.core.cluster.topics
        placed = at_once(topics.place(name, partitions, 1)) if replicas is None else replicas
        return topics.add(self.turn(), name, placed, configs or {})

    def initialize_share(
        self, group_id: str, topic: str, partitions: Iterable[int] = (0,), start_offset: int = 0, state_epoch: int = 1
    ) -> None:
        """Initialize partitions of a topic for a share group, as the heartbeat of its first member does, so that they can be fetched.
        KeyError if the topic does not exist."""
        topic_id = self.core.cluster.topics.topic_id(topic)
        if topic_id is None:
            raise KeyError(topic)
        self.core.cluster.shares.initialize(self.turn(), group_id, topic_id, partitions, state_epoch, start_offset)

    def connection(self, name: str | None = None) -> Connection:
        """Return the connection with that name, which is opened on first use. None opens a new connection without a name."""
        link = None if name is None else self._connections.get(name)
        if link is None:
            self._numbers += 1
            link = Connection(self._numbers)
            if name is not None:
                self._connections[name] = link
        return link

    def hang_up(self, connection: str) -> None:
        """Close a connection from the client's side. Its open requests are lost. The name may be used again for a new connection."""
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

    @property
    def now_ms(self) -> float:
        """The run time in ms, as a float."""
        return self.now / NS_PER_MS

    def sleep(self, ms: float) -> list[Effect]:
        """Let time pass, firing each timer at its own time, and return the effects."""
        mark = len(self.effects)
        self.advance(self.now + round(ms * NS_PER_MS))
        return self.effects[mark:]

    def until(self, done: Callable[[], object], limit_ms: float = 3_600_000) -> None:
        """Let time pass, timer by timer, until `done` is true. Raises AssertionError after `limit_ms`."""
        self.advance(self.now + round(limit_ms * NS_PER_MS), done)
        assert done(), f"not so after {limit_ms:g} virtual ms"

    def advance(self, to: int, done: Callable[[], object] | None = None) -> None:
        """Move the clock to run time `to` (ns), or until `done` is true, which is checked before every timer."""
        while done is None or not done():
            deadline = self.core.deadline()
            if deadline is None or deadline > to:
                self.now = max(self.now, to)
                return
            # Overdue timers fire now, because the clock never goes back.
            self.now = max(self.now, deadline)
            self._perform(self.core.expire(self.now) or [])

    def group(self, group_id: str) -> GroupType:
        """Return the core's group object with `state`, `generation`, `members` and `leader_id`. Raises LookupError if the group does not
        exist."""
        group = self.core.cluster.groups.find(group_id)
        if group is None:
            raise LookupError(f"no group {group_id!r}")
        return group

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the effects of a class of groupmock.core.effects so far: Moved, MemberChanged, TimerFired, Note, ..."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def rows(self) -> list[Row]:
        """Return the state changes, member changes, timers and notes so far as journal rows (docs/reference/journal.md)."""
        from ..net.record import ROW_OF

        happened = zip(self.effects, self._times, strict=True)
        return [ROW_OF[type(effect)](effect, now) for effect, now in happened if type(effect) in ROW_OF]

    def turn(self) -> Turn:
        """Return a turn for a direct call to a part of the core. The rig does not perform its effects."""
        return _AtOnce(self.core.environment, self.now, [])

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
                # Groups with unfinished work are left out, because their invariants need not hold meanwhile.
                if not busy or not on(busy, group.group_id):
                    group.invariants()
            if "shares" in self.core.cluster.__dict__:
                self.core.cluster.shares.invariants()

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
        # An ApiVersions of an unknown version is answered in version 0.
        version = request.version if request.version in api.versions else 0
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
            # The request stays in flight for ever, so its connection is mute and later requests never reach the core (P1-d6).
            ask.status, ask.reason, link.flying = ABANDONED, effect.reason, ask
            self.watch.ended(ask)
        else:
            link.ended = True
            for gone in (ask, *link.waiting):
                gone.status, gone.reason, gone.done = CLOSED, effect.reason, self.now
                self.watch.ended(gone)
            link.waiting.clear()

    def open(self) -> Iterator[Ask]:
        """Yield the requests that the core has not answered, oldest first, including those of lost connections."""
        return iter(self._open.values())
