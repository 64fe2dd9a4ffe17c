"""Runs stock consumers for tests: the member program of the live scenarios (groupmock_clients.scenarios.live.members) on a thread.

Every member runs by itself: a test only starts members, waits for their partitions and stops them. Nothing here changes the behaviour of a
library: only documented options and calls are used, except for aiokafka's generation, which has no public accessor.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from waiting import PATIENCE, until

from groupmock_clients.scenarios.live.member_spec import LIBRARIES, MemberSpec
from groupmock_clients.scenarios.live.members.channel import Channel
from groupmock_clients.scenarios.live.members.forkserver import PROGRAMS

Partition = tuple[str, int]
LONG_MS = 1000
"""A kafka-python member with a longer poll interval (ms) is interrupted at its end, so that no test waits for the poll."""
__all__ = ["LIBRARIES", "Member", "MemberSpec", "Partition", "heard", "pairs", "spec"]


def spec(library: str, name: str, bootstrap: str, group: str, topics: tuple[str, ...] = (), **changes: Any) -> MemberSpec:
    """Return the settings of a member that does not commit or refresh metadata by itself and retries soon."""
    if library == "confluent-kafka":
        options: dict[str, Any] = {"log_level": 3}
    else:
        options = {"retry_backoff_ms": 50}
    fields = {"session_ms": 30_000, "heartbeat_ms": 100, "metadata_ms": 300_000, "commit_ms": None, "commit_revoked": False, **changes}
    if library != "kafka-python":
        fields["poll_ms"] = 100  # With a short poll the member takes less time to close.
    fields["options"] = options | changes.get("options", {})
    return MemberSpec(library=library, name=name, bootstrap=bootstrap, group=group, topics=topics, **fields)


def pairs(partitions: Iterable[Any]) -> frozenset[Partition]:
    """Convert a library's TopicPartitions to pairs."""
    return frozenset((each.topic, each.partition) for each in partitions)


def heard(member: Member) -> frozenset[Partition]:
    """Return the member's partitions according to its rebalance listener. Callbacks come after the library's own view has changed."""
    held: frozenset[Partition] = frozenset()
    for what, partitions in list(member.told):
        held = held | partitions if what == "assigned" else held - partitions
    return held


