"""aiokafka, kafka-python and confluent-kafka behind one small blocking interface: a member of a group, as tests need it.

Every member runs for itself (a poll loop in its thread, aiokafka's on one shared event loop), so that a test only starts members,
waits for what they hold and stops them. Nothing here changes how a library behaves: only documented options and calls are used,
but for aiokafka's generation, which has no public accessor.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeVar

from groupmock_clients.cooperative.aiokafka import stop_wholly

T = TypeVar("T")
Partition = tuple[str, int]
POLL_MS = 100
PATIENCE = 120.0


@dataclass(frozen=True)
class Wish:
    """What a member should be. Topics or a regular expression; assignors by Kafka's names; times in ms.

    `goes_on`: an error that librdkafka does not call fatal is kept and polling goes on, as its documentation asks of applications.
    `poll_ms` matters to kafka-python alone: 3.0.12 forgets for ever a join that a change of metadata started if a poll() ends while
    the JoinGroup is under way (need_rejoin() is false by then, and heartbeats are off), so tests that change metadata poll long.
    """

    bootstrap: str
    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assignors: tuple[str, ...] = ("range",)
    instance: str | None = None
    session_ms: int = 30_000
    heartbeat_ms: int = 100
    metadata_ms: int = 300_000
    poll_ms: int = 500
    request_ms: int | None = None
    auto_commit_ms: int | None = None
    goes_on: bool = False
    client_id: str = "member"

    def options(self, assignor: Callable[[str], Any]) -> dict[str, Any]:
        """The same for a consumer of aiokafka or kafka-python, which call these things alike; `assignor` by Kafka's name."""
        return {
            "bootstrap_servers": self.bootstrap,
            "group_id": self.group,
            "group_instance_id": self.instance,
            "client_id": self.client_id,
            "session_timeout_ms": self.session_ms,
            "heartbeat_interval_ms": self.heartbeat_ms,
            "metadata_max_age_ms": self.metadata_ms,
            "partition_assignment_strategy": [assignor(name) for name in self.assignors],
            "enable_auto_commit": self.auto_commit_ms is not None,
            "auto_commit_interval_ms": self.auto_commit_ms or 5000,
            "auto_offset_reset": "earliest",
            "retry_backoff_ms": 50,
        } | ({} if self.request_ms is None else {"request_timeout_ms": self.request_ms})

    def plain(self) -> dict[str, Any]:
        """The same as JSON values, for a member in another process."""
        return asdict(self)


class NotReached(AssertionError):
    """Something did not become true in time; the text has what was last seen."""


def until(what: str, done: Callable[[], bool], seen: Callable[[], object], patience: float = PATIENCE) -> None:
    """Block until `done()`; raises NotReached with `seen()` after `patience` seconds."""
    end = time.monotonic() + patience
    while not done():
        if time.monotonic() > end:
            raise NotReached(f"{what}: not within {patience:g} s; last seen: {seen()}")
        time.sleep(0.01)


class Member(ABC):
    """A consumer that is already running. Its views are safe from any thread; `check` raises what ended its poll loop."""

    library: ClassVar[str]

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self._values: list[bytes] = []
        self._rounds = 0
        self._failure: BaseException | None = None
        self.told: list[str] = []  # errors after which it went on

    def check(self) -> None:
        """Raise what the library raised to its user, if anything."""
        if self._failure is not None:
            raise AssertionError(f"{self.library} member {self.wish.client_id} failed: {self._failure!r}") from self._failure

    def failure(self) -> BaseException | None:
        """What the library raised to its user, without raising it."""
        return self._failure

    def values(self) -> list[bytes]:
        """Values of the records delivered so far, in order of delivery."""
        return list(self._values)

    def rounds(self) -> int:
        """How often an assignment arrived."""
        return self._rounds

    @abstractmethod
    def owned(self) -> set[Partition]:
        """The partitions held now; empty while the library is between two assignments."""

    @abstractmethod
    def generation(self) -> int:
        """The generation the library believes in; -1 outside a group."""

    @abstractmethod
    def commit(self) -> None:
        """Commit where this member is, and wait for the answer."""

    @abstractmethod
    def stop(self) -> None:
        """Close as an application does: a dynamic member leaves the group, a static one just goes away. Idempotent."""


class LoopThread:
    """One event loop for all aiokafka members of a test."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="aiokafka-members", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine there and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def close(self) -> None:
        """Stop the loop; nothing may be running on it any more."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()


