"""The checks of Kafka Connect: three distributed workers, a sink of six tasks and a source; a worker that comes back, one that does not."""

from __future__ import annotations

import collections
import functools
import json
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from . import wire
from .cell import Row
from .desk import Desk
from .telling import PATIENCE, Mismatch, same, wait

PARTITIONS = 6
SESSION_SECONDS = 6
DELAY_SECONDS = int(PATIENCE)  # a Java virtual machine must be back before, on a busy machine too
SECONDS = 3 * PATIENCE
Tasks = dict[str, str]  # "sink-3" -> the worker that runs it


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Worker:
    """One process of ConnectDistributed; its name, which Connect shows as worker_id, is its REST address."""

    def __init__(self, command: list[str], port: int, settings: dict[str, str], folder: Path) -> None:
        self.id = f"127.0.0.1:{port}"
        properties = settings | {"listeners": f"http://{self.id}", "rest.advertised.host.name": "127.0.0.1"}
        file = folder / f"worker-{port}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self.log = folder / f"worker-{port}.log"
        self._command = [*command, str(file)]
        self._process: subprocess.Popen[bytes]
        self.start()

    def start(self) -> None:
        """Run it, anew after `kill` or `stop`."""
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM: the worker stops its tasks, which commit, and leaves the group."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Mismatch(f"worker {self.id} did not stop: {self.tail()}") from None

    def tail(self) -> str:
        """The end of what it logged."""
        return self.log.read_text(errors="replace")[-700:]

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One REST call; None while the worker does not answer it."""
        request = urllib.request.Request(f"http://{self.id}{path}", method=method, headers={"Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                text = answer.read()
        except (urllib.error.HTTPError, OSError):
            return None
        return json.loads(text) if text else {}


class ConnectRow(Row):
    """A Connect cluster on one broker."""

    def __init__(self, name: str, command: list[str], desk: Desk, folder: Path) -> None:
        super().__init__(name, desk, folder)
        self.group = f"matrix-connect-{secrets.token_hex(4)}"
        self.topic, self.copied = f"{self.group}-in", f"{self.group}-out"
        self._sunk, self._source = folder / "sunk.txt", folder / "source.txt"
        self._wanted: list[str] = []
        self._lines: list[str] = []
        self._workers: list[Worker] = []
        self._launch = command

    def run(self, short: bool) -> None:
        """Every check; `short` leaves out the worker that does not come back."""
        try:
            self.desk.create_topic(self.topic, PARTITIONS)
            self.desk.create_topic(self.copied, 1)
            self._source.write_text("")
            self.check("joins", self._joins)
            self.check("consumes", self._consumes, after="joins")
            self.check("commits", self._commits, after="consumes")
            self.check("back", self._back, after="commits")
            if not short:
                self.check("crash", self._crash, after="back")
            self.check("resumes", self._resumes, after="back" if short else "crash")
            self.without("static")
        finally:
            for each in self._workers:
                each.kill()

    def _settings(self) -> dict[str, str]:
        string = "org.apache.kafka.connect.storage.StringConverter"
        return {
            "bootstrap.servers": self.desk.bootstrap, "group.id": self.group, "key.converter": string, "value.converter": string,
            "config.storage.topic": f"{self.group}-configs", "offset.storage.topic": f"{self.group}-offsets",
            "status.storage.topic": f"{self.group}-status", "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1", "offset.storage.partitions": "3",
            "status.storage.partitions": "2", "plugin.discovery": "service_load", "offset.flush.interval.ms": "500",
            "session.timeout.ms": str(SESSION_SECONDS * 1000), "heartbeat.interval.ms": "500",
            "scheduled.rebalance.max.delay.ms": str(DELAY_SECONDS * 1000), "consumer.metadata.max.age.ms": "2000",
            "consumer.auto.offset.reset": "earliest", "consumer.session.timeout.ms": "6000", "consumer.heartbeat.interval.ms": "500",
        }

    def _tails(self) -> list[str]:
        return [each.tail() for each in self._workers]

    def _tasks(self) -> Tasks:
        """Who runs which task, as the first worker tells it; only those that run."""
        found: Tasks = {}
        for name in ("sink", "source"):
            status = self._workers[0].ask("GET", f"/connectors/{name}/status") or {"tasks": []}
            found |= {f"{name}-{each['id']}": each["worker_id"] for each in status["tasks"] if each["state"] == "RUNNING"}
        return found

    def _spread(self) -> list[int]:
        """How many tasks each running worker has, fewest first."""
        counted = collections.Counter(self._tasks().values())
        return sorted(counted[each.id] for each in self._workers)

    def _created(self, name: str, config: dict[str, str]) -> None:
        wait(f"connector {name} to be made", lambda: self._workers[0].ask("PUT", f"/connectors/{name}/config", config) is not None,
             self._tails, SECONDS)

    def _joins(self) -> dict[str, Any]:
        self._workers = [Worker(self._launch, port, self._settings(), self.folder) for port in free_ports(3)]
        wait("three workers", lambda: all(each.ask("GET", "/connectors") is not None for each in self._workers), self._tails, SECONDS)
        wait("a group of three", lambda: self._described() == ["Stable", "sessioned", 3],
             lambda: [self._described(), *self._tails()], SECONDS)
        self.client = f"Kafka Connect {self._workers[0].ask('GET', '/')['version']}"
        self._created("sink", {"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max": str(PARTITIONS),
                               "topics": self.topic, "file": str(self._sunk)})
        self._created("source", {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1",
                                 "topic": self.copied, "file": str(self._source)})
        wait("seven tasks on three workers", lambda: self._spread() == [2, 2, 3], lambda: [self._tasks(), *self._tails()], SECONDS)
        policies = {each: self.desk.config(f"{self.group}-{each}", "cleanup.policy") for each in ("configs", "offsets", "status")}
        same("policies of its topics", dict.fromkeys(policies, "compact"), policies)
        return {"group": self._described(), "tasks": self._spread(), "its topics": "compacted"}

    def _described(self) -> list[object]:
        found = self.desk.describe(self.group)
        return [found.state, found.protocol, len(found.members)]

    def _produce(self, prefix: str) -> None:
        """Ten records to each partition for the sink, ten lines for the source."""
        values = {partition: [f"{prefix}-{partition}-{index}" for index in range(10)] for partition in range(PARTITIONS)}
        self.desk.produce(self.topic, values)
        self._wanted += [value for those in values.values() for value in those]
        fresh = [f"{prefix}-line-{index}" for index in range(10)]
        self._lines += fresh
        with self._source.open("a") as out:
            out.write("".join(f"{line}\n" for line in fresh))

    def _sunk_now(self) -> list[str]:
        return sorted(self._sunk.read_text().splitlines()) if self._sunk.exists() else []

    def _arrived(self) -> dict[str, Any]:
        """Every record came to the file once, every line to the topic once and in order."""
        wait("the sink's file", lambda: set(self._sunk_now()) >= set(self._wanted),
             lambda: [len(self._wanted), len(self._sunk_now()), self._tasks(), *self._tails()], SECONDS)
        same("the sink's file", sorted(self._wanted), self._sunk_now())
        wait("the source's topic", lambda: len(self._copies()) >= len(self._lines), lambda: [len(self._copies()), *self._tails()], SECONDS)
        same("the source's topic", self._lines, self._copies())
        return {"to the file": len(self._wanted), "from the file": len(self._lines), "again": 0}

    def _copies(self) -> list[str]:
        return [value for _, value in self.desk.read(self.copied)]

    def _consumes(self) -> dict[str, Any]:
        self._produce("a")
        return self._arrived()

    def _commits(self) -> dict[str, Any]:
        ends = self.desk.ends(self.topic)
        wait("the sink's commits", lambda: self.desk.committed("connect-sink", self.topic) == ends,
             lambda: [ends, self.desk.committed("connect-sink", self.topic)], SECONDS)
        wait("the source's offset", lambda: self._position() == self._source.stat().st_size,
             lambda: [self._position(), self._source.stat().st_size], SECONDS)
        return {"committed": "log end", "position in the file": "its end"}

    def _position(self) -> int:
        """Where the source is in its file, by the latest record of the offsets topic."""
        found = self.desk.read(f"{self.group}-offsets")
        return int(json.loads(found[-1][1])["position"]) if found else -1

    def _sinking(self) -> int:
        """How many of the sink's tasks run, by the members of their group: the status topic still names those of a dead worker."""
        return len(self.desk.describe("connect-sink").members)

    def _follower(self) -> Worker:
        """A worker that does not lead. The delay is the leader's memory: IncrementalCooperativeAssignor drops the previous assignment
        when its own last generation is not the group's, so whoever leads after a leader's death hands out what it held at once."""
        wait("a stable group", lambda: self._described()[0] == "Stable", self._described, SECONDS)
        leader = wire.connect_leader(self.desk.describe(self.group).assignments[0])
        same("workers that lead", 1, sum(each.id in leader for each in self._workers))
        return next(each for each in reversed(self._workers) if each.id not in leader)

    def _back(self) -> dict[str, Any]:
        """A worker that is back within scheduled.rebalance.max.delay.ms has its tasks again, when that is over, and nobody else's moved."""
        before, last, generation = self._tasks(), self._follower(), self.desk.generation(self.group)
        lost = sum(name.startswith("sink") for name, worker in before.items() if worker == last.id)
        moved: list[Tasks] = []

        def running(count: int) -> bool:
            if (now := self._tasks()) != before and not moved:
                moved.append(now)
            return self._sinking() == count

        last.kill()
        last.start()
        for count in (PARTITIONS - lost, PARTITIONS):
            wait(f"{count} tasks of the sink", functools.partial(running, count),
                 lambda: [self._sinking(), self._described(), last.tail()], SECONDS)
        same("who ran what, all the time", [], moved)
        same("members", 3, self._described()[2])
        same("a rebalance", True, self.desk.generation(self.group) > generation)
        self._produce("b")
        return self._arrived() | self._commits() | {"tasks moved": 0}

    def _crash(self) -> dict[str, Any]:
        """A worker that stays away keeps its tasks for the delay, then loses them to the others."""
        before, gone = self._tasks(), self._follower()
        self._workers.remove(gone)
        gone.kill()
        began = time.monotonic()
        wait("two members", lambda: self._described()[2] == 2, self._described, SECONDS)
        moved: list[tuple[float, Tasks]] = []

        def reassigned() -> bool:
            now = self._tasks()
            if not moved and now != before:
                moved.append((time.monotonic() - began, now))
            return len(now) == len(before) and gone.id not in now.values()

        wait("its tasks with the others", reassigned, lambda: [before, self._tasks(), *self._tails()], SECONDS)
        if moved[0][0] < DELAY_SECONDS:
            raise Mismatch(f"moved {moved[0][0]:.1f} s after the crash, the delay is {DELAY_SECONDS} s: {before} became {moved[0][1]}")
        self._produce("c")
        return self._arrived() | {"tasks": self._spread(), "moved": "after the delay"}

    def _resumes(self) -> dict[str, Any]:
        """All workers stop; the new ones know connectors, offsets and positions from the compacted topics and the group."""
        for each in self._workers:
            each.stop()
        wait("Empty", lambda: self._described()[0] == "Empty", self._described, SECONDS)
        self._produce("d")
        for each in self._workers:
            each.start()
        wait("every task runs again", lambda: len(self._tasks()) == PARTITIONS + 1, lambda: [self._tasks(), *self._tails()], SECONDS)
        return self._arrived()
