"""The checks of a Kafka Streams application: two instances that count words, a repartition topic, a compacted changelog."""

from __future__ import annotations

import collections
import itertools
import secrets
from pathlib import Path
from typing import Any

from .cell import Row
from .desk import Desk
from .member import Member
from .telling import PATIENCE, Mismatch, same, wait
from .wire import Described

PARTITIONS = 4
WORDS = ("red", "green", "blue", "white", "black")
SESSION_MS = 6000
STATIC_SESSION_MS = int(PATIENCE * 1000)  # a Java virtual machine must be back before
HEARTBEAT_MS = 500
TRANSACTION_MS = 5000  # what a killed instance had open is in the way for so long
SLOW_MS = int(PATIENCE * 0.15)  # so that a process can be killed amid its work
AMID = 200  # rounds of that work
SECONDS = 2 * PATIENCE  # two Java virtual machines on a busy machine
TASKS = {f"{sub}_{partition}" for sub in (0, 1) for partition in range(PARTITIONS)}


class StreamsRow(Row):
    """The application on one broker. `guarantee`: its processing.guarantee."""

    PROTOCOL = "classic"

    def __init__(self, name: str, command: list[str], desk: Desk, folder: Path, guarantee: str) -> None:
        super().__init__(name, desk, folder)
        self._command, self._guarantee = command, guarantee
        self._exactly_once = guarantee == "exactly_once_v2"
        self.app = f"matrix-streams-{secrets.token_hex(4)}"
        self.topic = f"{self.app}-words"
        self._count = itertools.count(1)
        self._members: list[Member] = []
        self._wanted: collections.Counter[str] = collections.Counter()
        self._first: Member
        self._second: Member

    def run(self, short: bool) -> None:
        """Every check; `short` leaves out the crash and what comes after it."""
        try:
            self.desk.create_topic(self.topic, PARTITIONS)
            self.desk.create_topic(f"{self.topic}-counts", PARTITIONS)
            self._prepare()
            self.check("joins", self._joins)
            self.check("consumes", self._consumes, after="joins")
            self.check("commits", self._commits, after="consumes")
            if self._exactly_once:
                self.check("back", self._back, after="commits")
            last = "commits"
            if not short:
                self.check("crash", self._crash, after="back" if self._exactly_once else "commits")
                last = self._grows("crash")
            self.check("resumes", self._resumes, after=last)
            if not short:
                self._ends()
        finally:
            for each in self._members:
                self.client = self.client or each.client_said
                each.kill()

    def _prepare(self) -> None:
        """Set what the group needs before its first member."""

    def _grows(self, after: str) -> str:
        """Check what more than two instances do, and return the name of the last check."""
        return after

    def _ends(self) -> None:
        self.check("static", self._static)

    def _instance(self, app: str | None = None, instance: str | None = None, of: Member | None = None) -> Member:
        """A new one; or that one, killed, in its folder again."""
        name = f"instance-{next(self._count)}" if of is None else of.name
        wish: dict[str, object] = {
            "bootstrap": self.desk.bootstrap, "group": app or self.app, "topic": self.topic, "name": name,
            "folder": str(self.folder / name), "instance": instance, "heartbeat_ms": HEARTBEAT_MS,
            "session_ms": SESSION_MS if instance is None else STATIC_SESSION_MS,
            "guarantee": self._guarantee, "transaction_ms": TRANSACTION_MS, "slow_ms": SLOW_MS if self._exactly_once else 0,
            "protocol": self.PROTOCOL,
        }
        fresh = Member(self._command, wish, self.folder / f"{name}.log")
        self._members.append(fresh)
        return fresh

    @staticmethod
    def _tasks(member: Member) -> set[str]:
        return set(member.last("tasks", "tasks", []))

    def _described(self) -> Described:
        return self.desk.describe(self.app)

    def _running(self, what: str, *members: Member) -> None:
        """All are RUNNING and hold every task once."""
        def held() -> list[str]:
            return sorted(task for each in members for task in self._tasks(each))
        wait(what, lambda: held() == sorted(TASKS) and all(self._tasks(each) for each in members)
             and all(each.last("state", "state", "") == "RUNNING" for each in members),
             lambda: [held(), *(each.trouble() for each in members)], SECONDS)

    def _joins(self) -> dict[str, Any]:
        self._first = self._instance()
        self._running("every task with the first instance", self._first)
        self._second = self._instance()
        self._running("the tasks shared by two", self._first, self._second)
        described = self._described()
        shared = sorted(len(self._tasks(each)) for each in (self._first, self._second))
        made = {topic.removeprefix(self.app): self.desk.config(topic, "cleanup.policy")
                for topic in self.desk.topics() if topic.startswith(self.app) and "-words" not in topic}
        same("internal topics", {"-counts-changelog": "compact", "-by-word-repartition": "delete"}, made)
        return {"group": [described.state, described.protocol, len(described.members)], "tasks": shared, "internal topics": made}

    def _produce(self, rounds: int) -> None:
        values: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
        for index in range(rounds):
            for partition, word in itertools.product(range(PARTITIONS), WORDS):
                values[partition].append(f"{word} {index}")
                self._wanted[word] += 1
        self.desk.produce(self.topic, values)

    def _counts(self) -> dict[str, int]:
        """The latest count of each word, as the output topic tells it."""
        found: dict[str, int] = {}
        for word, count in self.desk.read(f"{self.topic}-counts"):
            found[word] = int(count)
        return found

    def _counted(self) -> dict[str, Any]:
        wait("the counts", lambda: self._counts() == dict(self._wanted),
             lambda: [dict(self._wanted), self._counts(), *(each.trouble() for each in self._members[-2:])], SECONDS)
        if self._exactly_once:
            self._once()
        return {"counts": dict(self._wanted)}

    def _once(self) -> None:
        """Who reads committed sees every word counted from one on, no number twice and none left out."""
        told: dict[str, list[int]] = collections.defaultdict(list)
        for word, count in self.desk.read(f"{self.topic}-counts"):
            told[word].append(int(count))
        same("counts as they came", {word: list(range(1, count + 1)) for word, count in self._wanted.items()}, dict(told))

    def _consumes(self) -> dict[str, Any]:
        self._produce(10)
        return self._counted()

    def _commits(self) -> dict[str, Any]:
        ends = self.desk.ends(self.topic)
        wait("commits up to the end", lambda: self.desk.committed(self.app, self.topic) == ends,
             lambda: [ends, self.desk.committed(self.app, self.topic)])
        middle = f"{self.app}-by-word-repartition"
        wait("commits of the repartition topic", lambda: {key: value for key, value in self.desk.ends(middle).items() if value}
             == {key: value for key, value in self.desk.committed(self.app, middle).items() if value},
             lambda: [self.desk.ends(middle), self.desk.committed(self.app, middle)])
        wait("what was read of the repartition topic to be deleted", lambda: self.desk.starts(middle) == self.desk.ends(middle),
             lambda: [self.desk.starts(middle), self.desk.ends(middle)], SECONDS)
        return {"committed": "log end", "repartition topic": "purged"}

    def _back(self) -> dict[str, Any]:
        """SIGKILL amid its work: what it had read and not committed is read again, and what it had written is seen by nobody."""
        before = sum(self._wanted.values())
        self._produce(AMID)
        wait("some of the work", lambda: sum(self._counts().values()) > before + AMID,
             lambda: [before, self._counts(), self._second.trouble()], SECONDS)
        self._second.kill()
        amid = sum(self._counts().values())
        if amid >= sum(self._wanted.values()):
            raise Mismatch(f"the work was over when the instance was killed: {amid} counted")
        self._second = self._instance(of=self._second)
        self._running("the tasks shared by two again", self._first, self._second)
        return self._counted()

    def _crash(self) -> dict[str, Any]:
        self._second.kill()
        self._running("every task with the survivor", self._first)
        self._produce(5)
        return self._counted() | {"members": len(self._described().members)}

    def _resumes(self) -> dict[str, Any]:
        self._commits()
        for each in (self._first, self._second):
            if each.alive:
                each.leave()
        wait("Empty", lambda: self._described().state == "Empty", self._described)
        self._produce(5)
        self._running("every task with the new instance", self._instance())
        return self._counted()

    def _static(self) -> dict[str, Any]:
        """Another application over the same words: an instance is killed and back, and its group notices nothing."""
        for each in self._members:
            each.kill()
        app = f"{self.app}-static"
        one, two = self._instance(app, "one"), self._instance(app, "two")
        self._running("the tasks shared by two static instances", one, two)
        before, had, told = self.desk.generation(app), self._tasks(two), len(one.events("tasks"))
        two.kill()
        back = self._instance(app, "two")
        wait("the same tasks again", lambda: self._tasks(back) == had and back.last("state", "state", "") == "RUNNING",
             lambda: [had, self._tasks(back), back.trouble()], SECONDS)
        same("generation", before, self.desk.generation(app))
        same("changes that the other instance saw", 0, len(one.events("tasks")) - told)
        return {"generations": 0, "tasks": "the same", "the other": "undisturbed"}