class AioMember(Member):
    """aiokafka. One assignor only: with several it sends one JoinGroup per assignor and join."""

    library = "aiokafka"

    def __init__(self, wish: Wish, thread: LoopThread) -> None:
        super().__init__(wish)
        self._thread = thread
        self._owned: set[Partition] = set()
        self._stopped = False
        thread.run(self._start())

    async def _start(self) -> None:
        from aiokafka import AIOKafkaConsumer

        wish = self.wish
        self._consumer = AIOKafkaConsumer(**wish.options(_aiokafka_assignor))
        await self._consumer.start()
        self._consumer.subscribe(topics=wish.topics, pattern=wish.pattern, listener=_aiokafka_listener(self))
        self._task = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        from aiokafka.errors import KafkaError

        while True:
            try:
                batches = await self._consumer.getmany(timeout_ms=POLL_MS)
            except KafkaError as error:
                self._failure = error
                return
            for records in batches.values():
                self._values += [record.value for record in records]

    def assigned(self, partitions: set[Partition]) -> None:
        """What the listener was told."""
        self._owned = partitions
        self._rounds += 1

    def revoked(self) -> None:
        """aiokafka revokes everything before every join."""
        self._owned = set()

    def owned(self) -> set[Partition]:
        return self._owned

    def generation(self) -> int:
        return int(self._consumer._coordinator.generation)

    def commit(self) -> None:
        self._thread.run(self._consumer.commit())

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self._thread.run(self._stop())

    async def _stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await stop_wholly(self._consumer)


def _aiokafka_assignor(name: str) -> Any:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    if name == "sticky":  # a class of its own: the shipped one keeps what a member holds on the class, shared by all consumers
        return type("OneMemberSticky", (StickyPartitionAssignor,), {})
    return {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}[name]


def _aiokafka_listener(member: AioMember) -> Any:
    from aiokafka import ConsumerRebalanceListener

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
        def on_partitions_revoked(self, revoked: Any) -> None:
            member.revoked()

        def on_partitions_assigned(self, assigned: Any) -> None:
            member.assigned({(each.topic, each.partition) for each in assigned})

    return Listener()


