"""The gate at which fault rules strike: at a new connection, before a request is applied, before its answer goes out.

The driver is armed with this object while a rule could still fire: else nothing here is ever called. Rules are changed by commands, so
that a journal holds them; what is decided is a row each, and the end of every wait is one too, so that replay can play it again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic

from ..core.effects import Abandoned, Reply
from ..core.events import Command
from ..faults.actions import Answer, CallOff, GoOn, HangUp, Narrow, Piece, Steer, Vanish, Wait, Write
from ..faults.facts import Facts, GroupFacts, Lookup, facts_of
from ..faults.kind import Target
from ..faults.registry import RuleRegistry, RuleReport
from .codecs import BEATS
from .fault_commands import change, dice_of
from .gated import C, Gated, Strikeable

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..faults.registry import Served, Strike
    from .call import Call
    from .driver import Driver

Graft = Callable[["Message"], "Message"]
OVER: Final = "over"
"""`action` of the row that says that a wait of a fault is over."""


def gate_of(driver: Driver) -> FaultGate[Call]:
    """The gate of a server's driver."""
    from groupmock_codec import APIS

    def group(group_id: str) -> GroupFacts | None:
        found = driver.core.cluster.groups.find(group_id)
        return None if found is None else GroupFacts(str(found.state), found.leader_id, found.static_members, found.progress_of)

    served = {APIS[key].name: (row.lowest, row.highest) for key, row in driver.codecs.advertised.items()}
    def transaction(transactional_id: str) -> str | None:
        found = driver.core.cluster.transactions.find(transactional_id)
        return str(found.state) if found is not None else None

    topics = driver.core.cluster.topics
    return FaultGate(driver, served, driver.journal.header.seed, Lookup(group, topics.name_of, topics.fetches.in_session, transaction))


