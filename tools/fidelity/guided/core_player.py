"""A stage on groupmock's core with a virtual clock, on which a script of twenty steps takes about a millisecond.

A generator drives it step by step, or the player of a real broker that asks what to expect, or a transcript that is played again
(`replay`), with the ids that the broker drew.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from groupmock.core.core import Core
from groupmock.core.effects import Effect, Moved
from groupmock.core.identity import Node
from groupmock.rig.ask import CLOSED as CLOSED_BY_CORE
from groupmock.rig.ask import LOST, SILENT, Ask
from groupmock.rig.core_rig import CoreRig
from groupmock.rig.dice import FedDice
from groupmock.rig.making import core_of_profile
from groupmock.rig.watch import Watch
from groupmock_clients.probe.language.exchange import Act, Pause, Send, Step
from groupmock_codec.api_keys import INIT_PRODUCER_ID
from groupmock_codec.declare import Message
from groupmock_codec.units import NS_PER_MS

from ..generated.answers_json import as_json
from ..generated.memory import Memory
from ..generated.script import Script, ending, link_of, ms_of
from ..generated.settings_classes import known as known_of
from ..generated.transcript import ANSWERED, CLOSED, PARKED, SENT, SKIPPED, Event, Facts, Transcript, imagined

STEP_MS = 2.0
"""A step takes this time on the virtual clock unless the caller gives a time."""
NEAR_MS = 50.0
"""A deadline this near may pass on a broker while a queued request is served, which the core serves at once."""


class CorePlayer(Watch):
    """Plays one script on the core of a cluster of its own. `events` is what has come of the steps so far."""

    def __init__(self, script: Script, facts: Facts) -> None:
        self.script, self.facts = script, facts
        self.memory = Memory(script, facts)
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.states: set[str] = set()
        self.crowded = False
        """True if a queued request came close to a deadline (such as a rebalance timeout of 1 ms), so that chance decides its answer."""
        self.known = known = known_of(facts.release, facts.settings)
        dice = FedDice(script.seed)
        nodes = [Node(each.node, each.host, each.port) for each in facts.nodes]
        core = core_of_profile(
            known.profile, known.settings, seed=dice.random, nodes=nodes, cluster_id=facts.cluster_id, epoch_ms=facts.epoch_ms
        )
        self.rig = CoreRig(core, watch=self, coded=False, checked=False, dice=dice)
        for number, (need, fact) in enumerate(zip(script.topics, facts.topics, strict=True)):
            dice.fed.append(b64encode(fact.topic_id).decode())
            self.rig.topic(fact.name, fact.partitions, need.configs, [[leader] for leader in facts.leaders(number, fact.partitions)])
        if facts.others:
            core.cluster.groups.hosting.make_topic(self.rig.turn())
            self.rig.command("move_coordinators", to=facts.node)

    @property
    def core(self) -> Core:
        return self.rig.core

    # -- the clock

    def deadline_ms(self) -> float | None:
        """Return the time at which the core may next act by itself, which may be too early but never too late."""
        deadline = self.core.deadline()
        return None if deadline is None else deadline / NS_PER_MS

    def advance(self, to_ms: float) -> None:
        """Advance the virtual clock and fire every timer at its own time."""
        self.rig.advance(round(to_ms * NS_PER_MS))

    # -- steps

    def play(self, step: Step, at_ms: float, drew: Sequence[str] = (), skip: bool = False) -> Event:
        """Play the next step at a time of the virtual clock, after the timers that fire before. The core takes the ids in `drew` instead
        of drawing them. With `skip` the request is not sent."""
        self.advance(at_ms)
        event = Event(sent_ms=at_ms)
        self.events.append(event)
        self.steps.append(step)
        if skip:
            event.status = SKIPPED
        elif isinstance(step, Send):
            self._send(event, step, drew)
        elif isinstance(step, Act):
            self.rig.hang_up(step.member)
        elif not isinstance(step, Pause):
            raise TypeError("the core has no bytes: Raw steps are played over TCP only")
        self.advance(at_ms)  # The clock advances again, because a step's records are committed before the next step.
        return event

    def parked(self, index: int) -> bool:
        return self.events[index].status == PARKED

    def _send(self, event: Event, step: Send, drew: Sequence[str]) -> None:
        event.status = PARKED
        key, version, client_id, message = self.memory.request(step)
        facts = self.facts
        if key == INIT_PRODUCER_ID and drew:
            self.core.cluster.transactions.producer_ids.tell(facts.node, int(drew[0]))
            drew = ()
        ask = self.rig.send(
            key, version, message, connection=link_of(step), client_id=client_id, node=facts.node_at(link_of(step)).node,
            client_host=facts.client_host, ticket=len(self.events) - 1, draws=drew,
        )  # fmt: skip
        if ask.status == CLOSED_BY_CORE:
            event.status = CLOSED

    # -- what the rig tells

    def next(self, ask: Ask) -> None:
        """Note whether a request that waited in the queue comes close to a deadline."""
        deadline = self.core.deadline()
        self.crowded |= deadline is not None and deadline - self.rig.now < NEAR_MS * NS_PER_MS

    def handed(self, ask: Ask) -> None:
        """Record the ids that the core drew for a request."""
        if ask.drew:
            self.events[ask.ticket].drew = ask.drew

    def answered(self, ask: Ask) -> None:
        """Record an answer as JSON, and remember its values for later steps."""
        step, event = self.steps[ask.ticket], self.events[ask.ticket]
        assert isinstance(step, Send)
        message: Message = ask.answer
        event.answer = as_json(type(message), ask.request.version)(message)
        self._over(event, ANSWERED)
        self.memory.learn(ask.ticket, step, ask.request.version, message)

    def ended(self, ask: Ask) -> None:
        """Record the end of a request without an answer. An abandoned request stays parked, because its client cannot see the
        difference."""
        event = self.events[ask.ticket]
        if ask.status == CLOSED_BY_CORE:
            self._over(event, CLOSED)
        elif ask.status in (SILENT, LOST):
            event.status = SENT

    def _over(self, event: Event, status: str) -> None:
        event.status, event.answered_ms, event.after = status, self.rig.now / NS_PER_MS, len(self.events) - 1

    def effect(self, effect: Effect) -> None:
        """Record the states of groups that an effect of the core names."""
        if isinstance(effect, Moved):
            self.states.add(effect.after)

    def transcript(self) -> Transcript:
        return Transcript(self.facts, self.events)


def play(script: Script, facts: Facts | None = None, step_ms: float = STEP_MS) -> Transcript:
    """Play the whole script with its final requests, each step taking `step_ms`."""
    player = CorePlayer(script, facts or imagined(script))
    now = 0.0
    for step in (*script.steps, *ending(script, player.known.versions)):
        now += ms_of(step) if isinstance(step, Pause) else step_ms
        player.play(step, now)
    return player.transcript()


def replay(script: Script, recorded: Transcript) -> Transcript:
    """Replay a script at the recorded times with the ids that the broker drew, as far as the recording goes."""
    player = CorePlayer(script, recorded.facts)
    steps = (*script.steps, *ending(script, player.known.versions))
    for step, event in zip(steps, recorded.events, strict=False):
        player.play(step, event.sent_ms, event.drew, event.status == SKIPPED)
    return player.transcript()
