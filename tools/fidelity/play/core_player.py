"""The stage that is our pure core on a virtual clock. Lean: a script of twenty steps takes about a millisecond.

It is driven step by step, by whoever knows the time: a generator, a real broker's player that wants to know what to expect, or a
transcript that is played again (`replay`), with the ids that the broker drew.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Sequence
from functools import partial
from random import Random

from groupmock.advertise import identity_of
from groupmock.core.core import core_of
from groupmock.core.effects import Abandoned, Close, Effects, Moved, Replies, Reply, Silent
from groupmock.core.events import Disconnected, Request
from groupmock.core.identity import Node
from groupmock.core.turn import Turn
from groupmock.core.units import NS_PER_MS
from groupmock_codec import APIS
from groupmock_codec.declare import Message

from ..script.message_json import as_json, build
from ..script.references import References
from ..script.script import Drop, Pause, Reconnect, Script, Send, Step, ending
from ..script.settings_classes import known
from ..script.transcript import ANSWERED, CLOSED, PARKED, SENT, SKIPPED, Event, Facts, TopicFact, Transcript, imagined

STEP_MS = 2.0
"""How long a step takes on the virtual clock when nobody else says."""
NEAR_MS = 50.0
"""A request that waited behind another is served at once here; a broker's clock goes on, perhaps past a deadline this near."""


class _Link:
    """One connection: one request at a time, the others wait."""

    __slots__ = ("ended", "flying", "mute", "number", "waiting")

    def __init__(self, number: int) -> None:
        self.number = number
        self.flying: int | None = None
        self.mute = self.ended = False
        self.waiting: deque[tuple[int, Message]] = deque()


