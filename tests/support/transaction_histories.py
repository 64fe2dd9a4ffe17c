"""Random histories of stock clients that consume, transform and produce exactly once: a seed draws who takes part, what breaks, who dies.

A history is some seconds of real time in front of a broker; members are processes (tests/interop/members), which a supervisor starts again
when they end. Then all faults end, everybody catches up, and what is read committed is held against what was put in (`exactly_once`).
Two runs of one seed have the same members, faults and steps, at times that the machine's load decides.
`python tests/support/transaction_histories.py --help` plays many.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

ROOT: Final = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from exactly_once import amounts, together

from groupmock import Broker
from groupmock.core.steering.register import CannotSteer
from groupmock.faults.facts import for_producers
from groupmock.faults.plan import read_plan, ready_plans
from tests.interop.judges import building, catalogue
from tests.interop.judges.member import Member

CLIENTS: Final = ("aiokafka", "confluent-kafka", "java")
JAVA: Final = "4.3.0"
PLANS: Final = [name for name in ready_plans() if for_producers(read_plan(name))]
PATIENCE_S: Final = 90.0
"""How long everybody may take to catch up once nothing is broken any more."""
CLEANUP_MS: Final = 500
"""How often the coordinator looks for transactions that are open too long; Kafka's default is 10 s."""
REQUEST_MS: Final = 2_500
RESTART_S: Final = 0.3
"""How long a supervisor takes to notice that a process ended."""
IDS: Final = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
APIS: Final = (*IDS, *IDS, "Produce", "FindCoordinator", "Heartbeat", "JoinGroup", "SyncGroup", "OffsetFetch", "Fetch")
ERRORS: Final = {
    "InitProducerId": (14, 15, 16, 51),
    "AddPartitionsToTxn": (14, 15, 16, 51),
    "AddOffsetsToTxn": (14, 15, 16, 51),
    "TxnOffsetCommit": (14, 15, 16),
    "EndTxn": (14, 15, 16, 51),
    "Produce": (6, 7, 19),
    "FindCoordinator": (15,),
    "Heartbeat": (14, 15, 16, 25, 27),
    "JoinGroup": (14, 15, 16),
    "SyncGroup": (14, 15, 16, 27),
    "OffsetFetch": (14, 16, 88),
    "Fetch": (6,),
}
"""What a broker may answer there, nothing of the request done."""
MEMBERS: Final = {"client_id": "till-*"}
"""Whom faults strike: not who writes the orders and reads what came of them."""
QUIET: Final = {"log_level": 0}
"""Of the clients of the rig, whose nodes come and go."""


@dataclass(frozen=True)
class History:
    """What a seed drew. `steps`: (second, verb, which) in order of time; those of an operator are for groupmock alone."""

    client: str
    seed: int
    nodes: int
    source: int
    sink: int
    members: int
    records: int
    session_ms: int
    timeout_ms: int
    markers_ms: int
    plan: str | None
    rules: list[dict[str, Any]]
    steps: list[tuple[float, str, int]]
    seconds: float

    def __str__(self) -> str:
        return f"{self.client} seed {self.seed}"


@dataclass
class Played:
    """`wrong`: the sentences of `exactly_once`, and who did not catch up; `raised`: what members said; `ends`: how often one ended by
    itself; `journal`: of groupmock."""

    history: History
    wrong: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    said: str = ""
    ends: int = 0
    fired: int = 0
    seconds: float = 0.0
    journal: Path | None = None

    def __str__(self) -> str:
        verdict = "exact" if not self.wrong else f"NOT EXACT: {'; '.join(self.wrong[:6])}"
        return f"{self.history}: {verdict} ({self.seconds:.1f} s, {self.fired} faults fired, {self.ends} ends)"


def drawn(client: str, seed: int) -> History:
    """What this seed says of this client."""
    dice = random.Random(f"transactions {client} {seed}")
    seconds, members = dice.uniform(4, 6), dice.choice((2, 2, 3))
    verbs = [*PEOPLE, *PEOPLE, *OPERATOR]
    steps = [(dice.uniform(1, seconds), dice.choice(verbs), dice.randrange(members)) for _ in range(dice.randint(1, 5))]
    portions = [(at / 4 * seconds * 0.8, "produce", at) for at in range(4)]
    return History(
        client=client, seed=seed, nodes=dice.randint(1, 3), source=dice.randint(1, 4), sink=dice.randint(1, 3), members=members,
        records=dice.choice((24, 40, 80)), session_ms=dice.choice((1_500, 3_000)), timeout_ms=dice.choice((3_000, 6_000)),
        markers_ms=dice.choice((0, 0, 20, 150)), plan=dice.choice(PLANS) if dice.random() < 0.4 else None,
        rules=[_rule(dice) for _ in range(dice.randint(0, 4))], steps=sorted([*steps, *portions]), seconds=seconds,
    )  # fmt: skip


