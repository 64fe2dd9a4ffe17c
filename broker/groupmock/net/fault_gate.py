"""The gate applies fault rules to new connections, to requests before they are handled, and to answers before they are sent. A driver
has a gate only while a rule could still fire. Commands change the rules, so the journal has all changes. Each decision and the end of
every wait is a row too, so that a replay can repeat them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic

from ..core.effects import Abandoned, Reply
from ..core.events import ANONYMOUS, Command
from ..core.steering.acls import NO_AUTHORIZER
from ..faults.actions import Answer, CallOff, GoOn, HangUp, Narrow, Piece, Show, Steer, Unwelcome, Vanish, Wait, Write
from ..faults.facts import NOBODY_KNOWN, Caller, Facts, Lookup
from ..faults.kind import Target
from ..faults.registry import NOTHING, RuleRegistry, RuleReport
from ..security.settings import WITH_SASL, WITH_TLS
from .codecs import BEATS
from .connection import Connection
from .fault_commands import change, dice_of
from .gated import C, Gated, Strikeable

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..faults.registry import Served, Strike
    from .call import Call
    from .driver import Driver

Graft = Callable[["Message"], "Message"]
OVER: Final = "over"
"""The `action` of a fault row that says that the delay of a request has ended."""


def gate_of(driver: Driver) -> FaultGate[Call]:
    from groupmock_codec import APIS
    from groupmock_codec.declare import Versions

    served = {APIS[key].name: Versions(row.lowest, row.highest) for key, row in driver.codecs.advertised.items()}

    def transaction(transactional_id: str) -> str | None:
        found = driver.core.cluster.transactions.find(transactional_id)
        return str(found.state) if found is not None else None

    def caller(connection: Strikeable) -> Caller:
        assert isinstance(connection, Connection)
        protocol = driver.core.environment.endpoints[connection.node][connection.listener].protocol
        sasl, principal = protocol in WITH_SASL, connection.principal
        return Caller(connection.listener, protocol in WITH_TLS, sasl, principal, sasl and principal != ANONYMOUS)

    cluster = driver.core.cluster
    lookup = Lookup(cluster.groups.find, cluster.topics.name_of, cluster.topics.fetches.in_session, transaction)
    return FaultGate(driver, served, driver.journal.header.seed, lookup, caller, _unable(driver))


def _unable(driver: Driver) -> dict[str, str]:
    """Return the kinds of faults for which this cluster lacks something, each with what it lacks and the remedy."""
    environment, found = driver.core.environment, dict[str, str]()
    protocols = {each.protocol for each in environment.identity.listeners}
    if protocols.isdisjoint(WITH_SASL):
        found = dict.fromkeys(("fail_authentication", "end_session"), "no listener has SASL: add --listener NAME=SASL_PLAINTEXT://HOST:PORT")
    if protocols.isdisjoint(WITH_TLS):
        found["show_certificate"] = "no listener has TLS: add --listener NAME=SSL://HOST:PORT"
    elif not driver.shows_certificates:
        found["show_certificate"] = "nobody can sign such a certificate: leave --tls-cert out, so that throw-away certificates are made"
    if driver.core.cluster.authorizer is None:
        found["deny"] = NO_AUTHORIZER
    return found


class FaultGate(Generic[C]):
    """Applies the fault rules of one server or recording (`groupmock.record`). All methods are called on its loop's thread."""

    def __init__(
        self,
        driver: Gated[C],
        served: Served,
        seed: int,
        lookup: Lookup,
        caller: Callable[[Strikeable], Caller] = lambda connection: NOBODY_KNOWN,
        unable: Mapping[str, str] = NOTHING,
    ) -> None:
        self._driver = driver
        self._held: dict[int, C] = {}  # Maps the ticket of each request that a rule delays to its call.
        # Maps tickets to functions that turn the answer to a part of a request into an answer to the whole request.
        self._grafts: dict[int, list[Graft]] = {}
        self._lookup = lookup
        self._caller = caller
        self._armed = False
        self.lets_repeat = True
        self.registry = RuleRegistry(served, dice_of(seed), unable)

    def command(self, command: Command, now: int) -> None:
        """Change the fault rules, write one row, and let requests continue that no rule delays any longer. Nothing has changed if it
        raises BadPlan or UnknownRule."""
        done = change(self.registry, command)
        recorded = command if done.names is None else Command(command.name, {**command.arguments, "names": done.names})
        self._driver.record.command(recorded, now)
        self._refresh()
        for ticket in done.freed:
            self.over(ticket, now, "released")

    def reports(self) -> list[RuleReport]:
        """Return the reports of all fault rules."""
        return self.registry.reports()

    def connect(self, connection: Strikeable, now: int) -> None:
        """Apply fault rules to a new connection, before anything is read from it."""
        facts = Facts("connect", now, connection.node or 0, connection.number, lookup=self._lookup, caller=self._caller(connection))
        for armed in self.registry.decide(facts):
            action = armed.fault.act(Target(facts, None, None, self.registry.dice, None, self._lookup))
            self._row(armed, connection, None, now)
            if isinstance(action, HangUp):
                self._hang_up(armed, connection, action, now)
            elif isinstance(action, Show):
                connection.show_certificate(action.certificate)
        self._refresh()

    def before(self, call: C, now: int) -> bool:
        """Return True if the request may be handled now, False if a fault rule delays or drops it."""
        codec, connection = call.codec, call.connection
        name, version = codec.name, codec.version
        if not self.registry.ready["request", name, version]:
            return True
        asked = call.message or call.asked()
        facts = Facts(
            "request", now, connection.node or 0, connection.number, name, version, call.client_id, asked, None, self._lookup,
            self._caller(connection),
        )  # fmt: skip
        fired = self.registry.decide(facts)
        if not fired:
            return True
        self._refresh()
        if connection.guard is not None:
            call.by_listener = connection.guard.belongs(codec.key, now)
        self._driver.record.request(call)
        # The request's row precedes the fault's row, which names its ticket. `apply` must not write the request's row again after a wait.
        call.recorded = True
        if len(fired) > 1:
            facts.settle()
        return all(self._lets_pass(armed, facts, call, now) for armed in fired)

    def after(self, reply: Reply, now: int) -> None:
        """Apply fault rules to an answer and send it, unless a rule delays, drops or replaces it."""
        call = self._driver.tickets.get(reply.ticket)
        # The answer to an earlier request may have used up the last fault rule.
        if call is not None and self._armed:
            if self._grafts:
                self._graft(call, reply)
            codec, connection = call.codec, call.connection
            name, version = codec.name, codec.version
            if self.registry.ready["reply", name, version]:
                asked, told = call.message or call.asked(), reply.message
                facts = Facts(
                    "reply", now, connection.node or 0, connection.number, name, version, call.client_id, asked, told, self._lookup,
                    self._caller(connection),
                )  # fmt: skip
                fired = self.registry.decide(facts)
                if fired:
                    self._refresh()
                    # An answer that a rule has changed or delayed must not be repeated for the next heartbeat.
                    reply.lease = None
                    if not self._lets_out(fired, facts, call, reply, now):
                        return
        self._driver.deliver(reply, now)

    def over(self, ticket: int, now: int, action: str = OVER) -> None:
        """End the delay of a request: write one row, then let the request continue."""
        call = self._held.pop(ticket, None)
        if call is not None:
            rule, go_on = call.held_by, call.go_on
            assert rule is not None and go_on is not None
            call.held_by = call.go_on = None
            self._driver.record.fault(rule, action, call.connection, ticket, {}, now)
            go_on(now)

    def stop(self) -> None:
        """Drop all delayed requests, because the server ends."""
        self._held.clear()
        self._grafts.clear()

    def _graft(self, call: C, reply: Reply) -> None:
        for graft in self._grafts.pop(call.ticket, ()):
            reply.message = graft(reply.message)
            reply.lease = None
        self._refresh()

    def _lets_pass(self, armed: Strike, facts: Facts, call: C, now: int) -> bool:
        # An earlier rule may have removed a part of the request, so the message is asked for anew.
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
        if isinstance(action, Unwelcome):
            if connection.guard is not None:  # Without a guard the core refuses the handshake.
                connection.guard.unwelcome(f'fault rule "{armed.rule.name}"')
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
            said = action.said if isinstance(action, Answer) else {}
            self._row(armed, call.connection, call.ticket, now, **said)
            if isinstance(action, GoOn):
                continue
            if isinstance(action, Answer):
                reply.message = action.message
                muted = max(muted, action.mute_ns)
                continue
            call.quiet = False  # A heartbeat to which a fault rule applied gets a row.
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
        """Send the answer, but handle nothing more from the connection for a time, as Kafka does when it throttles (KIP-219)."""
        self._driver.deliver(reply, now)
        if not call.connection.deaf:
            self._driver.tickets.reopen(call)
        self._wait(armed, call, ns, now, partial(self._free, call))

    def _lose(self, armed: Strike, call: C, reply: Reply, action: object, now: int) -> None:
        """Drop the answer for a fault rule and write its row."""
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
        if call.ticket in self._driver.tickets:  # If its ticket is gone, the request was a Fetch whose client has disconnected.
            self._driver.apply(call, now)

    def _late_reply(self, call: C, reply: Reply, now: int) -> None:
        if call.ticket in self._driver.tickets:
            self._driver.deliver(reply, now)

    def _free(self, call: C, now: int) -> None:
        """Let a connection continue after a delay that began when its request was answered."""
        if self._driver.tickets.close(call.ticket) is not None:
            self._driver.go_on(call.connection)

    def _write(self, armed: Strike, call: C, reply: Reply, write: Write, now: int) -> None:
        """Send the bytes that a fault rule puts in place of the answer, or send the answer in pieces."""
        frame = call.codec.answer(call.correlation, reply.message)
        whole = not (write.then_close or write.then_mute)
        self._driver.record.reply(call, reply.message, len(frame) - 4, now, delivered=whole, written=now)
        self._driver.counters.replies += 1
        self._dribble(armed, call, write, write.pieces(frame), now)

    def _dribble(self, armed: Strike, call: C, write: Write, pieces: list[Piece], now: int) -> None:
        """Send the first piece now and each other piece after its pause, then close or silence the connection if the fault says so."""
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
        reason = f'fault rule "{armed.rule.name}"' + (f": {action.why}" if action.why else "")
        if action.reset:
            self._driver.break_off(connection, reason, now)
        else:
            self._driver.shut(connection, reason, now=now)

    def _wait(self, armed: Strike, call: C, ns: int | None, now: int, go_on: Callable[[int], None]) -> None:
        """Delay a request for a time, or until it is released if `ns` is None. Its ticket stays open, so its connection waits as well."""
        call.held_by, call.go_on = armed.rule, go_on
        self._held[call.ticket] = call
        if ns is None:
            self.registry.hold(armed.rule.name, call.ticket)
        else:
            self._driver.clock.call_at(now + ns, partial(self._ring, call.ticket))

    def _ring(self, ticket: int) -> None:
        if ticket in self._held:  # If its ticket is gone, the fault rule was removed or the request released before the time was over.
            self.over(ticket, self._driver.now())
            self._driver.settle()

    def _steer(self, armed: Strike, action: Steer, now: int) -> None:
        """Run commands of the core for a fault. A command that is impossible now is recorded in a row."""
        for name, arguments in action.commands:
            try:
                self._driver.steer(Command(name, arguments), now)
            except ValueError as refusal:
                self._driver.record.remark("a fault could not steer", now, rule=armed.rule.name, command=name, reason=str(refusal))

    def _refresh(self) -> None:
        """Connect the gate only while a rule could still fire, and allow repeated heartbeats only while no rule could match a heartbeat."""
        driver = self._driver
        # Answers need no completion any more if the request's connection was closed or the request had no answer.
        self._grafts = {ticket: grafts for ticket, grafts in self._grafts.items() if ticket in driver.tickets}
        self._armed = self.registry.live() or bool(self._grafts)
        driver.arm(self if self._armed else None)
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