class FedDice:
    """Dice that give what a real broker drew, and their own otherwise."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.fed: deque[str] = deque()
        self.drew: list[str] = []

    def uuid_text(self) -> str:
        text = self.fed.popleft() if self.fed else f"{self.random.getrandbits(128):032x}"
        text = text if len(text) == 36 else f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        self.drew.append(text)
        return text

    def uuid_bytes(self) -> bytes:
        return b64decode(self.fed.popleft()) if self.fed else self.random.getrandbits(128).to_bytes(16, "big")

    def below(self, limit: int) -> int:
        return int(self.fed.popleft()) % limit if self.fed else self.random.getrandbits(64) % limit


class CorePlayer:
    """One play on a cluster of its own. `events` is what has come of the steps so far."""

    def __init__(self, script: Script, facts: Facts) -> None:
        self.script, self.facts = script, facts
        self.references = References(facts)
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.now = 0
        self.states: set[str] = set()
        self.crowded = False
        """A request that waited behind another met a deadline set just before (a rebalance timeout of 1 ms): what it finds is chance."""
        self.known = known(facts.release, facts.settings)
        identity = identity_of(self.known.profile, facts.cluster_id, [Node(facts.node, facts.host, facts.port)])
        self._fed = FedDice(script.seed)
        self.core = core_of(self.known.settings, identity, self._fed.random, facts.epoch_ms)
        self.core.environment.dice = self._fed  # type: ignore[assignment]  # draws what the broker drew
        for need, fact in zip(script.topics, facts.topics, strict=True):
            self._make(fact, need.configs)
        self._links: dict[str, _Link] = {}
        self._numbers = 0
        self._flying: dict[int, tuple[int, _Link]] = {}

    def _make(self, fact: TopicFact, configs: dict[str, str]) -> None:
        topics = self.core.cluster.topics
        self._fed.fed.append(b64encode(fact.topic_id).decode())
        topics.add(Turn(self.core.environment, 0, []), fact.name, topics.place(fact.name, fact.partitions, 1), configs)

    # -- the clock

    def deadline_ms(self) -> float | None:
        """When something may happen by itself; perhaps earlier than that, never later."""
        deadline = self.core.deadline()
        return None if deadline is None else deadline / NS_PER_MS

    def advance(self, to_ms: float) -> None:
        """Fire every timer up to then, each at its own time."""
        to, core = round(to_ms * NS_PER_MS), self.core
        while (deadline := core.deadline()) is not None and deadline <= to:
            if deadline > self.now:
                self.now = deadline
            self._perform(core.expire(self.now))
        if to > self.now:
            self.now = to

    # -- steps

    def play(self, step: Step, at_ms: float, drew: Sequence[str] = (), skip: bool = False) -> Event:
        """Play the next step at that time; timers up to it fire first. What it draws is taken from `drew`; `skip`: it is not sent."""
        self.advance(at_ms)
        index = len(self.events)
        event = Event(sent_ms=at_ms)
        self.events.append(event)
        self.steps.append(step)
        if skip:
            event.status = SKIPPED
        elif isinstance(step, Send):
            self._send(index, step, drew)
        elif isinstance(step, Drop | Reconnect):
            self._drop(step.link)
        elif not isinstance(step, Pause):
            raise TypeError("the core has no bytes: Raw steps are played over TCP only")
        self.advance(at_ms)  # steps never arrive together: what this one has written is committed before the next
        return event

    def parked(self, index: int) -> bool:
        """Is that step's request still waiting?"""
        return self.events[index].status == PARKED

    def _link(self, name: str) -> _Link:
        link = self._links.get(name)
        if link is None:
            self._numbers += 1
            link = self._links[name] = _Link(self._numbers)
        return link

    def _send(self, index: int, step: Send, drew: Sequence[str]) -> None:
        link = self._link(step.link)
        if link.ended:
            self.events[index].status = CLOSED
            return
        self.events[index].status = PARKED
        message = build(APIS[step.key].request.message, step.version, step.fields, partial(self.references.resolve, step.client))
        if link.flying is not None or link.mute:
            link.waiting.append((index, message))
        else:
            self._dispatch(index, message, link, drew)

    def _dispatch(self, index: int, message: Message, link: _Link, drew: Sequence[str]) -> None:
        step = self.steps[index]
        assert isinstance(step, Send)
        link.flying = index
        self._flying[index] = (index, link)
        fed = self._fed
        fed.fed.extend(drew)
        fed.drew.clear()
        client_id = step.client_id
        event = Request(index, link.number, self.facts.node, step.key, step.version, client_id, self.facts.client_host, message)
        self._perform(self.core.handle(event, self.now))
        if fed.drew:
            self.events[index].drew = list(fed.drew)
        fed.fed.clear()

    def _perform(self, effects: Effects) -> None:
        for effect in effects:
            kind = type(effect)
            if kind is Reply:
                self._reply(effect)  # type: ignore[arg-type]  # asked by its type, for speed
            elif kind is Replies:
                for reply in effect.replies:  # type: ignore[union-attr]
                    self._reply(reply)
            elif kind is Moved:
                self.states.add(effect.after)  # type: ignore[union-attr]
            elif isinstance(effect, Abandoned | Close | Silent):
                self._without_answer(effect)

    def _reply(self, reply: Reply) -> None:
        index, link = self._flying.pop(reply.ticket)
        step, event = self.steps[index], self.events[index]
        assert isinstance(step, Send)
        link.flying = None
        if event.status == PARKED:
            event.answer = answer = as_json(type(reply.message), step.version)(reply.message)
            event.status, event.answered_ms, event.after = ANSWERED, self.now / NS_PER_MS, len(self.events) - 1
            self.references.learn(index, step, answer)
        self._next(link)

    def _next(self, link: _Link) -> None:
        if link.waiting and link.flying is None and not link.mute and not link.ended:
            deadline = self.core.deadline()
            self.crowded |= deadline is not None and deadline - self.now < NEAR_MS * NS_PER_MS
            self._dispatch(*link.waiting.popleft(), link, ())

    def _without_answer(self, effect: Abandoned | Close | Silent) -> None:
        index, link = self._flying.pop(effect.ticket)
        link.flying, event = None, self.events[index]
        if isinstance(effect, Abandoned):
            link.mute = True
            return
        if isinstance(effect, Silent):
            event.status = SENT
            self._next(link)
            return
        link.ended = True
        for gone in (index, *(waiting for waiting, _ in link.waiting)):
            self.events[gone].status = CLOSED
            self.events[gone].answered_ms, self.events[gone].after = self.now / NS_PER_MS, len(self.events) - 1
        link.waiting.clear()

    def _drop(self, name: str) -> None:
        link = self._links.pop(name, None)
        if link is None:
            return
        link.ended = True
        for index, step in enumerate(self.steps):
            if isinstance(step, Send) and step.link == name and self.events[index].status == PARKED:
                self.events[index].status = SENT
        link.waiting.clear()
        self._perform(self.core.handle(Disconnected(link.number), self.now))

    def transcript(self) -> Transcript:
        """What came of it all."""
        return Transcript(self.facts, self.events)


def play(script: Script, facts: Facts | None = None, step_ms: float = STEP_MS) -> Transcript:
    """The whole script and its ending, every step taking so long."""
    player = CorePlayer(script, facts or imagined(script))
    now = 0.0
    for step in (*script.steps, *ending(script, player.known.versions)):
        now += step.ms if isinstance(step, Pause) else step_ms
        player.play(step, now)
    return player.transcript()


def replay(script: Script, recorded: Transcript) -> Transcript:
    """The script again at the recorded times, with the ids that the broker drew; as far as the recording goes."""
    player = CorePlayer(script, recorded.facts)
    steps = (*script.steps, *ending(script, player.known.versions))
    for step, event in zip(steps, recorded.events, strict=False):
        player.play(step, event.sent_ms, event.drew, event.status == SKIPPED)
    return player.transcript()
