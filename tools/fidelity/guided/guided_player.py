"""Play a script on a broker over TCP, guided by the core, which plays the same script in lockstep and predicts what to wait for.

The core's clock follows the real one. Before a step its timers fire up to now; if one is due soon, it is waited for with a little more,
so that nothing is sent at the edge of a deadline. An answer that the core expects is awaited for seconds; one that it expects to stay out
is looked for after a barrier (a DescribeGroups on another connection). The guide only saves time: the verdict is the comparison.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Final

from groupmock.rig.wire import Unreadable, is_answered
from groupmock_clients.probe.language.exchange import Act, Pause, Raw, Send, Step
from groupmock_clients.probe.stages.contract import Answer
from groupmock_clients.probe.stages.contract import Closed as ConnectionClosed
from groupmock_clients.probe.stages.tcp_broker import NoBroker
from groupmock_clients.probe.stages.tcp_stage import TcpStage
from groupmock_codec import APIS
from groupmock_codec.api_keys import DESCRIBE_GROUPS, STREAMS_GROUP_DESCRIBE, STREAMS_GROUP_HEARTBEAT
from groupmock_codec.declare import Message
from groupmock_codec.group_states import DEAD
from groupmock_codec.messages.k15_describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

from ..generated.answers_json import as_json
from ..generated.memory import Memory, Request
from ..generated.script import Script, ending, link_of, ms_of
from ..generated.transcript import ANSWERED, CLOSED, PARKED, SENT, SKIPPED, Event, Facts, NodeFact, Transcript
from .core_player import CorePlayer
from .drawn_ids import answer_tells_ids, asks_for_member_id, drawn_member_id, ids_in, must_answer
from .markers_awaited import MarkersAwaited
from .moves_awaited import MovesAwaited
from .peer import Peer
from .shares_awaited import SharesAwaited
from .streams_awaited import StreamsAwaited

GUARD_MS: Final = 120.0
HIGHEST_GUARD_MS: Final = 320.0
"""No step is sent this close to a deadline, even on a slow machine."""
MARGIN_MS: Final = 60.0
"""A broker may act on a deadline this much later than its longest delay so far."""
PATIENCE_MS: Final = 5000.0
QUIET_MS: Final = 3.0
MOMENT_MS: Final = 10.0
AT_ONCE_MS: Final = 0.2
QUESTION_MS: Final = 20_000
PLAY_LIMIT_S: Final = 40.0
ASIDE: Final = "aside"
"""The name of the player's own connections, beside those of the script."""


class Noisy(Exception):
    """The play means nothing, because the machine was slow and a request met a deadline. Play it again."""


class _Differs(Exception):
    """The broker did not answer as the core predicted, so that the rest of the play would mean nothing."""


class Played:
    """The transcripts of broker and core after a finished play. `lag` is the broker's greatest delay in ms, and `crowded` is that of
    CorePlayer."""

    def __init__(self, real: Transcript, core: Transcript, states: set[str], lag: float, crowded: bool) -> None:
        self.real, self.core, self.states, self.lag, self.crowded = real, core, states, lag, crowded


class NodesStage(TcpStage):
    """The stage on a cluster of several nodes, whose connections lead to the node of their number."""

    def __init__(self, peer: Peer, facts: Facts) -> None:
        super().__init__(peer.broker, seconds=PLAY_LIMIT_S)
        self._facts = facts

    def address(self, member: str) -> tuple[str, int]:
        if not self._facts.others:
            return super().address(member)
        node = self._facts.node_at(member)
        return node.host, node.port


