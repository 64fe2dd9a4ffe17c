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
        self.app = self.topic = ""
        self._count = itertools.count(1)
        self._members: list[Member] = []
        self._wanted: collections.Counter[str] = collections.Counter()
        self._doubled: collections.Counter[str] = collections.Counter()  # by a crash, which at least once allows
        self._first: Member
        self._second: Member

    def run(self, short: bool) -> None:
        """Every check; `short` leaves out the crash and what comes after it."""
        try:
            self._open(f"matrix-streams-{secrets.token_hex(4)}")
            self.check("joins", self._joins)
            self.check("consumes", self._consumes, after="joins")
            self.check("commits", self._commits, after="consumes")
            last = "commits"
            if self._slow:
                self.check("back", self._back, after=last)
                last = "back"
            if not short:
                self.check("crash", self._crash, after=last)
                last = self._grows("crash")
            self.check("resumes", self._resumes, after=last)
            if not short:
                self._ends()
        finally:
            for each in self._members:
                self.client = self.client or each.client_said
                each.kill()

    @property
    def _slow(self) -> bool:
        """Whether records take time, so that an instance can be killed amid its work."""
        return self._exactly_once

    def _open(self, app: str) -> None:
        """Go on with another application, over topics of its own."""
        self.app, self.topic = app, f"{app}-words"
        self._wanted.clear()
        self._doubled.clear()
        self.desk.create_topic(self.topic, PARTITIONS)
        self.desk.create_topic(f"{self.topic}-counts", PARTITIONS)
        self._prepare()

    def _prepare(self) -> None:
        """Set what the group needs before its first member."""

    def _grows(self, after: str) -> str:
        """Check what more than two instances do, and return the name of the last check."""
        return after

    def _ends(self) -> None:
        self.check("static", self._static)

    def _instance(self, app: str | None = None, instance: object = None, of: Member | None = None) -> Member:
        """A new one; or that one, killed, in its folder again."""
        if of is None:
            name = f"instance-{next(self._count)}"
            self._prepare_folder(name)
        else:
            name, instance = of.name, of.wish["instance"]
        wish: dict[str, object] = {
            "bootstrap": self.desk.bootstrap, "group": app or self.app, "topic": self.topic, "name": name,
            "folder": str(self.folder / name), "instance": instance, "heartbeat_ms": HEARTBEAT_MS,
            "session_ms": SESSION_MS if instance is None else STATIC_SESSION_MS,
            "guarantee": self._guarantee, "transaction_ms": TRANSACTION_MS, "slow_ms": SLOW_MS if self._slow else 0,
            "protocol": self.PROTOCOL,
        }
        fresh = Member(self._command, wish, self.folder / f"{name}.log")
        self._members.append(fresh)
        return fresh

    def _prepare_folder(self, name: str) -> None:
        """Prepare the folder of a new instance."""

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
        """Nothing is lost, and nothing doubled but what was doubled before."""
        wanted = dict(self._wanted + self._doubled)
        same("words that were produced", sorted(WORDS), sorted(wanted))
        wait("the counts", lambda: self._counts() == wanted,
             lambda: [wanted, self._counts(), *(each.trouble() for each in self._members[-2:])], SECONDS)
        if self._exactly_once:
            self._once()
        return {"counts": dict(self._wanted)}

    def _recovered(self) -> dict[str, Any]:
        """After a crash amid work: exactly once all is counted once, at least once all is counted, and then nothing more is doubled."""
        if not self._exactly_once:
            self._all_committed()
            counts = self._counts()
            if short := {word: [counts.get(word, 0), count] for word, count in self._wanted.items() if counts.get(word, 0) < count}:
                raise Mismatch(f"lost after a crash, [counted, produced]: {short}")
            self._doubled = collections.Counter(counts) - self._wanted
        return self._counted()

    def _once(self) -> None:
        """Who reads committed sees every word counted from one on, no number twice and none left out."""
        told: dict[str, list[int]] = collections.defaultdict(list)
        for word, count in self.desk.read(f"{self.topic}-counts"):
            told[word].append(int(count))
        same("counts as they came", {word: list(range(1, count + 1)) for word, count in self._wanted.items()}, dict(told))

    def _consumes(self) -> dict[str, Any]:
        self._produce(10)
        return self._counted()

    def _all_committed(self) -> str:
        """Wait until the offsets are at the ends of the source and of the repartition topic, whose name is returned."""
        ends = self.desk.ends(self.topic)
        wait("commits up to the end", lambda: self.desk.committed(self.app, self.topic) == ends,
             lambda: [ends, self.desk.committed(self.app, self.topic)], SECONDS)
        middle = f"{self.app}-by-word-repartition"

        def written() -> dict[int, int]:
            return {key: value for key, value in self.desk.ends(middle).items() if value}

        wait("commits of the repartition topic", lambda: bool(written()) and written()
             == {key: value for key, value in self.desk.committed(self.app, middle).items() if value},
             lambda: [self.desk.ends(middle), self.desk.committed(self.app, middle)], SECONDS)
        return middle

    def _commits(self) -> dict[str, Any]:
        middle = self._all_committed()
        wait("what was read of the repartition topic to be deleted", lambda: self.desk.starts(middle) == self.desk.ends(middle),
             lambda: [self.desk.starts(middle), self.desk.ends(middle)], SECONDS)
        return {"committed": "log end", "repartition topic": "purged"}

    def _back(self) -> dict[str, Any]:
        """SIGKILL amid its work: what it had read and not committed is read again, and what it had written is seen by nobody."""
        self._kill_amid_work(self._second)
        self._second = self._instance(of=self._second)
        self._running("the tasks shared by two again", self._first, self._second)
        return self._recovered()

    def _kill_amid_work(self, member: Member) -> None:
        before = sum((self._wanted + self._doubled).values())
        self._produce(AMID)
        wait("some of the work", lambda: sum(self._counts().values()) > before + AMID,
             lambda: [before, self._counts(), member.trouble()], SECONDS)
        member.kill()
        amid = sum(self._counts().values())
        if amid >= sum((self._wanted + self._doubled).values()):
            raise Mismatch(f"the work was over when the instance was killed: {amid} counted")

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
