"""Kafka Streams on the live stage: one instance per member, by the streams protocol (KIP-1071) and by the classic protocol.

The application is the one of the virtual stage: it counts the records of the topic in one subtopology with a changelog, and each task has
one standby task. A process that comes back under its name still has its state directory.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from groupmock import Broker
from groupmock.rounds import GroupFold, name_of
from groupmock_codec.group_states import STABLE

from ..play import GROUP, STREAMS, Protocol, Sizes, Speaks, Unsupported
from .jars import streams_classes
from .java import JavaProcess, JavaStage, written
from .process import Hear

LEAVING_S: Final = 60.0
THREAD: Final = "-StreamThread-1-consumer"
"""The end of the client id that Kafka Streams gives to the consumer of its one thread."""
TASK: Final = "task 0"
"""The place of a task in the journal's fold, whose number is the partition."""


class Instance(JavaProcess):
    """A process with one instance of the application. `hear(member, event, facts)` is called for each of its events, on a thread of its
    own."""

    def __init__(self, member: str, settings: dict[str, str], topics: Sequence[str], folder: Path, classes: Path, hear: Hear) -> None:
        file = written(folder / f"{member}.properties", settings)
        words = ["CountingInstance", str(file), *topics]
        super().__init__(member, folder / f"{member}.log", f"{classes}:{classes}/*", words, subprocess.PIPE)
        self._hear = hear
        self._listening = threading.Thread(target=self._listen, name=f"hear-{member}", daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                facts: dict[str, Any] = json.loads(line)
            except ValueError:
                continue  # SIGKILL may have ended the process in the middle of a line.
            self._hear(self.member, str(facts.pop("event")), facts)

    def subscribe(self, topics: Sequence[str]) -> None:
        """Raises Unsupported, because a topology in use cannot change."""
        raise Unsupported("an instance of Kafka Streams does not subscribe")

    def leave(self) -> None:
        """Close the instance, as the default of close() is: a member of a streams group leaves it, and one of a classic group does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._over(LEAVING_S)

    def _let_go(self) -> None:
        self._listening.join()
        super()._let_go()


class StreamsStage(JavaStage):
    """The live stage of instances of Kafka Streams. Raises Unsupported without Java and Maven."""

    def __init__(self, sizes: Sizes, protocol: Protocol, broker: Broker, journal: Path, folder: Path) -> None:
        super().__init__(sizes, protocol, broker, journal, folder, streams_classes())

    def leader(self) -> str:
        return super().leader().removesuffix(THREAD)

    def _process(self, member: str, speaks: Speaks, topics: Sequence[str]) -> Instance:
        return Instance(member, self._settings(member), topics, self._folder, self._libraries, self._heard)

    def _settings(self, member: str) -> dict[str, str]:
        sizes = self.sizes
        common = {
            "application.id": GROUP, "client.id": member, "bootstrap.servers": self.broker.bootstrap, "num.stream.threads": "1",
            "state.dir": str(self._folder / member), "commit.interval.ms": str(sizes.commit_ms), "auto.offset.reset": "earliest",
            "replication.factor": "1", "metadata.max.age.ms": str(max(1000, sizes.metadata_ms)),
        }  # fmt: skip
        if self.protocol.name == STREAMS:
            return {**common, "group.protocol": "streams"}
        times = {"session.timeout.ms": str(sizes.session_ms), "heartbeat.interval.ms": str(sizes.heartbeat_ms)}
        return {**common, **times, "num.standby.replicas": "1"}

    def _stable(self, members: frozenset[str]) -> bool:
        seen = self._journal.group
        return seen.state == STABLE and sorted(seen.processes.of(each).removesuffix(THREAD) for each in seen.members) == sorted(members)

    def _holder(self, called: str) -> frozenset[tuple[str, int]]:
        return self._holds.get(called.removesuffix(THREAD), frozenset())

    def _everything_owned(self) -> bool:
        seen = self._journal.group
        if seen.generation is None:
            return self._everything_given(seen)
        last = self._newest()
        return (
            last.settled
            and self._wanted() <= last.holders().keys()
            and all(self._holder(name_of(member)) == told.assigned for member, told in last.told.items())
        )

    def _everything_given(self, seen: GroupFold) -> bool:
        given = {member: frozenset(number for _, number in tasks) for member, tasks in seen.given.items()}
        wanted = {number for _, number in self._wanted()}
        return wanted == frozenset().union(*given.values()) and all(
            frozenset(number for _, number in self._holder(seen.processes.of(member))) == tasks for member, tasks in given.items()
        )


__all__ = ["Instance", "StreamsStage"]