def _rule(dice: random.Random) -> dict[str, Any]:
    """One fault rule; a chance of what each kind needs."""
    api = dice.choice(APIS)
    when: dict[str, Any] = dice.choice(({"nth": dice.randint(1, 8)}, {"every": dice.randint(2, 6)}, {"probability": 0.3}))
    rest: dict[str, Any] = {} if "nth" in when else {"times": dice.randint(1, 4)}
    do: dict[str, Any]
    match dice.choice((*["error"] * 5, *["delay"] * 2, *["close"] * 3, "reset", "drop", "swallow", *["steer"] * 6)):
        case "error":
            return {"when": {"api": api, **MEMBERS, **when}, "stage": "request", "do": {"kind": "error", "code": dice.choice(ERRORS[api])}, **rest}
        case "delay":
            do = {"kind": "delay", "seconds": round(dice.uniform(0.05, 1.5), 2)}
        case "close":
            return {"when": {"api": api, **MEMBERS, **when}, "stage": dice.choice(("request", "reply")), "do": {"kind": "close"}, **rest}
        case "steer":
            api, do = dice.choice(IDS), dice.choice((
                {"kind": "fence_transaction"}, {"kind": "abort_transaction"}, {"kind": "abort_transaction"},
                {"kind": "hold_markers", "seconds": round(dice.uniform(0.1, 2), 2)},
                {"kind": "move_transaction_coordinator", "loading_seconds": dice.choice((0, 0.5))},
                {"kind": "stall_node", "seconds": round(dice.uniform(0.2, 1.5), 2)},
            ))  # fmt: skip
        case kind:
            do = {"kind": kind}
    return {"when": {"api": api, **MEMBERS, **when}, "do": do, **rest}


# -- what people do to processes: on any broker


class Cluster(Protocol):
    """Where a history is played."""

    bootstrap: str


