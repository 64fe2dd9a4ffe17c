"""A cluster's core in the shape that `groupmock.data` expects of a running one: no sockets, no journal, a virtual clock."""

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
    """A LogWorld with the parts of Running that seed data and records need."""

    @property
    def running(self) -> Target:
        """The world in the type that the tested code takes."""
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
        """Write lines, as text or Python data, as the routes do."""
        found = self.topics.require(topic)
        reader = Reader(self.running, topic, len(found.partitions), **forms)
        for _ in reader.read(lines_of(lines), partition):
            pass
        return write(self.running, found, reader.lines)

    def read(self, topic: str, most_records: int = 10**9, most_bytes: int = 10**9, starts: dict[int, int] | None = None) -> Reading:
        """Read from the start, or from these offsets."""
        found = self.topics.require(topic)
        return Reading(found, starts or dict.fromkeys(range(len(found.partitions)), 0), most_records, most_bytes).all()

    def records(self, topic: str) -> list[tuple[int, Record]]:
        """Return all records of a topic with their partitions."""
        return [(found.partition, found.record) for found in self.read(topic).records]
