"""Plays a random history for some seconds of real time, with members in processes and a supervisor that restarts them.

Then all faults end, everybody catches up, and the committed output is compared with the input (`exactly_once`).
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from exactly_once import amounts, together
from tests.interop.judges import building, catalogue
from tests.interop.judges.member import Member
from transaction_histories import PORTIONS, History

from groupmock import Broker
from groupmock.audit.offline import audit_journal
from groupmock.core.steering.register import CannotSteer
from groupmock.journal.read import read
from groupmock.journal.rows import ReplyRow, RequestRow
from groupmock_codec.api_keys import OFFSET_FETCH

JAVA: Final = "4.3.0"
PATIENCE_S: Final = 120.0
"""Seconds in which all members must catch up after the faults have ended."""
STALL_S: Final = 30.0
"""A member without progress for this many seconds after the faults is restarted, as an operator would do. It is longer than any timeout
of these programs."""
CLEANUP_MS: Final = 500
"""Interval in ms at which the coordinator aborts transactions that are open too long; Kafka's default is 10 s."""
REQUEST_MS: Final = 2_500
READY_S: Final = 60.0
"""Seconds that the first transaction may take. The history begins after it, because a JVM needs some seconds."""
RESTART_S: Final = 0.3
"""Seconds until the supervisor notices that a process has ended."""
RULES: Final = ("CLIENT-45", "CLIENT-69", "CLIENT-70")
"""Audit rules to check: the offset at which reading begins, whose offsets are committed, and fenced producers."""
AGAIN_NS: Final = 1_000_000_000
"""A client that may retry a refused request does so within this time in ns."""
QUIET: Final[dict[str, Any]] = {"log_level": 0}
"""Client settings of the test itself, quiet because nodes stop and start."""


@dataclass
class Played:
    """The result of a history. `wrong` has the violations of `exactly_once` and the members that did not catch up; `raised` has the
    members' errors and `refused` the failed steps; `said` is client and version as the library reports them; `ends` counts members that
    ended by themselves; `stalls` counts stalls after the faults; `fired` counts faults by rule; `broke` has a sentence for each broken
    producer rule."""

    history: History
    wrong: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    said: str = ""
    refused: list[str] = field(default_factory=list)
    ends: int = 0
    stalls: int = 0
    fired: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    broke: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        verdict = "exact" if not self.wrong else f"NOT EXACT: {'; '.join(self.wrong[:6])}"
        figures = f"{sum(self.fired.values())} faults fired, {self.ends} ends, {self.stalls} stalls"
        return f"{self.history}: {verdict} ({self.seconds:.1f} s, {figures})"


