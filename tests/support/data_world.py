"""Wraps a cluster's core in the interface that `groupmock.data` expects of a running server, without sockets or journal and on a virtual
clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from log_world import LogWorld

from groupmock.core.events import Command
from groupmock.data.lines import lines_of
from groupmock.data.reading import Reading
from groupmock.data.target import Target
from groupmock.data.writing import Reader, Written, write
from groupmock_codec.records import Record


class DataWorld(LogWorld):
    @property
    def running(self) -> Target:
        double = SimpleNamespace(
            cluster=self.cluster,
            config=SimpleNamespace(settings=self.environment.settings),
            clock=SimpleNamespace(now=lambda: self.rig.now),
            submit=self.submit,
        )
        return cast(Target, double)

    def submit(self, command: Command) -> None:
        self.command(command.name, **command.arguments)

    def write(self, topic: str, lines: Any, partition: int | None = None, **forms: Any) -> list[Written]:
        """Write lines, given as text or Python data, as the HTTP routes do."""
        found = self.topics.require(topic)
        reader = Reader(self.running, topic, len(found.partitions), **forms)
        for _ in reader.read(lines_of(lines), partition):
            pass
        return write(self.running, found, reader.lines)

    def read(self, topic: str, most_records: int = 10**9, most_bytes: int = 10**9, starts: dict[int, int] | None = None) -> Reading:
        """Read from the start or from the given offsets."""
        found = self.topics.require(topic)
        return Reading(found, starts or dict.fromkeys(range(len(found.partitions)), 0), most_records, most_bytes).all()

    def records(self, topic: str) -> list[tuple[int, Record]]:
        return [(found.partition, found.record) for found in self.read(topic).records]
