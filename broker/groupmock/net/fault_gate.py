"""Where fault rules strike: at a new connection, before a request is applied, before its answer goes out.

`Driver.faults` is this object while a rule could still fire, else None: then nothing here is ever called. Rules are changed by commands,
so that a journal holds them; what is decided is a row each, and the end of every wait is one too, so that replay can play it again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core.effects import Reply
from ..core.events import Command
from ..faults.actions import Answer, CallOff, HangUp, Piece, Steer, Vanish, Wait, Write
from ..faults.facts import Facts, GroupFacts, Lookup, facts_of
from ..faults.kind import Call
from ..faults.registry import Registry, RuleReport
from .fault_commands import change, dice_of

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..faults.decide import Armed
    from .codecs import ApiCodec, Asked
    from .connection import Connection
    from .driver import Driver

OVER: Final = "over"
"""`action` of the row that says that a wait of a fault is over."""


class Pending(NamedTuple):
    """A call that waits because of a rule, and how it goes on."""

    rule: str
    stage: str
    connection: Connection
    go_on: Callable[[int], None]


class Faults:
    """The rules of one driver. Everything here is called on its loop's thread."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._pending: dict[int, Pending] = {}
        self._lookup = Lookup(self._group, self._topic)
        self.lets_repeat = True
        served = {self._name(key): (row.lowest, row.highest) for key, row in driver.codecs.advertised.items()}
        self.registry = Registry(served, dice_of(driver.journal.header.seed))

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

    def connect(self, connection: Connection, now: int) -> None:
        """A connection is there and nothing was read from it."""
        facts = Facts("connect", now, connection.node, connection.number)
        for armed in self.registry.decide(facts):
            action = armed.fault.act(Call(facts, None, None, self.registry.dice))
            self._row(armed, connection, None, now)
            if isinstance(action, HangUp):
                self._hang_up(armed, connection, action, now)
        self._refresh()

    def request(self, asked: Asked, now: int) -> None:
        """A request that would be applied now."""
        facts = facts_of(self._place("request", asked.connection, asked.codec, asked.client_id, now), asked.message, None, self._lookup)
        fired = self.registry.decide(facts)
        if not fired:
            self._driver.apply(asked, now, recorded=False)
            return
        self._refresh()
        self._record(asked)
        for armed in fired:
            if self._strike_request(armed, Call(facts, asked.message, None, self.registry.dice), asked, now):
                return
        self._driver.apply(asked, now, recorded=True)

    def reply(self, effect: Reply, now: int) -> bool:
        """An answer that would go out now. True: it was dealt with."""
        connection = self._driver.waits(effect.ticket)
        if connection is None or connection.codec is None:
            return False
        codec = connection.codec
        client_id, at = codec.header(connection.frame)
        request = codec.decode(connection.frame, at)[0]
        facts = facts_of(self._place("reply", connection, codec, client_id, now), request, effect.message, self._lookup)
        fired = self.registry.decide(facts)
        if not fired:
            return False
        self._refresh()
        effect.lease = None
        return self._strike_reply(fired, facts, request, effect, connection, now)

    def over(self, ticket: int, now: int, action: str = OVER) -> None:
        """The wait of a call is over: one row, then it goes on."""
        pending = self._pending.pop(ticket, None)
        if pending is not None:
            self._driver.record.fault(pending.rule, pending.stage, action, pending.connection, ticket, {}, now)
            pending.go_on(now)

    def stop(self) -> None:
        """The server ends: nothing waits any more."""
        self._pending.clear()

    # Strikes

    def _strike_request(self, armed: Armed, call: Call, asked: Asked, now: int) -> bool:
        """True: it does not go on to the core, or not now."""
        action = armed.fault.act(call)
        if isinstance(action, Steer):
            self._steer(armed, action, asked, now)
            return False
        driver, connection, ticket = self._driver, asked.connection, asked.ticket
        if isinstance(action, CallOff):
            self._row(armed, connection, ticket, now, called_off=action.reason)
            return False
        self._row(armed, connection, ticket, now)
        if isinstance(action, Wait):
            self._wait(armed, connection, ticket, action.ns, now, lambda then: self._late_request(asked, then))
        elif isinstance(action, Answer):
            driver.perform([Reply(ticket, action.message)], now)
        elif isinstance(action, HangUp):
            driver.forget(ticket)
            self._hang_up(armed, connection, action, now)
        elif isinstance(action, Vanish):
            driver.abandon(ticket, f'fault rule "{armed.rule.name}"', now)
        return True

    def _strike_reply(self, fired: list[Armed], facts: Facts, request: Message, effect: Reply, connection: Connection, now: int) -> bool:
        muted = 0
        for armed in fired:
            action = armed.fault.act(Call(facts, request, effect.message, self.registry.dice))
            self._row(armed, connection, effect.ticket, now)
            if isinstance(action, Answer):
                effect.message = action.message
                muted = max(muted, action.mute_ns)
            elif isinstance(action, Wait):
                self._wait(armed, connection, effect.ticket, action.ns, now, lambda then: self._late(effect, then))
                return True
            elif isinstance(action, Write):
                self._write(armed, effect, connection, action, now)
                return True
            else:
                self._lose(armed, effect, connection, action, now)
                return True
        if not muted:
            return False
        self._driver.send(effect, now)
        self._wait(fired[-1], connection, effect.ticket, muted, now, lambda then: self._driver.free(effect.ticket))
        return True

    def _lose(self, armed: Armed, effect: Reply, connection: Connection, action: object, now: int) -> None:
        """The answer never goes out."""
        driver = self._driver
        driver.forget(effect.ticket)
        self._record_reply(connection, effect, 0, False, now)
        driver.counters.lost_replies += 1
        if isinstance(action, HangUp):
            self._hang_up(armed, connection, action, now)
        elif isinstance(action, Vanish) and action.mute:
            connection.wedge()
        else:
            driver.go_on(connection)

    def _late_request(self, asked: Asked, now: int) -> None:
        if self._driver.waits(asked.ticket) is not None:  # else it was a fetch, and its client has gone
            self._driver.apply(asked, now, recorded=True)

    def _late(self, effect: Reply, now: int) -> None:
        if self._driver.waits(effect.ticket) is not None:
            self._driver.deliver(effect, now)

    def _write(self, armed: Armed, effect: Reply, connection: Connection, write: Write, now: int) -> None:
        """Other bytes than the right ones, or in pieces."""
        codec = connection.codec
        assert codec is not None
        frame = codec.answer(connection.correlation, effect.message)
        whole = not (write.then_close or write.then_mute)
        self._record_reply(connection, effect, len(frame) - 4, whole, now)
        self._driver.counters.replies += 1
        self._dribble(armed, connection, effect.ticket, write, write.pieces(frame), now)

    def _dribble(self, armed: Armed, connection: Connection, ticket: int, write: Write, pieces: list[Piece], now: int) -> None:
        """The first piece now, the others each after its pause; then what follows."""
        if pieces and not connection.deaf:
            connection.answer(pieces[0].data)
        rest = pieces[1:]
        if rest:
            self._wait(armed, connection, ticket, rest[0].after_ns, now, partial(self._dribble, armed, connection, ticket, write, rest))
            return
        if write.then_close or write.then_mute:
            self._driver.forget(ticket)
            if write.then_mute:
                connection.wedge()
            else:
                self._hang_up(armed, connection, HangUp(reset=False), now)
        else:
            self._driver.free(ticket)

    def _hang_up(self, armed: Armed, connection: Connection, action: HangUp, now: int) -> None:
        reason = f'fault rule "{armed.rule.name}"'
        if action.reset:
            self._driver.break_off(connection, reason, now)
        else:
            self._driver.shut(connection, reason, now=now)

    def _wait(self, armed: Armed, connection: Connection, ticket: int, ns: int | None, now: int, go_on: Callable[[int], None]) -> None:
        """The connection waits with it: its ticket stays open."""
        self._pending[ticket] = Pending(armed.rule.name, str(armed.rule.stage), connection, go_on)
        if ns is None:
            self.registry.hold(armed.rule.name, ticket)
        else:
            self._driver.clock.call_at(now + ns, lambda: self._ring(ticket))

    def _ring(self, ticket: int) -> None:
        if ticket in self._pending:
            self.over(ticket, self._driver.now())
            self._driver.settle()

    def _steer(self, armed: Armed, action: Steer, asked: Asked, now: int) -> None:
        """Commands of the core; one that cannot be done now is told in the row."""
        self._row(armed, asked.connection, asked.ticket, now)
        for name, arguments in action.commands:
            try:
                self._driver.steer(Command(name, arguments), now)
            except ValueError as refusal:
                self._driver.record.remark("a fault could not steer", now, rule=armed.rule.name, command=name, reason=str(refusal))

    # Inside

    def _refresh(self) -> None:
        """Only what could still fire costs anything, and heartbeats are repeated only where no rule could match one."""
        driver = self._driver
        driver.faults = self if self.registry.live() else None
        lets_repeat = not self.registry.live(api="Heartbeat")
        if lets_repeat != self.lets_repeat:
            self.lets_repeat = lets_repeat
            driver.end_repeats()

    def _record(self, asked: Asked) -> None:
        if self._driver.journal.routine:
            trailing = len(asked.frame) - asked.end
            self._driver.record.request(
                asked.connection, asked.codec, asked.client_id, asked.message, asked.frame, asked.received, trailing
            )

    def _record_reply(self, connection: Connection, effect: Reply, size: int, delivered: bool, now: int) -> None:
        codec = connection.codec
        if self._driver.journal.wanted and codec is not None:
            self._driver.record.reply(connection, codec, effect.ticket, effect.message, size, now, delivered=delivered)

    def _row(self, armed: Armed, connection: Connection, ticket: int | None, now: int, **more: Any) -> None:
        rule = armed.rule
        self._driver.counters.faults += 1
        fields = {name: value for name, value in rule.do.items() if name != "kind"} | more
        self._driver.record.fault(rule.name, str(rule.stage), rule.do["kind"], connection, ticket, fields, now)

    def _place(self, stage: str, connection: Connection, codec: ApiCodec, client_id: str | None, now: int) -> Facts:
        return Facts(stage, now, connection.node, connection.number, codec.name, codec.version, client_id)

    def _group(self, group_id: str) -> GroupFacts | None:
        group = self._driver.core.cluster.coordinators.find(group_id)
        return GroupFacts(str(group.state), group.leader_id, group.static_members) if group is not None else None

    def _topic(self, topic_id: bytes) -> str | None:
        return self._driver.core.cluster.topics.name_of(topic_id)

    def _name(self, key: int) -> str:
        from groupmock_codec import APIS

        return APIS[key].name


__all__ = ["OVER", "Faults", "Pending"]