class FaultGate(Generic[C]):
    """The rules of one driver, ours or a recording's (`groupmock.record`). Everything here is called on its loop's thread."""

    def __init__(self, driver: Gated[C], served: Served, seed: int, lookup: Lookup) -> None:
        self._driver = driver
        self._held: dict[int, C] = {}  # ticket -> a call that waits because of a rule
        self._grafts: dict[int, list[Graft]] = {}  # ticket -> what makes the answer to the call of that to a part of it
        self._lookup = lookup
        self.lets_repeat = True
        self.registry = RuleRegistry(served, dice_of(seed))

    # Rules

    def command(self, command: Command, now: int) -> None:
        """Change the rules: one row, and what was held goes on. Raises BadPlan, UnknownRule; then nothing has changed."""
        done = change(self.registry, command)
        told = command if done.names is None else Command(command.name, {**command.arguments, "names": done.names})
        self._driver.record.command(told, now)
        self._refresh()
        for ticket in done.freed:
            self.over(ticket, now, "released")

    def reports(self) -> list[RuleReport]:
        """Every rule as it stands."""
        return self.registry.reports()

    # Where they strike

    def connect(self, connection: Strikeable, now: int) -> None:
        """A connection is there and nothing was read from it."""
        facts = Facts("connect", now, connection.node or 0, connection.number)
        for armed in self.registry.decide(facts):
            action = armed.fault.act(Target(facts, None, None, self.registry.dice, None, self._lookup))
            self._row(armed, connection, None, now)
            if isinstance(action, HangUp):
                self._hang_up(armed, connection, action, now)
        self._refresh()

    def before(self, call: C, now: int) -> bool:
        """A request that would be applied now. May it? Else a rule has it, for now or for good."""
        facts = facts_of(self._place("request", call, now), call.asked(), None, self._lookup)
        fired = self.registry.decide(facts)
        if not fired:
            return True
        self._refresh()
        self._driver.record.request(call)
        # Written before the fault's row, which names its ticket; `apply` must not write it again when a wait is over.
        call.recorded = True
        return all(self._lets_pass(armed, facts, call, now) for armed in fired)

    def after(self, call: C, reply: Reply, now: int) -> bool:
        """An answer that would go out now. May it, perhaps with another message in it? Else it was dealt with."""
        if self._grafts:
            self._graft(call, reply)
        facts = facts_of(self._place("reply", call, now), call.asked(), reply.message, self._lookup)
        fired = self.registry.decide(facts)
        if not fired:
            return True
        self._refresh()
        # An answer that a rule had its hands on is not to be repeated for the next heartbeat.
        reply.lease = None
        return self._lets_out(fired, facts, call, reply, now)

    def over(self, ticket: int, now: int, action: str = OVER) -> None:
        """The wait of a call is over: one row, then it goes on."""
        call = self._held.pop(ticket, None)
        if call is not None:
            rule, go_on = call.held_by, call.go_on
            assert rule is not None and go_on is not None
            call.held_by = call.go_on = None
            self._driver.record.fault(rule, action, call.connection, ticket, {}, now)
            go_on(now)

    def stop(self) -> None:
        """The server ends: nothing waits any more."""
        self._held.clear()
        self._grafts.clear()

    # Strikes

    def _graft(self, call: C, reply: Reply) -> None:
        for graft in self._grafts.pop(call.ticket, ()):
            reply.message = graft(reply.message)
            reply.lease = None
        self._refresh()

    def _lets_pass(self, armed: Strike, facts: Facts, call: C, now: int) -> bool:
        # What is asked may be less since the rule before it
        action = armed.fault.act(Target(facts, call.asked(), None, self.registry.dice, armed.struck, self._lookup))
        driver, connection = self._driver, call.connection
        if isinstance(action, CallOff):
            self._row(armed, connection, call.ticket, now, called_off=action.reason)
            return True
        self._row(armed, connection, call.ticket, now)
        if isinstance(action, GoOn):
            return True
        if isinstance(action, Narrow):
            call.narrow(action.request)
            self._grafts.setdefault(call.ticket, []).append(action.graft)
            self._refresh()
            return True
        if isinstance(action, Steer):
            self._steer(armed, action, now)
            return True
        if isinstance(action, Wait):
            self._wait(armed, call, action.ns, now, partial(self._late_request, call))
        elif isinstance(action, Answer):
            driver.perform([Reply(call.ticket, action.message)], now)
        elif isinstance(action, HangUp):
            driver.tickets.close(call.ticket)
            self._hang_up(armed, connection, action, now)
        elif isinstance(action, Vanish):
            driver.perform([Abandoned(call.ticket, f'fault rule "{armed.rule.name}"')], now)
        return False

    def _lets_out(self, fired: list[Strike], facts: Facts, call: C, reply: Reply, now: int) -> bool:
        muted = 0
        for armed in fired:
            action = armed.fault.act(Target(facts, call.asked(), reply.message, self.registry.dice, armed.struck, self._lookup))
            self._row(armed, call.connection, call.ticket, now)
            if isinstance(action, GoOn):
                continue
            if isinstance(action, Answer):
                reply.message = action.message
                muted = max(muted, action.mute_ns)
                continue
            call.quiet = False  # what became of it is worth a row
            if isinstance(action, Wait):
                self._wait(armed, call, action.ns, now, partial(self._late_reply, call, reply))
            elif isinstance(action, Write):
                self._write(armed, call, reply, action, now)
            else:
                self._lose(armed, call, reply, action, now)
            return False
        if muted:
            self._mute(fired[-1], call, reply, muted, now)
        return not muted

    def _mute(self, armed: Strike, call: C, reply: Reply, ns: int, now: int) -> None:
        """The answer goes out and its connection stays mute, as Kafka throttles one (KIP-219)."""
        self._driver.deliver(reply, now)
        if not call.connection.deaf:
            self._driver.tickets.reopen(call)
        self._wait(armed, call, ns, now, partial(self._free, call))

    def _lose(self, armed: Strike, call: C, reply: Reply, action: object, now: int) -> None:
        """The answer never goes out."""
        driver, connection = self._driver, call.connection
        driver.tickets.close(call.ticket)
        driver.record.reply(call, reply.message, 0, now, delivered=False)
        driver.counters.lost_replies += 1
        if isinstance(action, HangUp):
            self._hang_up(armed, connection, action, now)
        elif isinstance(action, Vanish) and action.mute:
            connection.wedge()
        else:
            driver.go_on(connection)

    def _late_request(self, call: C, now: int) -> None:
        if call.ticket in self._driver.tickets:  # else it was a fetch, and its client has gone
            self._driver.apply(call, now)

    def _late_reply(self, call: C, reply: Reply, now: int) -> None:
        if call.ticket in self._driver.tickets:
            self._driver.deliver(reply, now)

    def _free(self, call: C, now: int) -> None:
        """It was answered before: its connection goes on now."""
        if self._driver.tickets.close(call.ticket) is not None:
            self._driver.go_on(call.connection)

    def _write(self, armed: Strike, call: C, reply: Reply, write: Write, now: int) -> None:
        """Other bytes than the right ones, or in pieces."""
        frame = call.codec.answer(call.correlation, reply.message)
        whole = not (write.then_close or write.then_mute)
        self._driver.record.reply(call, reply.message, len(frame) - 4, now, delivered=whole)
        self._driver.counters.replies += 1
        self._dribble(armed, call, write, write.pieces(frame), now)

    def _dribble(self, armed: Strike, call: C, write: Write, pieces: list[Piece], now: int) -> None:
        """The first piece now, the others each after its pause; then what follows."""
        connection = call.connection
        if pieces and not connection.deaf:
            connection.answer(pieces[0].data)
        rest = pieces[1:]
        if rest:
            self._wait(armed, call, rest[0].after_ns, now, partial(self._dribble, armed, call, write, rest))
            return
        if write.then_close or write.then_mute:
            self._driver.tickets.close(call.ticket)
            if write.then_mute:
                connection.wedge()
            else:
                self._hang_up(armed, connection, HangUp(reset=False), now)
        else:
            self._free(call, now)

    def _hang_up(self, armed: Strike, connection: Strikeable, action: HangUp, now: int) -> None:
        reason = f'fault rule "{armed.rule.name}"'
        if action.reset:
            self._driver.break_off(connection, reason, now)
        else:
            self._driver.shut(connection, reason, now=now)

    def _wait(self, armed: Strike, call: C, ns: int | None, now: int, go_on: Callable[[int], None]) -> None:
        """The connection waits with it: its ticket stays open."""
        call.held_by, call.go_on = armed.rule, go_on
        self._held[call.ticket] = call
        if ns is None:
            self.registry.hold(armed.rule.name, call.ticket)
        else:
            self._driver.clock.call_at(now + ns, partial(self._ring, call.ticket))

    def _ring(self, ticket: int) -> None:
        if ticket in self._held:  # else it was released, or its rule removed, before the time was over
            self.over(ticket, self._driver.now())
            self._driver.settle()

    def _steer(self, armed: Strike, action: Steer, now: int) -> None:
        """Commands of the core; one that cannot be done now is told in a row."""
        for name, arguments in action.commands:
            try:
                self._driver.steer(Command(name, arguments), now)
            except ValueError as refusal:
                self._driver.record.remark("a fault could not steer", now, rule=armed.rule.name, command=name, reason=str(refusal))

    # Inside

    def _refresh(self) -> None:
        """Only what could still fire costs anything, and heartbeats are repeated only where no rule could match one."""
        driver = self._driver
        # A call that was closed meanwhile, or had no answer, is owed no graft
        self._grafts = {ticket: grafts for ticket, grafts in self._grafts.items() if ticket in driver.tickets}
        driver.arm(self if self.registry.live() or self._grafts else None)
        lets_repeat = not any(self.registry.live(api=name) for name in BEATS.values())
        if lets_repeat != self.lets_repeat:
            self.lets_repeat = lets_repeat
            driver.end_repeats()

    def _row(self, armed: Strike, connection: Strikeable, ticket: int | None, now: int, **more: Any) -> None:
        rule = armed.rule
        self._driver.counters.faults += 1
        fields = {name: value for name, value in rule.do.items() if name != "kind"} | more
        if armed.struck is not None:
            fields["struck"] = armed.struck.names
        self._driver.record.fault(rule, rule.do["kind"], connection, ticket, fields, now)

    def _place(self, stage: str, call: C, now: int) -> Facts:
        codec, connection = call.codec, call.connection
        return Facts(stage, now, connection.node or 0, connection.number, codec.name, codec.version, call.client_id)