class Play:
    """A history that is being played on a broker. A slot has the process of one member, and sometimes a twin that believes to be the
    same."""

    replicas = 1

    def __init__(self, history: History, bootstrap: str, folder: Path) -> None:
        self.history, self.bootstrap, self.folder = history, bootstrap, folder
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
        """Play the whole history and return its verdict."""
        self._make_topics()
        try:
            for which in range(self.history.members):
                self._start(which)
            self.produce(0)
            begin = time.monotonic()
            while not any(each.has_said("done") for each in self.everybody) and time.monotonic() < begin + READY_S:
                self._until(time.monotonic() + 0.05)
            begin = time.monotonic()
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
        for made in self.admin.create_topics([NewTopic(name, count, self.replicas) for name, count in wanted.items()]).values():
            made.result(30)

    def _until(self, end: float) -> None:
        """Act as the supervisor until a time: restart ended members and resume paused ones."""
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
        member = Member(self.command, wish, self.folder / f"{self.history.name}-{which}.log")
        self.slots[which].append(member)
        self.everybody.append(member)

    def _step(self, verb: str, which: int) -> None:
        if hasattr(self, verb):
            getattr(self, verb)(which)

    def produce(self, portion: int) -> None:
        """Write the next batch of records."""
        share = self.history.records // PORTIONS
        for number in range(portion * share, (portion + 1) * share):
            partition, value = number % self.history.source, f"order-{number}".encode()
            self.inputs[partition].append(value)
            self.writer.produce(self.source, value, partition=partition)
        self.writer.flush(0)

    def kill(self, which: int) -> None:
        """Send SIGKILL; the supervisor starts another process."""
        for each in self.slots[which]:
            each.kill()

    def pause(self, which: int) -> None:
        """Send SIGSTOP for longer than a session timeout, possibly longer than the transaction timeout."""
        for each in self.slots[which][:1]:
            if all(each is not member for _, member in self.paused):
                each.pause()
                self.paused.append((time.monotonic() + self.history.session_ms / 1000 + 0.5, each))

    def zombie(self, which: int) -> None:
        """Pause a member and start a duplicate process; afterwards both run."""
        self.pause(which)
        self._start(which)

    def twin(self, which: int) -> None:
        """Start another process with the same member identity."""
        self._start(which)

    def leave(self, which: int) -> None:
        """Close a member properly; the supervisor starts another one."""
        for each in self.slots[which]:
            each.ask("leave")

    # -- The end of a history

    def _mend(self) -> None:
        """Do nothing, because no fault affects this broker."""

    def _calm(self) -> None:
        """End all faults, keep one process per member, and let the members catch up."""
        self._mend()
        for _, member in self.paused:
            member.go_on()
        self.paused.clear()
        for slot in self.slots:
            for twin in slot[1:]:
                twin.kill()
        self.writer.flush(30)
        ends = {number: len(values) for number, values in self.inputs.items() if values}
        end, moved = time.monotonic() + PATIENCE_S, time.monotonic()
        before: dict[int, int] = {}
        while (offsets := self._committed()) != ends and time.monotonic() < end:
            if offsets != before:
                before, moved = offsets, time.monotonic()
            elif time.monotonic() - moved > STALL_S:
                moved, self.played.stalls = time.monotonic(), self.played.stalls + 1
                for which in range(self.history.members):
                    self.kill(which)
            self._until(time.monotonic() + 0.2)
        self.offsets = offsets
        if offsets != ends:
            self.played.wrong.append(f"not done after {PATIENCE_S:g} s: {offsets} of {ends} committed")
        for which in range(self.history.members):
            self.leave(which)
        self._quiet()

    def _quiet(self) -> None:
        """Wait until no transaction is open, because the transactions of dead members time out."""
        latest: Any = OffsetSpec.latest  # confluent-kafka has no type annotations for `latest`.
        wanted = {confluent_kafka.TopicPartition(self.sink, number): latest() for number in range(self.history.sink)}
        end = time.monotonic() + PATIENCE_S

        def ends(level: Any) -> list[int]:
            asked = self.admin.list_offsets(wanted, isolation_level=level)
            return [asked[each].result(30).offset for each in wanted]

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
        """Yield the values of the output topic for a read_committed consumer."""
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