class GuidedPlayer:
    """A play of a script on a broker (use the function `play`)."""

    def __init__(self, script: Script, peer: Peer, facts: Facts) -> None:
        self.script, self.peer, self.facts = script, peer, facts
        self.core = CorePlayer(script, facts)
        self.memory = Memory(script, facts)
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.stopped: str | None = None
        self._stage = NodesStage(peer, facts)
        self._waiting: defaultdict[str, deque[int]] = defaultdict(deque)
        """Maps a connection to the steps that wait for an answer on it, the oldest first."""
        self._ended: set[str] = set()
        self._markers = MarkersAwaited(self.core, self._ask, facts)
        self._shares = SharesAwaited(self.core, self._ask_coordinator, facts) if script.about == "shares" else None
        self._moves = MovesAwaited(self.core, self._ask_node, facts) if facts.others else None
        self._streams = StreamsAwaited(self.core, self._ask, self._listen, facts) if script.about == "streams" else None
        self.lag = 0.0
        self._edge: float | None = None

    def now_ms(self) -> float:
        return self._stage.now_ms()

    # -- the play

    def play(self) -> Played:
        """Play every step and the final requests. Raises Noisy, NoBroker, TimeUp."""
        try:
            for step in (*self.script.steps, *ending(self.script, self.core.known.versions)):
                self._step(step)
        except _Differs as why:
            self._blame(why)
            self.stopped = str(why)
        finally:
            self._stage.close()
        core = self.core
        return Played(Transcript(self.facts, self.events, self.stopped), core.transcript(), core.states, self.lag, core.crowded)

    def _blame(self, why: _Differs) -> None:
        """Raise Noisy if a request met a deadline, because then the difference may come from the machine."""
        last = self.events[-1]
        arrived = max((event.answered_ms for event in self.events if event.answered_ms is not None), default=0.0)
        if self._edge is not None and max(arrived, last.sent_ms) > self._edge - 5:
            raise Noisy(f"a request met a deadline: {why}")

    def _step(self, step: Step) -> None:
        until = self.now_ms() + (ms_of(step) if isinstance(step, Pause) else 0)
        self._pass_time(until if self._streams is None else self._streams.clear_of(until))
        index, edge = len(self.events), self.core.deadline_ms()
        event = Event(sent_ms=self.now_ms())
        self.events.append(event)
        self.steps.append(step)
        self.core.advance(event.sent_ms)
        if isinstance(step, Send):
            self._send(index, step)
        elif isinstance(step, Raw):
            raise TypeError("Raw steps have no guide: bytes_run.py plays them")
        else:
            self._drop(step)
            self.core.play(step, event.sent_ms)
        self._edge = edge
        self._settle()
        if edge is not None and self.now_ms() > edge - 5:
            raise Noisy(f"step {index} took {self.now_ms() - event.sent_ms:.0f} ms and met a deadline")

    # -- time

    def _pass_time(self, until: float) -> None:
        """Wait until a time, and also for the core's deadlines shortly after it, together if they are close to each other."""
        changed = False
        while True:
            deadline, now = self.core.deadline_ms(), self.now_ms()
            if deadline is not None and deadline <= (now if changed else max(until, now)) + self._guard():
                self._sleep_until(deadline + MARGIN_MS + min(self.lag, 500))
                before, open_before = self._standing(), self._markers.standing()
                self.core.advance(deadline)
                self._markers.wait(open_before)
                changed = changed or self._standing() != before
            elif changed:
                self._agree(PATIENCE_MS / 2)
                changed = False
            else:
                break
        self._sleep_until(until)
        self._settle()

    def _guard(self) -> float:
        return min(GUARD_MS + self.peer.slowness, HIGHEST_GUARD_MS)

    def _sleep_until(self, until: float) -> None:
        if (left := until - self.now_ms()) > 0:
            self._listen(left)

    @property
    def _has_groups(self) -> bool:
        return self.script.about in ("groups", "transactions")

    def _standing(self) -> list[tuple[str, str, int]]:
        found = ((name, self.core.core.cluster.groups.find(name)) for name in sorted(self.facts.groups))
        return [(name, DEAD, 0) if group is None else (name, str(group.state), len(group.members)) for name, group in found]

    def _agree(self, ms: float) -> None:
        """Give the broker time to reach the same group states as the core, at most until the core's next deadline is near."""
        end = self.now_ms() + ms
        while True:
            described = self._describe(self.facts.groups)
            told = sorted((one.group_id, one.group_state, len(one.members)) for one in described)
            deadline = self.core.deadline_ms()
            if told == self._standing() or self.now_ms() > end or (deadline is not None and self.now_ms() > deadline - GUARD_MS / 2):
                return
            self._listen(MOMENT_MS)

    def _describe(self, groups: list[str]) -> list[DescribedGroup]:
        began = self.now_ms()
        version = min(self.core.known.versions[DESCRIBE_GROUPS][1], 5)
        answer = self._ask(DESCRIBE_GROUPS, version, DescribeGroupsRequest(groups=groups))
        assert isinstance(answer, DescribeGroupsResponse)
        self.lag = max(self.lag, self.now_ms() - began)
        self.peer.took(self.now_ms() - began)
        return answer.groups

    # -- sending

    def _ask_coordinator(self, key: int, version: int, message: Message) -> Message:
        """Send a request of the player's own to the node that coordinates all groups of the script."""
        nodes, coordinator = self.facts.nodes, self.core.core.cluster.groups.hosting.node_of(self.facts.groups[0])
        return self._ask_node(next((each for each in nodes if each.node == coordinator), nodes[0]), key, version, message)

    def _ask_node(self, node: NodeFact, key: int, version: int, message: Message) -> Message:
        return self._ask(key, version, message, f"{ASIDE}/{self.facts.nodes.index(node) + 1}")

    def _ask(self, key: int, version: int, message: Message, link: str = ASIDE) -> Message:
        """Send a request of the player's own (not of the script) and return its answer. Raises NoBroker without one."""
        self._stage.send(link, key, version, "differential", message)
        try:
            answer = self._stage.answer(link, QUESTION_MS)
        except (ConnectionClosed, Unreadable) as problem:
            raise NoBroker(f"{APIS[key].name} is not answered: {problem}") from problem
        if answer is None:
            raise NoBroker(f"{APIS[key].name} was not answered within {QUESTION_MS} ms")
        return answer.message

    def _send(self, index: int, step: Send) -> None:
        event = self.events[index]
        asked, link = self.memory.request(step), link_of(step)
        if self._streams is not None and asked.key == STREAMS_GROUP_DESCRIBE:
            self._streams.show()
        event.sent_ms = self.now_ms()
        if self._waiting[link] and asks_for_member_id(asked):
            event.status = SKIPPED
            self.core.play(step, event.sent_ms, skip=True)
            return
        if link in self._ended:
            event.status = CLOSED
        else:
            event.status = PARKED
            if is_answered(asked.key, asked.message):
                self._waiting[link].append(index)
            self._stage.send(link, *asked)
        drew = self._drawn(index, asked)
        standing, open_before = self._standing(), self._markers.standing()
        initialized = self._shares.standing() if self._shares is not None else None
        led = self._moves.standing() if self._moves is not None else {}
        internal = self._streams.standing() if self._streams is not None and asked.key == STREAMS_GROUP_HEARTBEAT else None
        self.core.play(step, event.sent_ms, drew)
        event.drew = drew
        if self.core.events[index].status == PARKED:
            self._barrier(index)
        elif self.core.events[index].status == SENT:
            self._unanswered(index)
        if self._standing() != standing and self._has_groups:
            self._agree(500)
        if self._markers.standing().ids != open_before.ids:
            self._answered(index, PATIENCE_MS)
            self._markers.wait(open_before)
        if self._moves is not None:
            self._moves.wait(led)
        if self._shares is not None and initialized is not None:
            self._shares.wait(initialized)
        if self._streams is not None and internal is not None:
            self._answered(index, PATIENCE_MS)
            self._streams.wait(internal)

    def _unanswered(self, index: int) -> None:
        """Handle Produce with acks=0, which has no answer, so that the next answer is not taken for its own."""
        self._answered(index, QUIET_MS)
        if self.events[index].status == PARKED:
            self.events[index].status = SENT

    def _drawn(self, index: int, asked: Request) -> list[str]:
        """Return the ids that the broker drew for this request, from its answer, or from DescribeGroups while the request is parked."""
        if asks_for_member_id(asked):
            return self._new_member(index, asked)
        if answer_tells_ids(asked):
            self._answered(index, PATIENCE_MS)
            return ids_in(asked.key, self.events[index].answer)
        return []

    def _new_member(self, index: int, asked: Request) -> list[str]:
        if must_answer(asked):
            self._answered(index, PATIENCE_MS)
            return ids_in(asked.key, self.events[index].answer)
        name: str = asked.message.group_id  # type: ignore[attr-defined]  # a JoinGroup
        group = self.core.core.cluster.groups.find(name)
        known = set() if group is None else set(group.members)
        end = self.now_ms() + PATIENCE_MS / 2
        while self.events[index].status == PARKED and self.now_ms() < end:
            self._answered(index, QUIET_MS)
            (told,) = self._describe([name])
            new = [one.member_id for one in told.members if one.member_id not in known]
            if new:
                return drawn_member_id(new[0])
        return ids_in(asked.key, self.events[index].answer)

    def _barrier(self, index: int) -> None:
        """Wait until the broker has handled this request, which is certain once it has answered a later one."""
        self._answered(index, QUIET_MS)
        if self.facts.groups and self.script.about != "log":
            self._describe(self.facts.groups)
            self._answered(index, QUIET_MS)

    def _answered(self, index: int, ms: float) -> bool:
        """Wait until the request of that step is answered, and return whether it is."""
        step, end = self.steps[index], self.now_ms() + ms
        assert isinstance(step, Send)
        while self.events[index].status == PARKED and (left := end - self.now_ms()) > 0:
            self._take(link_of(step), left)
        self._read()
        return self.events[index].status != PARKED

    def _settle(self) -> None:
        """Check that the broker has answered exactly the requests to which the core has sent answers."""
        self._listen(AT_ONCE_MS)
        for index, (real, core) in enumerate(zip(self.events, self.core.events, strict=True)):
            if core.status in (ANSWERED, CLOSED) and real.status == PARKED and not self._answered(index, PATIENCE_MS):
                raise _Differs(f"step {index}: the broker does not answer")
            if core.status == PARKED and real.status in (ANSWERED, CLOSED):
                if self._is_due(real):
                    continue
                raise _Differs(f"step {index}: the broker answers what we park")

    def _is_due(self, real: Event) -> bool:
        """Tell whether the broker answered because of a deadline that the core has not reached yet."""
        deadline = self.core.deadline_ms()
        return deadline is not None and real.answered_ms is not None and real.answered_ms >= deadline - 5

    def _drop(self, step: Step) -> None:
        if not isinstance(step, Act):
            return
        if step.member in self._waiting:
            self._stage.hang_up(step.member, "drops" if step.verb == "reconnects" else step.verb)
        self._ended.discard(step.member)
        for index in self._waiting.pop(step.member, ()):
            self.events[index].status = SENT

    # -- what comes in

    def _listen(self, ms: float) -> None:
        """Let time pass and read the answers that come."""
        self._stage.pause(ms)
        self._read()

    def _read(self) -> None:
        """Read the answers that have come on any of the script's connections."""
        for link in [link for link in self._waiting if link not in self._ended]:
            self._take(link, 0)

    def _take(self, link: str, ms: float) -> None:
        """Read the next answer on that connection, and further answers that arrived with it."""
        try:
            while (answer := self._stage.answer(link, ms)) is not None:
                self._arrived(self._waiting[link].popleft(), answer)
                ms = 0
        except ConnectionClosed:
            self._closed(link)
        except Unreadable as what:
            raise _Differs(f"the broker sends {what}") from None

    def _arrived(self, index: int, answer: Answer) -> None:
        event, step = self.events[index], self.steps[index]
        assert isinstance(step, Send)
        self._over(event, ANSWERED, answer.at_ms)
        event.answer = as_json(type(answer.message), answer.version)(answer.message)
        self.memory.learn(index, step, answer.version, answer.message)
        self._note_lag(index, event)

    def _over(self, event: Event, status: str, at_ms: float) -> None:
        event.status, event.answered_ms = status, at_ms
        event.after = max(index for index, each in enumerate(self.events) if each.sent_ms <= max(at_ms, event.sent_ms))

    def _note_lag(self, index: int, event: Event) -> None:
        expected = self.core.events[index].answered_ms if index < len(self.core.events) else event.sent_ms
        if expected is not None and event.answered_ms is not None:
            self.lag = max(self.lag, event.answered_ms - expected)

    def _closed(self, link: str) -> None:
        """Mark the requests of a closed connection as closed, including one that expects no answer."""
        self._ended.add(link)
        self._waiting[link].clear()
        for event, step in zip(self.events, self.steps, strict=True):
            if isinstance(step, Send) and link_of(step) == link and event.status == PARKED:
                self._over(event, CLOSED, self.now_ms())


def play(script: Script, peer: Peer) -> Played:
    """Play a script on a broker with the core as guide. Raises Noisy, NoBroker, TimeUp."""
    return GuidedPlayer(script, peer, peer.facts(script)).play()