class Member(Channel):
    """A stock consumer that runs on its own thread. Its views are safe from any thread; `check` raises the error that ended it.

    `consumer` is the library's object, and `assignor` ours where it has one; `told` has its listener's events in order; `errors` are those
    after which it went on, which needs `goes_on`; `failure` is the exception that the library raised to its user.
    """

    def __init__(self, spec: MemberSpec, goes_on: bool = False) -> None:
        self.spec, self.library, self.listens = spec, spec.library, spec.listens
        self.consumer: Any = None
        self.assignor: Any = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.told: list[tuple[str, frozenset[Partition]]] = []
        self._records: list[tuple[Partition, int, bytes | None]] = []
        self.errors: list[str] = []
        self.failure: BaseException | None = None
        self._goes_on = goes_on
        self._seen: tuple[frozenset[Partition], int] = frozenset(), -1  # Contains assignment and generation of a confluent-kafka member.
        self._work: queue.SimpleQueue[tuple[Callable[[Any], Any], Future[Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"{self.library}-{spec.name}", daemon=True)
        self._thread.start()
        until(f"{self.library} to start", lambda: self.consumer is not None or not self._thread.is_alive(), lambda: "no consumer")
        if self.consumer is None:
            self.check()

    # -- questions of a test

    def check(self) -> None:
        if self.failure is not None:
            raise AssertionError(f"{self.library} member {self.spec.name} failed: {self.failure!r}") from self.failure

    @property
    def delivered(self) -> list[tuple[Partition, int]]:
        return [(partition, offset) for partition, offset, _ in list(self._records)]

    def values(self) -> list[bytes]:
        return [value or b"" for _, _, value in list(self._records)]

    def rounds(self) -> int:
        """Return the number of assignments that the member received."""
        return sum(what == "assigned" for what, _ in list(self.told))

    def owned(self) -> frozenset[Partition]:
        """Return the partitions that the member owns now. With an eager assignor there are none while the library is between two
        assignments."""
        if self.library == "confluent-kafka":
            return self._seen[0]
        return heard(self) if self.assignor is None else pairs(self.assignor.owned)

    def generation(self) -> int:
        """Return the generation that the library reports, or -1 outside a group."""
        if self.library == "confluent-kafka":
            return self._seen[1]
        if self.library == "aiokafka":
            return int(self.consumer._coordinator.generation)
        found = self.consumer.group_metadata()
        return int(found.generation_id) if found is not None else -1

    # -- actions of a test

    def call(self, work: Callable[[Any], Any]) -> Any:
        """Run `work(consumer)` on the member's thread between two polls, or on the event loop of an aiokafka member, which awaits a
        coroutine."""
        if self.loop is not None:
            return asyncio.run_coroutine_threadsafe(_awaited(work, self.consumer), self.loop).result(PATIENCE)
        done: Future[Any] = Future()
        self._work.put((work, done))
        until(f"{self.library} to do what it was asked", lambda: done.done() or not self._thread.is_alive(), lambda: self.failure)
        self.check()
        return done.result(0)

    def call_aside(self, work: Callable[[Any], Any]) -> Any:
        """Run `work(consumer)` while the member continues to poll, if the library allows calls from another thread."""
        return work(self.consumer) if self.loop is None else self.call(work)

    def commit(self) -> None:
        self.call(lambda consumer: consumer.commit(asynchronous=False) if self.library == "confluent-kafka" else consumer.commit())

    def start_stopping(self) -> None:
        """Ask the member to close without waiting for the end."""
        self.ended = True
        if self.library == "kafka-python" and self.spec.poll_ms > LONG_MS:
            self.consumer.close(autocommit=False)  # Closing the consumer from here interrupts the current poll.

    def stop(self) -> None:
        """Close as an application does: a dynamic member leaves the group, and a static member disappears without LeaveGroup.
        Idempotent."""
        self.start_stopping()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), f"{self.library} did not close within {PATIENCE:g} s"
        self._seen = frozenset(), -1

    # The member program calls the following methods on its own thread.

    def opened(self, library: str, consumer: Any, assignor: Any) -> None:
        self.assignor = assignor
        self.loop = asyncio.get_running_loop() if self.library == "aiokafka" else None
        self.consumer = consumer

    def callback(self, event: str, partitions: Iterable[Any]) -> None:
        self.told.append((event, pairs(partitions)))

    def polled(self, consumer: Any) -> None:
        if self.library == "confluent-kafka":
            # The metadata is "CGMDv2:" and the big-endian generation. Only this thread may ask, because confluent-kafka 2.16 blocks in this
            # call while another thread polls.
            metadata = bytes(consumer.consumer_group_metadata())
            assert metadata.startswith(b"CGMDv2:"), metadata
            self._seen = pairs(consumer.assignment()), int.from_bytes(metadata[7:11], "big", signed=True)
        while not self._work.empty():
            work, done = self._work.get()
            try:
                done.set_result(work(consumer))
            except Exception as error:  # The exception is raised in the thread of the caller.
                done.set_exception(error)

    def consumed(self, topic: str, partition: int, records: Sequence[tuple[int, bytes | None]]) -> None:
        self._records += [((topic, partition), offset, value) for offset, value in records]

    def error(self, error: Exception) -> None:
        (inside,) = error.args
        if not self._goes_on or inside.fatal() or inside.code() == inside._FATAL:
            raise error
        self.errors.append(f"{inside.name()}: {inside.str()}")

    def _run(self) -> None:
        program = importlib.import_module(f"groupmock_clients.scenarios.live.members.{PROGRAMS[self.library]}")
        try:
            program.run(self.spec, self)
        except Exception as error:  # `check` raises the exception in the thread of the test.
            self.failure = error


async def _awaited(work: Callable[[Any], Any], consumer: Any) -> Any:
    answer = work(consumer)
    return await answer if inspect.isawaitable(answer) else answer
