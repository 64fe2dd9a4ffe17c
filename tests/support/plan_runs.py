"""Runs one ready plan against two members of one library and measures what the client did, for the test and the table of
docs/how-to/faults.md."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final

import msgspec
from stock_members import LIBRARIES, Member
from stock_team import Team, partitions
from waiting import until

from groupmock import Broker
from groupmock.faults.facts import for_consumer_groups
from groupmock.faults.plan import Plan, Rule, read_plan
from groupmock.journal.rows import FaultRow, MovedRow, ReplyRow
from groupmock_clients.scenarios.live.member_spec import CLASSIC, CONSUMER
from groupmock_codec.api_keys import JOIN_GROUP

TOPIC: Final = "orders"
COUNT: Final = 4
RECORDS: Final = 40
PATIENCE_S: Final = 30.0
SESSION_MS: Final = 6_000
REQUEST_MS: Final = 7_000
"""Request timeout in ms, short so that a client without answers gives up soon, but longer than the session because kafka-python requires
it."""
AUTO_COMMIT_MS: Final = 200
HEARTBEAT_MS: Final = 100
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": 200, "group.consumer.session.timeout.ms": SESSION_MS, "group.consumer.assignment.interval.ms": 0,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
}  # fmt: skip
GROUP: Final = "plans"
BEGINS: Final = ("CompletingRebalance", "Assigning", "Reconciling")
"""States in which a new generation (or group epoch of a consumer group) begins."""
BY_HAND: Final = "commit-outcome-unknown"
"""The fault plan in which members commit explicitly, so that the test sees the errors that users get."""
WHERE_IT_IS: Final = "loading-coordinator"
"""The fault plan that needs a single node, because the coordinator reloads on its own node."""
STALL_S: Final = 8.0
"""Seconds for which the fault plan stalls a node here instead of its own minute; longer than the session timeout."""


@dataclass
class Outcome:
    """The result of a run under a fault plan. `settled`: the living members own all partitions and all records were delivered;
    `seconds`: the time from the first fault until then; `generations`: the number of rebalances since; `again`: the records delivered
    more than once; `raised`: the errors that the library reported to its user; `ended`: the members that stopped for good."""

    plan: str
    library: str
    version: str
    fired: int
    settled: bool
    seconds: float
    generations: int
    again: int
    lost: int
    raised: list[str]
    ended: int


def libraries_of(name: str) -> tuple[str, ...]:
    """Return the libraries that the plan can be run with."""
    return ("confluent-kafka",) if for_consumer_groups(read_plan(name)) else LIBRARIES


def shortened(plan: Plan) -> Plan:
    return msgspec.structs.replace(plan, rule=[_shortened(rule) for rule in plan.rule])


def _shortened(rule: Rule) -> Rule:
    return msgspec.structs.replace(rule, do=rule.do | {"seconds": STALL_S}) if rule.do["kind"] == "stall_node" else rule


def run(name: str, library: str) -> Outcome:
    """Run two members of the library under the plan: the first reads and commits, the second joins, the fault rule fires, and records
    arrive."""
    plan = shortened(read_plan(name))
    nodes = 1 if name == WHERE_IT_IS else 2
    protocol = CONSUMER if for_consumer_groups(plan) else CLASSIC
    with Broker(topics={TOPIC: COUNT}, nodes=nodes, seed=11, plan=plan, settings=SETTINGS) as broker:
        commit = None if name == BY_HAND else AUTO_COMMIT_MS
        request = {"socket.timeout.ms" if library == "confluent-kafka" else "request_timeout_ms": REQUEST_MS}
        times = {"session_ms": SESSION_MS, "heartbeat_ms": HEARTBEAT_MS, "commit_ms": commit}
        team = Team(broker.bootstrap, GROUP, (TOPIC,), goes_on=True, protocol=protocol, options=request, **times)
        try:
            return _watch(broker, team, name, library)
        finally:
            team.close()


def _watch(broker: Broker, team: Team, name: str, library: str) -> Outcome:
    static = name == "fenced-twin"
    raised: list[str] = []
    expected = [f"before-{number}".encode() for number in range(RECORDS)]
    _produce(broker, expected)
    members = [team.join(library, instance=f"desk-{number}" if static else None) for number in range(2)]
    if name == BY_HAND:
        until("the first records", lambda: bool(members[0].values()), lambda: broker.story(GROUP))
        _try(raised, members[0].commit)
        _try(raised, members[0].commit)
    first = broker.faults[0].name
    broker.wait_for_fault(first, timeout=PATIENCE_S)
    after = [f"after-{number}".encode() for number in range(RECORDS)]
    _produce(broker, after)
    settled = _settles(broker, members, [*expected, *after], static)
    seconds, generations = _since_the_fault(broker)
    values = Counter(value for each in members for value in each.values())
    failed = [failure for each in members if (failure := each.failure) is not None]
    raised += [_words(each) for each in failed]
    raised += [text for each in members for text in dict.fromkeys(each.errors)]
    return Outcome(
        plan=name,
        library=library,
        version=version(library),
        fired=sum(report.fired for report in broker.faults),
        settled=settled,
        seconds=seconds,
        generations=generations,
        again=sum(1 for count in values.values() if count > 1),
        lost=sum(1 for value in [*expected, *after] if value not in values),
        raised=list(dict.fromkeys(raised)),
        ended=len(failed),
    )


def _since_the_fault(broker: Broker) -> tuple[float, int]:
    """Return seconds and new generations since the first fault, from the journal rows."""

    def read() -> tuple[float, int]:
        running = broker._up()
        assert running.ring is not None
        rows = list(running.ring.rows)
        struck = next(place for place, row in enumerate(rows) if isinstance(row, FaultRow))
        begun = len({row.generation for row in rows[struck:] if isinstance(row, MovedRow) and row.after in BEGINS})
        return round((running.clock.now() - rows[struck].t) / 1e9, 1), begun

    found: tuple[float, int] = broker._ask(read)
    return found


def _settles(broker: Broker, members: list[Member], expected: list[bytes], static: bool) -> bool:
    """Wait until the living members own every partition once, everything was delivered, and no fault rule is pending. A fenced duplicate
    of a static member never returns, because the newer process has its instance id."""

    def done() -> bool:
        alive = [each for each in members if each.failure is None]
        held = [partition for each in alive for partition in each.owned()]
        if static and len(alive) < len(members):
            return True
        if static and not _came_back(broker):  # The loop goes on, because the fenced member has not noticed its fencing yet.
            return False
        group = broker.groups.get(GROUP)
        if group is None or group.state != "Stable" or not all(report.spent or report.fired for report in broker.faults):
            return False
        got = {value for each in members for value in each.values()}
        if not _gave_up(broker):
            return False
        storming = any(not report.spent and report.rule.get("times") for report in broker.faults)
        return not storming and sorted(held) == sorted(partitions(TOPIC, COUNT)) and set(expected) <= got

    try:
        until("the group to settle again", done, lambda: broker.story(GROUP), PATIENCE_S)
    except AssertionError:
        return False
    return True


def _came_back(broker: Broker) -> bool:
    """Return whether a member joined after the fault, as the fenced member must."""

    def look() -> bool:
        ring = broker._up().ring
        assert ring is not None
        rows = list(ring.rows)
        struck = next(place for place, row in enumerate(rows) if isinstance(row, FaultRow))
        return any(isinstance(row, ReplyRow) and row.api_key == JOIN_GROUP and not row.message.error_code for row in rows[struck:])

    came: bool = broker._ask(look)
    return came


def _gave_up(broker: Broker) -> bool:
    """Return whether the client has closed the connections that a rule muted or closed."""

    def look() -> bool:
        running = broker._up()
        assert running.ring is not None
        struck = {row.connection for row in running.ring.rows if isinstance(row, FaultRow) and row.action in ("drop", "close")}
        return struck.isdisjoint(running.server.driver.connections)

    gave_up: bool = broker._ask(look)
    return gave_up


def _produce(broker: Broker, values: list[bytes]) -> None:
    for number, value in enumerate(values):
        broker.produce(TOPIC, value, partition=number % COUNT)


def _try(raised: list[str], what: Any) -> None:
    try:
        what()
    except Exception as error:  # The run records every exception that the library raises to its user.
        raised.append(_words(error))


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
