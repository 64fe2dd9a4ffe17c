"""Random histories of stock clients that the audit of clients judges. A seed draws the members, the faults and the steps of an operator.

A history runs for some seconds in real time against our own server over TCP; its journal is judged. Two runs of one seed have the same
members, faults and steps, at times that depend on the machine's load.
GROUPMOCK_HISTORIES and GROUPMOCK_FIRST_SEED of tests/live/audit/test_random_histories.py say how many histories are played and which seed
is the first.
"""

from __future__ import annotations

import contextlib
import random
import re
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
from stock_members import Member, spec

from groupmock import Broker
from groupmock.audit.drive.situation import IN_TIME
from groupmock.audit.offline import audit_journal
from groupmock.audit.rule import registered
from groupmock.audit.verdicts import NOT_EXERCISED, Audit, Finding
from groupmock.core.steering.register import CannotSteer
from groupmock.faults.facts import for_consumer_groups, for_other_groups, for_producers
from groupmock.faults.kind import for_secured
from groupmock.faults.plan import Plan, read_plan, ready_plans
from groupmock.journal.rows import ASKED_TO_STOP
from groupmock_clients.probe.stages.lateness import Lateness, WakeLateness

GROUP: Final = "kitchen"
ASSIGNORS: Final = {
    "aiokafka": (("range",), ("roundrobin",), ("sticky",)),
    "kafka-python": (("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",), ("range", "roundrobin")),
    "confluent-kafka": (("range",), ("roundrobin",), ("cooperative-sticky",), ("range", "roundrobin")),
}
REQUEST_MS: Final = 3_500
"""Request timeout of every client; kafka-python requires it to be longer than the longest session timeout."""
APIS: Final = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "LeaveGroup", "FindCoordinator", "Metadata", "Fetch")
OF_MEMBERS: Final = ("SyncGroup", "Heartbeat", "Heartbeat")
ERRORS: Final = {
    "JoinGroup": (14, 15, 16, 25, 27),
    "SyncGroup": (14, 15, 16, 22, 25, 27),
    "Heartbeat": (14, 15, 16, 22, 25, 27),
    "OffsetCommit": (14, 15, 16, 22, 25, 27),
    "OffsetFetch": (14, 16, 88),
    "LeaveGroup": (15, 16, 25),
    "FindCoordinator": (15,),
    "Metadata": (5, 3),
    "Fetch": (3, 6, 1),
}
"""The errors with which a broker may answer each API."""
OTHERS: Final = (for_producers, for_consumer_groups, for_secured, for_other_groups)
PLANS: Final = [name for name in ready_plans() if not any(of(read_plan(name)) for of in OTHERS)]
"""Fault plans that affect members of classic groups. A plan without an effect here would waste a history."""
LONGEST_STALL_S: Final = 1.0
TOO_LATE_MS: Final = 200
"""No client is judged for lateness after a thread had to wait this long; the shortest session is three times as long."""
PROFILES: Final = ("groupmock", "groupmock", "kafka-4.3", "kafka-3.9")
KNOWN: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = tuple(
    (each["library"], each["rule"], re.compile(each["says"]))
    for each in tomllib.loads((Path(__file__).parent / "audit_known.toml").read_text())["finding"]
)
"""Known mistakes of client libraries as (library, rule, pattern of the finding), each with a comment on the library's source."""


@dataclass(frozen=True)
class History:
    """The history that a seed draws. `members` has the changes to each member's spec, in the order in which they join; `steps` are
    (second, verb, which)."""

    library: str
    seed: int
    nodes: int
    profile: str
    delay_ms: int
    topics: dict[str, int]
    plan: str | None
    rules: list[dict[str, Any]]
    members: list[dict[str, Any]]
    steps: list[tuple[float, str, int]]
    seconds: float

    def __str__(self) -> str:
        return f"{self.library} seed {self.seed}"


@dataclass
class Played:
    """The result of a history. `raised` has the errors that a library reported to its user and the steps that failed."""

    history: History
    journal: Path
    audit: Audit
    raised: list[str] = field(default_factory=list)

    def findings(self, known: bool) -> list[str]:
        """Return either the known findings or the others, one line each with the cited rows."""
        return [
            f"{self.history} {each.severity} {each.rule}: {each.sentence} (rows {', '.join(map(str, each.rows))} of {self.journal})"
            for each in self.audit.findings
            if self._is_known(each) == known
        ]

    def _is_known(self, finding: Finding) -> bool:
        return any(
            (library, rule) == (self.history.library, finding.rule) and says.search(finding.sentence) for library, rule, says in KNOWN
        )