class ThreadMember(Member):
    """What the two blocking libraries share: a thread that polls, and work handed to it."""

    def __init__(self, wish: Wish) -> None:
        super().__init__(wish)
        self._work: queue.SimpleQueue[tuple[Callable[[], object], Future[object]]] = queue.SimpleQueue()
        self._leaving = False
        self._thread = threading.Thread(target=self._run, name=f"{self.library}-{wish.client_id}", daemon=True)

    def _run(self) -> None:
        try:
            while not self._leaving:
                self._poll()
                self._do_work()
        except Exception as error:  # belongs to the test: check() raises it
            self._failure = error
        finally:
            self._close()

    def _do_work(self) -> None:
        while not self._work.empty():
            what, done = self._work.get()
            try:
                done.set_result(what())
            except Exception as error:  # belongs to the caller
                done.set_exception(error)

    def _on_thread(self, what: Callable[[], object]) -> None:
        done: Future[object] = Future()
        self._work.put((what, done))
        until(f"{self.library} to do what it was asked", lambda: done.done() or not self._thread.is_alive(), lambda: "still polling")
        self.check()
        done.result(0)

    def stop(self) -> None:
        self.start_stopping()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), f"{self.library} did not close within {PATIENCE:g} s"

    def start_stopping(self) -> None:
        """Ask the thread to close its consumer, without waiting for it."""
        self._leaving = True

    @abstractmethod
    def _poll(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...


class KpMember(ThreadMember):
    """kafka-python. With eager assignors its listener is told every assignment, with cooperative-sticky only what was added."""

    library = "kafka-python"

    def __init__(self, wish: Wish) -> None:
        super().__init__(wish)
        from kafka import KafkaConsumer

        self._consumer = KafkaConsumer(fetch_max_wait_ms=200, metrics_enabled=False, **wish.options(_kafka_python_assignor))
        self._owned: set[Partition] = set()
        self._consumer.subscribe(topics=wish.topics, pattern=wish.pattern, listener=_kafka_python_listener(self))
        self._thread.start()

    def _poll(self) -> None:
        # kafka-python 3.0 throws away a join that completes between two polls, hence long polls and no pause between them.
        for records in self._consumer.poll(timeout_ms=self.wish.poll_ms).values():
            self._values += [record.value for record in records]

    def assigned(self, partitions: set[Partition]) -> None:
        """An assignment arrived: all of it with eager assignors, what was added with cooperative-sticky."""
        self._owned = self._owned | partitions
        self._rounds += 1

    def revoked(self, partitions: set[Partition]) -> None:
        """All of it with eager assignors, what goes with cooperative-sticky."""
        self._owned = self._owned - partitions

    def owned(self) -> set[Partition]:
        return self._owned

    def generation(self) -> int:
        found = self._consumer.group_metadata()
        return int(found.generation_id) if found is not None else -1

    def commit(self) -> None:
        self._on_thread(self._consumer.commit)

    def start_stopping(self) -> None:
        super().start_stopping()
        if self.wish.poll_ms > 1000:
            self._consumer.close(autocommit=False)  # ends the poll that is under way

    def _close(self) -> None:
        self._consumer.close(autocommit=False)  # idempotent
        self._owned = set()


def _kafka_python_assignor(name: str) -> Any:
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    known = (CooperativeStickyAssignor, RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
    return {each.name: each for each in known}[name]


def _kafka_python_listener(member: KpMember) -> Any:
    from kafka import ConsumerRebalanceListener

    class Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python ships no types
        def on_partitions_revoked(self, revoked: Any) -> None:
            member.revoked({(each.topic, each.partition) for each in revoked})

        def on_partitions_assigned(self, assigned: Any) -> None:
            member.assigned({(each.topic, each.partition) for each in assigned})

    return Listener()


class ConfluentMember(ThreadMember):
    """confluent-kafka (librdkafka)."""

    library = "confluent-kafka"

    def __init__(self, wish: Wish) -> None:
        super().__init__(wish)
        from confluent_kafka import Consumer

        options: dict[str, Any] = {
            "bootstrap.servers": wish.bootstrap,
            "group.id": wish.group,
            "client.id": wish.client_id,
            "session.timeout.ms": wish.session_ms,
            "heartbeat.interval.ms": wish.heartbeat_ms,
            "topic.metadata.refresh.interval.ms": wish.metadata_ms,
            "partition.assignment.strategy": ",".join(wish.assignors),
            "enable.auto.commit": wish.auto_commit_ms is not None,
            "auto.commit.interval.ms": wish.auto_commit_ms or 5000,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 200,
            "log_level": 3,
        }
        if wish.instance is not None:
            options["group.instance.id"] = wish.instance
        if wish.request_ms is not None:
            options["socket.timeout.ms"] = wish.request_ms
        self._consumer = Consumer(options)
        self._owned: set[Partition] = set()
        self._generation = -1
        # librdkafka takes a topic that starts with ^ for a regular expression.
        self._consumer.subscribe(list(wish.topics) if wish.pattern is None else [wish.pattern], on_assign=self._assigned)
        self._thread.start()

    def _poll(self) -> None:
        from confluent_kafka import KafkaError, KafkaException

        message = self._consumer.poll(POLL_MS / 1000)
        if message is not None:
            error = message.error()
            if error is None:
                self._values.append(message.value() or b"")
            elif error.code() not in (KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART):
                if not self.wish.goes_on or error.fatal() or error.code() == KafkaError._FATAL:
                    raise KafkaException(error)
                self.told.append(f"{error.name()}: {error.str()}")
        self._owned = {(each.topic, each.partition) for each in self._consumer.assignment()}
        # "CGMDv2:", then the generation, big-endian. Asked on this thread only: confluent-kafka 2.16 blocks in this call while
        # another thread polls.
        metadata = bytes(self._consumer.consumer_group_metadata())
        assert metadata.startswith(b"CGMDv2:"), metadata
        self._generation = int.from_bytes(metadata[7:11], "big", signed=True)

    def _assigned(self, consumer: object, partitions: object) -> None:
        self._rounds += 1

    def owned(self) -> set[Partition]:
        return self._owned

    def generation(self) -> int:
        return self._generation

    def commit(self) -> None:
        self._on_thread(lambda: self._consumer.commit(asynchronous=False))

    def _close(self) -> None:
        self._consumer.close()
        self._owned, self._generation = set(), -1


LIBRARIES = (AioMember.library, KpMember.library, ConfluentMember.library)


def open_member(library: str, wish: Wish, thread: LoopThread) -> Member:
    """A running member of that library; `thread` is where aiokafka's live."""
    if library == AioMember.library:
        return AioMember(wish, thread)
    return {KpMember.library: KpMember, ConfluentMember.library: ConfluentMember}[library](wish)