class PlayHere(Play):
    """A history on its own groupmock cluster, including the operator's steps."""

    def __init__(self, history: History, folder: Path, broker: Broker) -> None:
        super().__init__(history, broker.bootstrap, folder)
        self.broker, self.replicas = broker, history.nodes

    def _step(self, verb: str, which: int) -> None:
        try:
            super()._step(verb, which)
        except CannotSteer as problem:  # The step fails if nothing exists that it could act on.
            self.played.refused.append(f"{verb}: {problem}")

    def _id(self, which: int) -> str:
        known = sorted(self.broker.transactions)
        if not known:
            raise CannotSteer("no transactional id yet")
        return known[which % len(known)]

    def abort(self, which: int) -> None:
        """Abort a transaction as its timeout would."""
        self.broker.abort_transaction(self._id(which))

    def fence(self, which: int) -> None:
        """Fence a producer as a newer producer would."""
        self.broker.fence_transaction(self._id(which))

    def hold_markers(self, which: int) -> None:
        """Hold back a transaction's markers for a second."""
        self.broker.hold_markers(self._id(which), 1.0)

    def move(self, _: int) -> None:
        self.broker.move_coordinator(self.group)

    def move_transaction(self, which: int) -> None:
        self.broker.move_transaction_coordinator(self._id(which), loading=0.3)

    def move_leaders(self, _: int) -> None:
        self.broker.move_leaders()

    def rebalance(self, _: int) -> None:
        self.broker.rebalance(self.group)

    def stop_node(self, which: int) -> None:
        """Stop a node until `start_nodes` runs."""
        self.broker.stop_node(1 + which % self.history.nodes)

    def start_nodes(self, _: int = 0) -> None:
        for node in range(1, self.history.nodes + 1):
            self.broker.start_node(node)

    def _mend(self) -> None:
        self.played.fired = {report.name: report.fired for report in self.broker.faults}
        self.broker.clear_faults()
        for name in self.broker.transactions:
            self.broker.release_markers(name)
        self.start_nodes()


def command_of(client: str) -> list[str]:
    if client == "java":
        return building.java(building.built(catalogue.java_program(JAVA)), "groupmock.interop.Transformer")
    return [sys.executable, str(building.HERE / "members" / "python" / "transformer.py"), client]


def _unheeded(journal: Path) -> str:
    """Return a sentence about an OffsetFetch that was refused and not repeated soon, or "" if there is none.

    The audit's rule is milder: a member that once had an answer may have asked out of curiosity. These programs ask in order to read on
    from there.
    """
    refused: dict[tuple[str | None, str], int] = {}
    asked: dict[int, tuple[str | None, str]] = {}
    for row in read(journal)[1]:
        if isinstance(row, RequestRow) and row.api_key == OFFSET_FETCH:
            mine = asked[row.ticket] = row.client_id, str(row.message.get("topics") or row.message.get("groups"))
            if mine in refused and row.t - refused[mine] < AGAIN_NS:
                del refused[mine]
        elif isinstance(row, ReplyRow) and row.api_key == OFFSET_FETCH and row.message.get("error_code") and row.ticket in asked:
            refused.setdefault(asked[row.ticket], row.t)
    return next((f"{client} was refused the committed offset of {topics} and did not ask again" for client, topics in refused), "")


def played(history: History, folder: Path, keep: bool = False) -> Played:
    """Play a history on a new groupmock cluster. The journal is kept if the run was not exact, if a member was stuck, or with `keep`."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / f"{history.name}.jsonl"
    journal.unlink(missing_ok=True)
    settings = {
        "group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 100,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": CLEANUP_MS,
        "groupmock.transaction.markers.delay.ms": history.markers_ms,
    }  # fmt: skip
    with Broker(nodes=history.nodes, seed=history.seed, journal=str(journal), plan=history.plan, settings=settings) as broker:
        for rule in history.rules:
            broker.add_fault(**rule)
        done = PlayHere(history, folder, broker).run()
    with journal.open("rb") as file:
        done.broke = {each.rule: each.sentence for each in audit_journal(journal.name, file, codes=RULES).audit.findings}
    unheeded = _unheeded(journal)
    if unheeded:
        done.broke.setdefault("CLIENT-69", unheeded)
    if not (done.wrong or done.stalls or keep):
        journal.unlink()
    return done


def played_on(bootstrap: str, history: History, folder: Path) -> Played:
    """Play a history on any broker, without the steps of a groupmock operator."""
    folder.mkdir(parents=True, exist_ok=True)
    return Play(history, bootstrap, folder).run()


def play_all(histories: Iterable[History], folder: Path, at_once: int, bootstrap: str | None = None) -> Iterator[Played]:
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda each: played(each, folder) if bootstrap is None else played_on(bootstrap, each, folder), histories)