def drawn(library: str, seed: int) -> History:
    dice = random.Random(f"{library} {seed}")
    seconds = dice.uniform(2, 4)
    session = dice.choice((600, 1000, 2000, 3000))
    topics = {f"orders-{number}": dice.randint(1, 6) for number in range(dice.choice((1, 1, 2)))}
    plan = dice.choice(PLANS) if dice.random() < 0.4 else None
    static = plan == "fenced-twin" or dice.random() < 0.2
    one_name = dice.random() < 0.15
    shared = {
        "assignors": dice.choice(ASSIGNORS[library]),
        "session_ms": session,
        "heartbeat_ms": max(50, session // dice.choice((4, 5, 10))),
        "commit_ms": dice.choice((None, 100, 300, 1000)),
        "metadata_ms": dice.choice((300, 1000, 300_000)),
        "listens": dice.random() < 0.7,
    }
    if library == "kafka-python":
        shared["poll_ms"] = dice.choice((100, 500))
    count = dice.randint(1, 4)
    members = [
        {**shared, "name": "cook" if one_name else f"cook-{number}", "instance": f"desk-{number}" if static else None}
        for number in range(count)
    ]
    steps: list[tuple[float, str, int]] = [(dice.choice((0.0, dice.uniform(0, seconds / 2))), "join", number) for number in range(count)]
    steps += [(dice.uniform(seconds / 2, seconds), "leave", number) for number in range(count) if dice.random() < 0.3]
    steps += [(dice.uniform(0.3, seconds), dice.choice(sorted(STEPS)), dice.randrange(count)) for _ in range(dice.randint(0, 4))]
    steps += [(at / 4 * seconds, "produce", 0) for at in range(4)]
    return History(
        library=library, seed=seed, nodes=dice.randint(1, 3), profile=dice.choice(PROFILES), delay_ms=dice.choice((0, 100, 300)),
        topics=topics, plan=plan, rules=[_rule(dice) for _ in range(dice.randint(0, 4))], members=members, steps=sorted(steps),
        seconds=seconds,
    )  # fmt: skip


def _rule(dice: random.Random) -> dict[str, Any]:
    """Draw one fault rule with the fields that its kind needs."""
    api = dice.choice(APIS)
    when: dict[str, Any] = dice.choice(({"nth": dice.randint(1, 6)}, {"every": dice.randint(2, 6)}, {"probability": 0.3}))
    rest: dict[str, Any] = {} if "nth" in when else {"times": dice.randint(1, 4)}
    do: dict[str, Any]
    match dice.choice((*["error"] * 6, *["delay"] * 3, *["close"] * 2, "reset", "drop", "swallow", "split", "truncate", *["steer"] * 6)):
        case "error":
            stage = "reply" if api in ("Metadata", "Fetch") else dice.choice(("request", "reply"))
            return {"when": {"api": api, **when}, "stage": stage, "do": {"kind": "error", "code": dice.choice(ERRORS[api])}, **rest}
        case "delay":
            do = {"kind": "delay", "seconds": round(dice.uniform(0.05, 1.2), 2)}
        case "split":
            do = {"kind": "split", "pieces": dice.randint(2, 5), "seconds": 0.05}
        case "truncate":
            do = {"kind": "truncate", "at": dice.randint(0, 40)}
        case "steer":
            api, do = dice.choice(OF_MEMBERS), dice.choice((
                {"kind": "expire_member"}, {"kind": "expire_member"}, {"kind": "force_rebalance"}, {"kind": "force_rebalance"},
                {"kind": "move_coordinator"}, {"kind": "move_coordinator", "loading_seconds": round(dice.uniform(0.1, 1), 2)},
                {"kind": "freeze_member", "seconds": round(dice.uniform(0.2, 1.5), 2)},
                {"kind": "stall_node", "seconds": round(dice.uniform(0.2, LONGEST_STALL_S), 2)},
            ))  # fmt: skip
        case kind:
            do = {"kind": kind}
    return {"when": {"api": api, **when}, "do": do, **rest}


# -- Playing


class Play:
    """A history that is being played. Setting `wake` ends it early."""

    def __init__(self, history: History, broker: Broker) -> None:
        self.history, self.broker = history, broker
        self.members: dict[int, Member] = {}
        self.gone: list[Member] = []
        self.raised: list[str] = []
        self.wake = threading.Event()

    def run(self) -> None:
        """Take every step at its planned second, or as soon as the previous step is done."""
        begin = time.monotonic()
        for at, verb, which in self.history.steps:
            self.wake.wait(max(0.0, begin + at - time.monotonic()))
            self._step(verb, which)
        self.wake.wait(max(0.0, begin + self.history.seconds - time.monotonic()))

    def _step(self, verb: str, which: int) -> None:
        try:
            if verb in STEPS:
                STEPS[verb](self, which)
            else:
                getattr(self, verb)(which)
        except (CannotSteer, AssertionError) as problem:  # A step fails if it has no member to act on or if a library does not start.
            self.raised.append(f"{verb}: {problem}".splitlines()[0])

    def join(self, which: int) -> None:
        """Start a member that has not started or has left."""
        if which in self.members:
            return
        library = self.history.library
        request = {"socket.timeout.ms" if library == "confluent-kafka" else "request_timeout_ms": REQUEST_MS}
        fields = {"bootstrap": self.broker.bootstrap, "group": GROUP, "topics": tuple(self.history.topics), "options": request}
        self.members[which] = Member(spec(library, **{**fields, **self.history.members[which]}), goes_on=True)

    def leave(self, which: int) -> None:
        """Close a member as its application would. Rules for running members no longer apply, because the way it leaves is judged."""
        member = self.members.pop(which, None)
        if member is not None:
            self.broker.client_says(member.spec.name, ASKED_TO_STOP)
            member.start_stopping()
            self.gone.append(member)

    def produce(self, _: int) -> None:
        for topic, partitions in self.history.topics.items():
            for number in range(partitions):
                self.broker.produce(topic, b"one", partition=number)

    def close(self) -> None:
        self.broker.clear_faults()
        for node in range(1, self.history.nodes + 1):
            with contextlib.suppress(CannotSteer):
                self.broker.start_node(node)
        for which in list(self.members):
            self.leave(which)
        for member in self.gone:
            member.stop()
            if member.failure is not None:
                self.raised.append(f"{type(member.failure).__name__}: {member.failure}".splitlines()[0])
            self.raised += dict.fromkeys(member.errors)


def _name(play: Play, which: int) -> str:
    return str(play.history.members[which]["instance"] or play.history.members[which]["name"])


STEPS: Final[dict[str, Callable[[Play, int], object]]] = {
    "expire": lambda play, which: play.broker.expire(GROUP, _name(play, which)),
    "fence": lambda play, which: play.broker.fence(GROUP, _name(play, which)),
    "freeze": lambda play, which: play.broker.freeze(GROUP, _name(play, which), LONGEST_STALL_S),
    "grow": lambda play, which: play.broker.grow_topic("orders-0", 7 + len(play.gone) + which),
    "move": lambda play, which: play.broker.move_coordinator(GROUP),
    "move slowly": lambda play, which: play.broker.move_coordinator(GROUP, loading=0.5),
    "rebalance": lambda play, which: play.broker.rebalance(GROUP),
    "stall": lambda play, which: play.broker.stall_node(1, LONGEST_STALL_S),
}
"""Operator commands by the name of the step."""


def played(history: History, folder: Path, lateness: Lateness) -> Played:
    """Play a history and audit its journal.

    Clients and broker are one process on a machine that may be busy. Therefore an answer counts as heard only after a while in which no
    thread had to wait.
    """
    begin = time.monotonic()
    journal = folder / f"{history.library}-{history.seed}.jsonl"
    journal.unlink(missing_ok=True)
    plan = None if history.plan is None else _hurried(read_plan(history.plan))
    with Broker(
        topics=history.topics, nodes=history.nodes, seed=history.seed, profile=history.profile, journal=str(journal), plan=plan,
        settings={"group.initial.rebalance.delay.ms": history.delay_ms, "group.min.session.timeout.ms": 100},
    ) as broker:  # fmt: skip
        for rule in history.rules:
            broker.add_fault(**rule)
        play = Play(history, broker)
        try:
            play.run()
        finally:
            play.close()
    late_ms = lateness.since(begin)
    codes = [code for code in registered() if code not in IN_TIME or late_ms < TOO_LATE_MS]
    with journal.open("rb") as file:
        audit = audit_journal(journal.name, file, codes=codes).audit
    return Played(history, journal, audit, play.raised)


def _hurried(plan: Plan) -> Plan:
    """Shorten the waits of a fault plan to the duration of a history."""
    return msgspec.structs.replace(plan, rule=[
        msgspec.structs.replace(rule, do=rule.do | {"seconds": LONGEST_STALL_S}) if rule.do.get("seconds", 0) > LONGEST_STALL_S else rule
        for rule in plan.rule
    ])  # fmt: skip


def play_all(histories: Iterable[History], folder: Path, at_once: int) -> Iterator[Played]:
    """Play histories in parallel and yield each result as soon as it is complete. Journals without findings are deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    with WakeLateness() as lateness, ThreadPoolExecutor(at_once) as pool:
        for done in pool.map(lambda each: played(each, folder, lateness), histories):
            if not done.audit.findings:
                done.journal.unlink()
            yield done


def table(audits: dict[str, Audit]) -> str:
    """Return a table that shows how often each rule was kept and broken per library."""
    lines = [f"{'rule':10} {'':7} " + " ".join(f"{library:>26}" for library in audits)]
    for code, rule in registered().items():
        cells = []
        for audit in audits.values():
            tally = audit.rules.get(code)
            verdict = NOT_EXERCISED if tally is None else tally.verdict
            figures = "" if tally is None or verdict == NOT_EXERCISED else f" {tally.kept} / {tally.broken}"
            cells.append(f"{verdict + figures:>26}")
        lines.append(f"{code:10} {rule.severity:7} " + " ".join(cells))
    return "\n".join(lines)
