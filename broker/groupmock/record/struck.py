"""In a recording with fault rules, the same code as in a server applies the rules to every request and answer (`net.fault_gate`).

Unlike in a plain relay, frames are handled one at a time, as in a broker. A request is forwarded after the previous one was answered or
otherwise finished, and an answer is complete before the client sees a byte of it. Waiting frames are served in turns (`net.turns`). So a
rule sees the same as in groupmock's server: the call, its group as the recording knows it (`record.coordinator`), and the answer. It may
delay either, change the answer, lose it, or close the connection.

It cannot make the cluster do anything, so fault kinds that steer groupmock's own coordinator are refused at the start. Requests of APIs
that are not decoded meet no rule, because their content is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from groupmock_codec import APIS
from groupmock_codec.api_keys import FETCH, METADATA
from groupmock_codec.frame import FrameError, Framer

from ..core.effects import Abandoned, Effects, Reply
from ..core.events import Command
from ..faults.facts import Lookup
from ..faults.kind import all_kinds, kind_of
from ..faults.plan import BadPlan, Plan, rule_as_data
from ..net.fault_gate import FaultGate
from ..net.inbox import Inbox
from ..net.listen import java_host
from .addresses import rewrite
from .dialogue import RAW_TOKEN, STRAY_ANSWER, Line, Passing
from .end import TURN, WAITING
from .fetch_sessions import HeardSessions
from .relay import AHEAD_BYTES, ANSWER_BYTES, REQUEST_BYTES, Relay
from .upstream import TooManyNodes
from .wire_codec import WireCodec, plausible

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..net.clock import Clock
    from ..net.connection import Guarding
    from .relay import House
    from .upstream import Node

MOST_TOPICS: Final = 20_000
"""The most topic ids whose names are remembered."""


class HeardFacts(NamedTuple):
    """A group as a recording knows it, for the conditions of fault rules (`faults.facts.KnownGroup`)."""

    state: str
    leader_id: str | None
    static_members: Mapping[str, str]
    progress_of: Callable[[str], str | None]


class StruckLine(Line):
    """An observed connection to which fault rules can be applied."""

    __slots__ = ("relay", "run")

    def __init__(self, relay: CarefulRelay, number: int, node: int | None, host: str, port: int) -> None:
        super().__init__(number, node, host, port)
        self.relay = relay
        self.run = None  # No heartbeat of this connection is repeated without asking the fault rules (`net.gated`).

    @property
    def unanswered(self) -> bool:
        return self.relay.call is not None

    guard: Guarding | None = None  # Nobody authenticates clients here.

    def answer(self, frame: bytes) -> None:
        self.relay.client.write(frame)

    def show_certificate(self, which: str) -> None:
        """Do nothing, because a recording refuses such fault rules (see `_refuse_steering`)."""

    def wedge(self) -> None:
        """Keep the connection open but handle nothing more, because its request will never be answered."""
        self.relay.wedged = True
        self.relay.go_on()


class Open(dict[int, Passing]):
    def close(self, ticket: int) -> Passing | None:
        """Remove and return the request of a ticket."""
        call = self.pop(ticket, None)
        if call is not None:
            _relay(call).call = None
        return call

    def reopen(self, call: Passing) -> None:
        """Open an answered request again, because its connection has to wait."""
        self[call.ticket] = _relay(call).call = call


class Striker:
    """Applies the fault rules of a recording to its requests and answers. `rules` is the gate; `gate` is the same object while a rule
    could apply, otherwise None."""

    def __init__(self, house: House, clock: Clock, plan: Plan, origin: str, seed: int) -> None:
        """Load the fault plan and create the gate that applies its rules. Raises BadPlan."""
        _refuse_steering(plan, origin)
        self.house = house
        self.clock = clock
        self.now = house.now
        self.dialogue = house.dialogue
        self.record = house.dialogue.record
        self.counters = house.dialogue.counters
        self.tickets = Open()
        self.gate: FaultGate[Passing] | None = None
        self._topics: dict[bytes, str] = {}
        self.sessions = HeardSessions(self._topics.get)
        served = {api.name: api.versions for api in APIS.values()}
        lookup = Lookup(self._group, self._topics.get, self.sessions.partitions)
        self.rules: FaultGate[Passing] = FaultGate(self, served, seed, lookup)
        self._commands = [Command("add_faults", {"rules": [rule_as_data(rule) for rule in plan.rule], "origin": origin})]
        self._check(plan, origin)

    def begin(self) -> None:
        """Write the rules as rows of the journal, as a server does."""
        for command in self._commands:
            self.rules.command(command, self.now())

    def arm(self, gate: Any) -> None:
        """Set the object that applies fault rules to requests and answers, or None while no rule could fire."""
        self.gate = gate

    def end_repeats(self) -> None:
        """Do nothing, because a recording repeats no heartbeats."""

    def settle(self) -> None:
        """Serve the connections whose turn it is."""
        self.house.settle()

    def apply(self, call: Passing, now: int) -> None:
        """Send a request that no fault rule holds back to the node."""
        if not call.recorded:
            self.dialogue.note_request(call)
        self.dialogue.note_effect(call)
        if call.codec.key == FETCH and call.message is not None:
            self.sessions.asked(call.connection.node or 0, cast(Any, call.message))
        _relay(call).forward(call)
        if call.answerless:
            self.tickets.close(call.ticket)
            self.record.reply(call, None, 0, now)
            self.go_on(call.connection)

    def deliver(self, reply: Reply, now: int) -> None:
        """Send an answer to the client, as the node gave it unless a fault rule changed it."""
        call = self.tickets.close(reply.ticket)
        if call is None:
            return
        codec = cast(WireCodec, call.codec)
        same = reply.message is call.answered
        frame = len(call.answer).to_bytes(4, "big") + call.answer if same else codec.answer(call.correlation, reply.message)
        self.record.reply(call, reply.message, len(frame) - 4, now, written=now)
        if not call.connection.deaf:
            self.counters.replies += 1
            _relay(call).client.write(frame)
        self.go_on(call.connection)

    def perform(self, effects: Effects, now: int) -> None:
        """Perform a rule's effects in place of the node: give another answer, or never answer."""
        for effect in effects:
            if isinstance(effect, Reply):
                self.answer(effect, now)
            elif isinstance(effect, Abandoned):
                call = self.tickets.close(effect.ticket)
                if call is not None:
                    self.counters.abandoned += 1
                    self.record.abandoned(call, effect.reason, now)
                    cast(StruckLine, call.connection).wedge()

    def answer(self, reply: Reply, now: int) -> None:
        """Apply fault rules to an answer, if one of them could fire, and send it."""
        if self.gate is None:
            self.deliver(reply, now)
        else:
            self.gate.after(reply, now)

    def steer(self, command: Command, now: int) -> Effects:
        """Do nothing, because a recording has no coordinator to steer (see `_refuse_steering`)."""
        raise ValueError("a recording steers nothing")

    def go_on(self, connection: Any) -> None:
        """Handle the connection's next request in its turn, because the previous one is done."""
        connection.relay.go_on()

    def shut(self, connection: Any, reason: str, linger: bool = True, now: int | None = None) -> None:
        connection.relay.shut("server", reason)

    def break_off(self, connection: Any, reason: str, now: int) -> None:
        connection.relay.reset(reason)

    def learn(self, message: Any) -> None:
        """Learn topic names from a Metadata answer, because requests with topic ids do not have them (KIP-516)."""
        for topic in message.topics:
            if topic.name and len(self._topics) < MOST_TOPICS:
                self._topics[topic.topic_id] = topic.name

    def _group(self, group_id: str) -> HeardFacts | None:
        group = self.dialogue.overheard.groups.get(group_id)
        if group is None:
            return None
        instances = {each.group_instance_id: each.member_id for each in group.members.values() if each.group_instance_id is not None}
        return HeardFacts(group.state, group.leader, instances, lambda member_id: None)

    def _check(self, plan: Plan, origin: str) -> None:
        """Check all fault rules before anything is started."""
        self.rules.registry.add_all(plan.rule, origin)
        self.rules.registry.clear()