class Play:
    """One history under way. A slot has the process of one member, and now and then a twin that believes to be the same."""

    def __init__(self, history: History, bootstrap: str, folder: Path, broker: Broker | None) -> None:
        self.history, self.bootstrap, self.folder, self.broker = history, bootstrap, folder, broker
        tag = uuid.uuid4().hex[:6]
        self.source, self.sink, self.group = f"source-{tag}", f"sink-{tag}", f"tills-{tag}"
        self.played = Played(history)
        self.inputs: dict[int, list[bytes]] = {number: [] for number in range(history.source)}
        self.slots: list[list[Member]] = [[] for _ in range(history.members)]
        self.away: dict[int, float] = {}
        self.paused: list[tuple[float, Member]] = []
        self.everybody: list[Member] = []
        self.admin = AdminClient(QUIET | {"bootstrap.servers": bootstrap})
        self.writer = confluent_kafka.Producer(QUIET | {"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self.command = command_of(history.client)

    def run(self) -> Played:
        """All of it, with its verdict."""
        begin = time.monotonic()
        self._make_topics()
        try:
            for which in range(self.history.members):
                self._start(which)
            for at, verb, which in self.history.steps:
                self._until(begin + at)
                self._step(verb, which)
            self._until(begin + self.history.seconds)
            self._calm()
            self._judge()
        finally:
            for each in self.everybody:
                each.kill()
        self.played.seconds = time.monotonic() - begin
        return self.played

    def _make_topics(self) -> None:
        wanted = {self.source: self.history.source, self.sink: self.history.sink}
        for made in self.admin.create_topics([NewTopic(name, count, 1) for name, count in wanted.items()]).values():
            made.result(30)

    def _until(self, end: float) -> None:
        """Wait, as a supervisor does: who ended is started again, who was paused goes on in time."""
        while time.monotonic() < end:
            self._tend()
            time.sleep(0.05)

    def _tend(self) -> None:
        now = time.monotonic()
        for until, member in [each for each in self.paused if each[0] <= now]:
            self.paused.remove((until, member))
            member.go_on()
        for which, slot in enumerate(self.slots):
            for each in [each for each in slot if not each.alive]:
                slot.remove(each)
                self.played.ends += each.ended_by_itself
                self.away.setdefault(which, now + RESTART_S)
            if not slot and self.away.setdefault(which, now) <= now:
                del self.away[which]
                self._start(which)

    def _start(self, which: int) -> None:
        wish = {
            "bootstrap": self.bootstrap, "group": self.group, "source": self.source, "sink": self.sink, "name": f"till-{which}",
            "transactional_id": f"{self.group}-{which}", "session_ms": self.history.session_ms,
            "heartbeat_ms": self.history.session_ms // 5, "timeout_ms": self.history.timeout_ms, "request_ms": REQUEST_MS,
        }  # fmt: skip
        member = Member(self.command, wish, self.folder / f"{self.history.client}-{self.history.seed}-{which}.log")
        self.slots[which].append(member)
        self.everybody.append(member)

    def _step(self, verb: str, which: int) -> None:
        if verb in OPERATOR and self.broker is None:
            return
        try:
            (PEOPLE | OPERATOR | {"produce": Play.produce})[verb](self, which)
        except CannotSteer as problem:  # nothing is there that could be steered
            self.played.raised.append(f"{verb}: {problem}")

    def produce(self, portion: int) -> None:
        """The next quarter of the records."""
        share = self.history.records // 4
        for number in range(portion * share, (portion + 1) * share):
            partition, value = number % self.history.source, f"order-{number}".encode()
            self.inputs[partition].append(value)
            self.writer.produce(self.source, value, partition=partition)
        self.writer.flush(0)

    def kill(self, which: int) -> None:
        """SIGKILL: the supervisor starts another one."""
        for each in self.slots[which]:
            each.kill()

    def pause(self, which: int) -> None:
        """SIGSTOP for longer than a session, and perhaps than a transaction may take."""
        for each in self.slots[which][:1]:
            if all(each is not member for _, member in self.paused):
                each.pause()
                self.paused.append((time.monotonic() + self.history.session_ms / 1000 + 0.5, each))

    def zombie(self, which: int) -> None:
        """It is paused, and a twin is started in its place; then both live."""
        self.pause(which)
        self._start(which)

    def twin(self, which: int) -> None:
        """Another process that believes to be the same member."""
        self._start(which)

    def leave(self, which: int) -> None:
        """Closed in good order; the supervisor starts another one."""
        for each in self.slots[which]:
            each.ask("leave")

    # -- and then

    def _calm(self) -> None:
        """Nothing is broken any more, one process in each slot: they catch up."""
        if self.broker is not None:
            self.played.fired = sum(report.fired for report in self.broker.faults)
            self.broker.clear_faults()
            for name in self.broker.transactions:
                self.broker.release_markers(name)
            for node in range(1, self.history.nodes + 1):
                self.broker.start_node(node)
        for _, member in self.paused:
            member.go_on()
        self.paused.clear()
        for slot in self.slots:
            for twin in slot[1:]:
                twin.kill()
        self.writer.flush(30)
        ends = {number: len(values) for number, values in self.inputs.items() if values}
        end = time.monotonic() + PATIENCE_S
        while (offsets := self._committed()) != ends and time.monotonic() < end:
            self._until(time.monotonic() + 0.2)
        self.offsets = offsets
        if offsets != ends:
            self.played.wrong.append(f"not done after {PATIENCE_S:g} s: {offsets} of {ends} committed")
        for which in range(self.history.members):
            self.leave(which)
        self._quiet()

    def _quiet(self) -> None:
        """No transaction is open any more: those of the dead have timed out."""
        partitions = [confluent_kafka.TopicPartition(self.sink, number) for number in range(self.history.sink)]
        end = time.monotonic() + PATIENCE_S

        def ends(level: Any) -> list[int]:
            asked = self.admin.list_offsets({each: OffsetSpec.latest() for each in partitions}, isolation_level=level)
            return [asked[each].result(30).offset for each in partitions]

        levels = confluent_kafka.IsolationLevel
        while ends(levels.READ_COMMITTED) != ends(levels.READ_UNCOMMITTED):
            if time.monotonic() > end:
                self.played.wrong.append("a transaction stays open")
                return
            time.sleep(0.1)

    def _committed(self) -> dict[int, int]:
        asking = confluent_kafka.Consumer(QUIET | {"bootstrap.servers": self.bootstrap, "group.id": self.group})
        try:
            wanted = [confluent_kafka.TopicPartition(self.source, number) for number in range(self.history.source)]
            return {each.partition: each.offset for each in asking.committed(wanted, 10) if each.offset >= 0}
        except confluent_kafka.KafkaException:
            return {}
        finally:
            asking.close()

    def _judge(self) -> None:
        seen = list(self._read())
        everything = [value for values in self.inputs.values() for value in values]
        self.played.wrong += amounts(seen, everything) + together(self.inputs, self.offsets, seen)
        for each in self.everybody:
            self.played.said = each.client_said or self.played.said
            self.played.raised += each.complaints()

    def _read(self) -> Iterator[bytes]:
        """What a reader of committed records gets of the sink."""
        reader = confluent_kafka.Consumer(QUIET | {
            "bootstrap.servers": self.bootstrap, "group.id": f"reader-{self.sink}", "isolation.level": "read_committed",
            "enable.partition.eof": True, "enable.auto.commit": False,
        })  # fmt: skip
        reader.assign([confluent_kafka.TopicPartition(self.sink, number, 0) for number in range(self.history.sink)])
        left = self.history.sink
        try:
            while left and (message := reader.poll(30)) is not None:
                problem = message.error()
                if problem is None:
                    yield message.value() or b""
                elif problem.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    left -= 1
        finally:
            reader.close()
        if left:
            self.played.wrong.append(f"{left} partitions of the sink were not read to their end")


def command_of(client: str) -> list[str]:
    """The command line of a member."""
    if client == "java":
        return building.java(building.built(catalogue.java_program(JAVA)), "groupmock.interop.Transformer")
    return [sys.executable, str(building.HERE / "members" / "python" / "transformer.py"), client]


PEOPLE: Final[dict[str, Callable[[Play, int], None]]] = {
    "kill": Play.kill, "pause": Play.pause, "zombie": Play.zombie, "twin": Play.twin, "leave": Play.leave,
}  # fmt: skip
"""What happens to processes, wherever the broker is."""


def _broker(play: Play) -> Broker:
    assert play.broker is not None
    return play.broker


def _id(play: Play, which: int) -> str:
    known = sorted(_broker(play).transactions)
    if not known:
        raise CannotSteer("no transactional id yet")
    return known[which % len(known)]


def _stop(play: Play, which: int) -> None:
    _broker(play).stop_node(1 + which % play.history.nodes)


def _start(play: Play, _: int) -> None:
    for node in range(1, play.history.nodes + 1):
        _broker(play).start_node(node)


OPERATOR: Final[dict[str, Callable[[Play, int], None]]] = {
    "abort": lambda play, which: _broker(play).abort_transaction(_id(play, which)),
    "fence": lambda play, which: _broker(play).fence_transaction(_id(play, which)),
    "hold markers": lambda play, which: play_hold(play, which),
    "move": lambda play, which: _broker(play).move_coordinator(play.group),
    "move transaction": lambda play, which: _broker(play).move_transaction_coordinator(_id(play, which), loading=0.3),
    "move leaders": lambda play, which: _broker(play).move_leaders(),
    "rebalance": lambda play, which: _broker(play).rebalance(play.group),
    "start": _start,
    "stop": _stop,
}
"""What an operator of groupmock does."""


def play_hold(play: Play, which: int) -> None:
    """Its markers wait for a second."""
    _broker(play).hold_markers(_id(play, which), 1.0)


def played(history: History, folder: Path) -> Played:
    """Play it on a groupmock of its own; the journal of one that is not exact stays in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / f"transactions-{history.client}-{history.seed}.jsonl"
    journal.unlink(missing_ok=True)
    settings = {
        "group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 100,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": CLEANUP_MS,
        "groupmock.transaction.markers.delay.ms": history.markers_ms,
    }  # fmt: skip
    with Broker(nodes=history.nodes, seed=history.seed, journal=str(journal), plan=history.plan, settings=settings) as broker:
        for rule in history.rules:
            broker.add_fault(**rule)
        done = Play(history, broker.bootstrap, folder, broker).run()
    done.journal = journal
    if not done.wrong:
        journal.unlink()
    return done


def played_on(bootstrap: str, history: History, folder: Path) -> Played:
    """Play it on any broker: what an operator of groupmock does is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    return Play(history, bootstrap, folder, None).run()


def play_all(histories: Iterable[History], folder: Path, at_once: int, bootstrap: str | None = None) -> Iterator[Played]:
    """As they end."""
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda each: played(each, folder) if bootstrap is None else played_on(bootstrap, each, folder), histories)


def main() -> int:
    """Play many; exit code 1 if one was not exact."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"of {', '.join(CLIENTS)}; all unless said")
    parser.add_argument("--first", type=int, default=1, metavar="SEED", help="(default: %(default)s)")
    parser.add_argument("--count", type=int, default=50, metavar="N", help="histories per client (default: %(default)s)")
    parser.add_argument("--at-once", type=int, default=3, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path("build/transactions"), help="logs, and journals of what is not exact")
    parser.add_argument("--against", metavar="HOST:PORT", help="play on that broker, without what only groupmock can")
    parser.add_argument("--told", action="store_true", help="print what members said")
    asked = parser.parse_args()
    wrong = 0
    for client in asked.clients or CLIENTS:
        histories = (drawn(client, seed) for seed in range(asked.first, asked.first + asked.count))
        for done in play_all(histories, asked.folder, asked.at_once, asked.against):
            print(done, flush=True)
            wrong += bool(done.wrong)
            for line in dict.fromkeys(done.raised if asked.told or done.wrong else ()):
                print(f"    {line}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
