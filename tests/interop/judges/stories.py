"""Stories of stock clients under the ready plans of faults: two members of one client, a plan, and what the story says of them, judged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from plan_runs import COUNT, HEARTBEAT_MS, RECORDS, SESSION_MS, SETTINGS, TOPIC, WHERE_IT_IS, shortened
from transaction_histories import CLIENTS, PLANS, History, drawn, of_plan
from transaction_play import JAVA, played

from groupmock import Broker, FaultNotSeen
from groupmock.faults.facts import for_consumer_groups, for_other_groups, for_producers
from groupmock.faults.kind import for_secured
from groupmock.faults.plan import read_plan, ready_plans
from groupmock.journal.read import read
from tools.story_check.bench import Verdict
from tools.story_check.judge import View
from tools.story_check.trial import story_of, tried, view_of

from .building import Program, built
from .catalogue import JUDGES, Judge, java_program
from .member import Member
from .telling import Mismatch, wait

GROUP = "told"
FAULT_SECONDS = 15.0
SETTLES_SECONDS = 12.0
LOOKS = 20
SEEDS = range(1, 11)
"""Of histories of transactions that are drawn, for each client."""
KINDS = {"group": "classic", "consumer": "consumer"}
"""Kinds of judges that are members of a group and nothing else, and the protocol of their groups."""


@dataclass(frozen=True)
class Told:
    """What came of a run. `remark`: what else is to be known of it; `verdicts`: on its stories."""

    remark: str
    verdicts: list[Verdict]


@dataclass(frozen=True)
class Run:
    """A client and what happens to it. `play`: a number to draw from, and a folder for its journal; it raises BuildFailed."""

    client: str
    what: str
    program: Program | None
    play: Callable[[int, Path], Told]


def runs() -> list[Run]:
    """Every client under every plan that can strike it, of Python libraries the newest release alone; and histories of transactions."""
    clients = [each for each in JUDGES if each.kind in KINDS and each.live != "short"]
    plans = {name: read_plan(name) for name in ready_plans()}
    found = [
        Run(client.name, name, client.program, partial(_of_members, client, name))
        for client in clients
        for name, plan in plans.items()
        if not any(of(plan) for of in (for_producers, for_secured, for_other_groups))
        and (client.kind == "consumer" or not for_consumer_groups(plan))
    ]
    histories = [*(of_plan(client, plan) for client in CLIENTS for plan in PLANS), *(drawn(*each) for each in product(CLIENTS, SEEDS))]
    return [*found, *map(_transactional, histories)]


def _transactional(history: History) -> Run:
    program = java_program(JAVA) if history.client == "java" else None
    return Run(f"{history.client}, transactions", str(history), program, partial(_of_transactions, history))


def _of_transactions(history: History, number: int, folder: Path) -> Told:
    played(history, folder, keep=True)
    _, rows = read(folder / f"{history.name}.jsonl")
    return Told("", tried(rows, story_of(rows)))


def _of_members(judge: Judge, plan: str, number: int, folder: Path) -> Told:
    """Two members under the plan: the first reads and commits, the second comes, the fault strikes, more records come, both leave."""
    command = judge.command(built(judge.program))
    journal = folder / "run.jsonl"
    rules, nodes = shortened(read_plan(plan)), 1 if plan == WHERE_IT_IS else 2
    members: list[Member] = []
    with Broker({TOPIC: COUNT}, nodes=nodes, seed=number, plan=rules, settings=SETTINGS, journal=journal) as broker:
        try:
            remark = _play(judge, plan, broker, command, folder, members)
            verdicts = _now(broker, journal)
            for each in members:
                with contextlib.suppress(Mismatch):
                    each.leave()
        finally:
            for each in members:
                each.kill()
    _, rows = read(journal)
    return Told(remark, [*verdicts, *tried(rows, story_of(rows))])


def _play(judge: Judge, plan: str, broker: Broker, command: list[str], folder: Path, members: list[Member]) -> str:
    _produce(broker, "before")
    for number in range(2):
        instance = f"desk-{number}" if judge.static and plan == "fenced-twin" else None
        wish: dict[str, object] = {
            "bootstrap": broker.bootstrap, "group": GROUP, "topic": TOPIC, "name": f"client-{number}", "instance": instance,
            "assignor": judge.assignor, "session_ms": SESSION_MS, "heartbeat_ms": HEARTBEAT_MS, "protocol": KINDS[judge.kind],
        }
        members.append(Member(command, wish, folder / f"client-{number}.log"))
        _settled(members)
        members[-1].ask("commit")
    with contextlib.suppress(FaultNotSeen):
        broker.wait_for_fault(broker.faults[0].name, timeout=FAULT_SECONDS)
    _produce(broker, "after")
    settled = _settled(members)
    for each in members:
        each.ask("commit")
    return ("" if any(report.fired for report in broker.faults) else ", no rule fired") + ("" if settled else ", not settled")


def _produce(broker: Broker, what: str) -> None:
    for number in range(RECORDS):
        broker.produce(TOPIC, f"{what}-{number}", partition=number % COUNT)


def _settled(members: list[Member]) -> bool:
    """Do the members hold every partition once, within the time? A plan may keep them from it: the story must be true all the same."""
    everything = list(range(COUNT))
    try:
        wait("everything held", lambda: sorted(place for each in members for place in each.held()) == everything, list, SETTLES_SECONDS)
    except Mismatch:
        return False
    return True


def _now(broker: Broker, journal: Path) -> list[Verdict]:
    """Verdicts on the story that the running broker tells, whose first line must be what it has. Members go on meanwhile, so what it has is
    asked before and after, until both are alike."""
    for _ in range(LOOKS):
        before = _views(broker)
        lines = broker.story().splitlines()
        if before == _views(broker):
            return tried(read(journal)[1], lines, before)
    return []


def _views(broker: Broker) -> Mapping[str, View]:
    return {name: view_of(group, broker.lag(name)) for name, group in broker.groups.items()}