class CarefulRelay(Relay):
    """A relay that handles one request at a time, because fault rules apply to its requests and answers. `call` is the open request;
    `wedged` is true if that will never be answered."""

    def __init__(self, house: House, striker: Striker, node: Node, number: int, host: str, port: int) -> None:
        self.striker = striker
        super().__init__(house, node, number, host, port)
        self.client.made = self._admit
        self.call: Passing | None = None
        self.wedged = False
        self._inbox = Inbox(REQUEST_BYTES)
        self._frames = Framer(ANSWER_BYTES)
        self._counted = 0  # Bytes of this relay that count for the recording's limit (`House.held`).

    def from_client(self, data: bytes) -> None:
        """Keep the received requests until their turn comes."""
        if self.ended or self.server.finished:
            return
        self._inbox.keep(data, self.house.now())
        self.serve_soon()
        self.house.settle()
        self._count()

    def from_server(self, data: bytes) -> None:
        """Keep the received bytes of the node until fault rules were applied to the answers in them."""
        if self.ended or self.client.lost:
            return
        self._coming.append(data)
        self.serve_soon()
        self.house.settle()
        self._count()

    def serve(self) -> None:
        """Pass answers on, then handle requests until one waits for its answer or the relay has used up its time slice."""
        self._due = False
        over, began = self.house.turns.over, monotonic_ns()
        while not self.ended:
            if self._coming:
                self._hand_on()
            elif self.call is not None or self.wedged or not self._serve_next():
                break
            if over():
                break
        self.slow = monotonic_ns() - began > self.house.turns.slice_ns
        if not self.ended and (self._coming or (self._inbox.waiting and self.call is None and not self.wedged)):
            self.serve_soon()
        self._count()
        if self.ended or not self._coming:
            self.closing.go_on()
        self.closing.pass_finish_on()

    def go_on(self) -> None:
        """Take the next request, because the open one is done."""
        if self._inbox.waiting or self.closing.finishing:
            self.serve_soon()

    def forward(self, call: Passing) -> None:
        """Send the request to the node."""
        self.server.write(len(call.frame).to_bytes(4, "big") + call.frame)

    def reset(self, reason: str) -> None:
        self.over("server", reason)
        self.client.break_off()
        self.server.close()

    def over(self, by: str, reason: str) -> None:
        """Write a row that says who ended the connection. No answer goes out any more."""
        super().over(by, reason)
        if self.call is not None:
            self.striker.tickets.close(self.call.ticket)

    def drop(self) -> None:
        """Discard the bytes that wait, and pass nothing more on."""
        super().drop()
        self._inbox = Inbox(REQUEST_BYTES)
        self._frames = Framer(ANSWER_BYTES)
        self.house.held.bytes -= self._counted
        self._counted = 0

    @property
    def is_ahead(self) -> bool:
        """Return whether a request still has to be sent to the node."""
        held = self.call is not None and self.call.held_by is not None
        return not self.wedged and (held or self._inbox.waiting > 0)

    def _serve_next(self) -> bool:
        """Take the next request if it has arrived completely."""
        try:
            found = self._inbox.pop()
        except FrameError as broken:
            self.shut("client", f"the client sent what is no request: {broken}")
            return False
        if found is not None:
            self._next(found[1], found[0])
        return found is not None

    def _hand_on(self) -> None:
        """Pass the next answer on if it has arrived completely."""
        data = self._coming.pop(0)
        try:
            frame, at = self._frames.next(data, self._coming_at)
            self._coming_at = at if at < len(data) else 0
            if self._coming_at:
                self._coming.insert(0, data)
            if frame is not None:
                self._came(frame, self.house.now())
        except (FrameError, TooManyNodes) as broken:
            reason = str(broken).replace("socket.request.max.bytes", "more than is recorded")
            self.shut("server", f"the node sent what is no answer: {reason}" if isinstance(broken, FrameError) else reason)

    def _count(self) -> None:
        """Count the bytes that wait, which are bounded for this connection and for all connections together."""
        inbox, held = self._inbox, self.house.held
        now = 0 if self.ended else inbox.waiting + inbox.cut_bytes + self._frames.buffered + sum(map(len, self._coming))
        held.bytes += now - self._counted
        more, self._counted = now > self._counted, now
        if more and held.full:
            self.shut("server", held.refusal)
            return
        if inbox.waiting > AHEAD_BYTES:
            self.client.pause(WAITING)
        elif inbox.waiting <= AHEAD_BYTES // 2:
            self.client.resume(WAITING)
        if self._coming:
            self.server.pause(TURN)
        else:
            self.server.resume(TURN)

    def _cut_bytes(self) -> int:
        return self._inbox.cut_bytes

    def _admit(self) -> None:
        if self.striker.gate is not None:
            self.striker.gate.connect(cast(StruckLine, self.line), self.house.now())

    def _next(self, frame: bytes, received: int) -> None:
        line, now, striker = self.line, self.house.now(), self.striker
        line.node = self.node.number
        if line.raw_tokens and not plausible(frame):
            striker.record.remark(RAW_TOKEN, now, connection=line.number, by="client", bytes=len(frame))
            self.server.write(len(frame).to_bytes(4, "big") + frame)
            return
        line.raw_tokens = False
        call = Passing(line, striker.dialogue.codecs[frame[:4]], frame, received)
        striker.dialogue.begin(call, now)
        striker.tickets.reopen(call)
        # No rule applies to a request that could not be decoded.
        if call.message is None or striker.gate is None or striker.gate.before(call, now):
            striker.apply(call, now)

    def _came(self, frame: bytes, now: int) -> None:
        line, striker, call = self.line, self.striker, self.call
        if self.wedged or self.ended:
            return
        if line.raw_tokens or call is None or call.correlation != frame[:4]:
            what = RAW_TOKEN if line.raw_tokens else STRAY_ANSWER
            striker.record.remark(what, now, connection=line.number, by="server", bytes=len(frame))
            self.client.write(len(frame).to_bytes(4, "big") + frame)
            return
        message = striker.dialogue.read_answer(call, frame, now)
        call.answer, call.answered = self._told(call, message, frame), message
        striker.dialogue.note_answer(call, message, now)
        if call.codec.key == FETCH and message is not None and call.message is not None:
            striker.sessions.answered(line.node or 0, cast(Any, call.message), cast(Any, message))
        reply = Reply(call.ticket, cast(Any, message))
        if message is None or call.message is None:
            striker.deliver(reply, now)
        else:
            striker.answer(reply, now)

    def _told(self, call: Passing, message: Message | None, frame: bytes) -> bytes:
        codec = call.codec
        if message is None or not isinstance(codec, WireCodec):
            return frame
        if codec.key == METADATA:
            self.striker.learn(message)
        self.house.upstream.expect(message, self.node.where)
        changed = rewrite(codec.key, codec.version, message, self.house.upstream.translate)
        return codec.answer(frame[:4], message)[4:] if changed else frame

    # The requests and answers are recorded at once, because fault rules decide by the rows so far.

    def _record_open(self, host: str, port: int, now: int) -> None:
        line = StruckLine(self, self.number, self.node.number, java_host(host), port)
        self.line = self.house.dialogue.begun(line, now)

    def _later(self, call: Callable[[], None]) -> None:
        call()


def _relay(call: Passing) -> CarefulRelay:
    return cast(StruckLine, call.connection).relay


def _refuse_steering(plan: Plan, origin: str) -> None:
    """Raise BadPlan if a rule has a fault that only groupmock's own coordinator can perform."""
    for place, rule in enumerate(plan.rule, 1):
        name = f'rule "{rule.name}"' if rule.name else f"rule {place}"
        if kind_of(rule.do, f"{origin}, {name}").CAUSES:
            fine = ", ".join(kind for kind, fault in all_kinds().items() if not fault.CAUSES)
            raise BadPlan(
                f"{origin}, {name}: {rule.do['kind']} makes a broker of ours do something, and a recording has none: "
                f"what it can do is {fine}"
            )
