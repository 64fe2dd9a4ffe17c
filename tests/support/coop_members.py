"""Stock aiokafka and kafka-python consumers with the cooperative assignors, running, behind one small blocking interface."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

from raw_member import until

from groupmock_clients.cooperative.aiokafka import stop_wholly

PATIENCE = 120.0
Partition = tuple[str, int]


class Told:
    """A listener that writes down what it is told. `commit`: commit what was revoked."""

    def __init__(self, member: Any, commit: bool) -> None:
        self._member, self._commit = member, commit

    def on_partitions_revoked(self, revoked: Any) -> Any:
        self._member.told.append(("revoked", pairs(revoked)))
        if self._commit:
            return self._member.assignor.commit(self._member.assignor.positions(revoked))
        return None

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._member.told.append(("assigned", pairs(assigned)))

    def on_partitions_lost(self, lost: Any) -> None:
        self._member.told.append(("lost", pairs(lost)))


def pairs(partitions: Any) -> frozenset[Partition]:
    return frozenset((each.topic, each.partition) for each in partitions)


def heard(member: Any) -> frozenset[Partition]:
    """What the member holds by what its listener was told: callbacks come after the library's own view has changed."""
    held: frozenset[Partition] = frozenset()
    for what, partitions in list(member.told):
        held = held | partitions if what == "assigned" else held - partitions
    return held


class Foreign:
    """In place of our assignor: the library's own range, with the parts of ours that the members below use."""

    def attach(self, consumer: Any) -> None: ...

    def listener(self, user: Any) -> Any:
        return user


def _foreign_aiokafka() -> Any:
    from aiokafka import ConsumerRebalanceListener
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor

    def listener(self: Any, user: Any) -> Any:
        return type("Listener", (Told, ConsumerRebalanceListener), {})(user._member, False)

    return type("ForeignRange", (Foreign, RangePartitionAssignor), {"listener": listener})()


def _foreign_kafka_python() -> Any:
    from kafka.coordinator.assignors.range import RangePartitionAssignor

    return type("ForeignRange", (Foreign, RangePartitionAssignor), {})()


FOREIGN = {"aiokafka": _foreign_aiokafka, "kafka-python": _foreign_kafka_python}


class Loop:
    """An event loop on a thread, for aiokafka."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()


class AioCoop:
    """aiokafka."""

    library = "aiokafka"

    def __init__(
        self, bootstrap: str, group: str, name: str, topics: tuple[str, ...], settings: dict[str, Any] | None, **options: Any
    ) -> None:
        self.told: list[tuple[str, frozenset[Partition]]] = []
        self.delivered: list[tuple[Partition, int]] = []
        self.failure: BaseException | None = None
        self._thread = Loop()
        commit = options.pop("commit_revoked", False)
        options.pop("poll_ms", None)  # kafka-python's affair
        self.listens = options.pop("listens", True)
        self._thread.run(self._start(bootstrap, group, name, topics, settings, commit, options))

    async def _start(
        self, bootstrap: str, group: str, name: str, topics: Any, settings: Any, commit: bool, options: dict[str, Any]
    ) -> None:
        from aiokafka import AIOKafkaConsumer

        from groupmock_clients.cooperative.aiokafka import CooperativeAssignor, RangeOrCooperative

        kind = RangeOrCooperative if options.pop("dual", False) else CooperativeAssignor
        self.assignor: Any = FOREIGN["aiokafka"]() if settings is None else kind(**settings)
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id=group, client_id=name, partition_assignment_strategy=[self.assignor],
            **{"heartbeat_interval_ms": 50, "session_timeout_ms": 30_000, "retry_backoff_ms": 50, "auto_offset_reset": "earliest",
               "enable_auto_commit": False, "metadata_max_age_ms": 300_000, **options},
        )  # fmt: skip
        self.assignor.attach(self.consumer)
        await self.consumer.start()
        self.consumer.subscribe(list(topics), listener=self.assignor.listener(Told(self, commit)) if self.listens else None)
        self._task = asyncio.create_task(self._poll())

    def change_listener(self, user: Any) -> None:
        """The same subscription tells another listener from now on."""
        self.assignor._listener._user = user

    async def _poll(self) -> None:
        try:
            while True:
                batches = await self.consumer.getmany(timeout_ms=50)
                self.delivered += [((tp.topic, tp.partition), record.offset) for tp, records in batches.items() for record in records]
        except Exception as error:  # belongs to the test: `check` raises it
            self.failure = error

    def owned(self) -> frozenset[Partition]:
        return frozenset((tp.topic, tp.partition) for tp in self.assignor.owned)

    def call(self, work: Any) -> Any:
        """`work(consumer)` on the loop; a coroutine is awaited."""

        async def run() -> Any:
            answer = work(self.consumer)
            return await answer if asyncio.iscoroutine(answer) else answer

        return self._thread.run(run())

    call_aside = call

    def check(self) -> None:
        if self.failure is not None:
            raise AssertionError(f"aiokafka: {self.failure!r}") from self.failure

    def stop(self) -> None:
        async def stop() -> None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await stop_wholly(self.consumer)

        self._thread.run(stop())
        self._thread.close()


class AioTwin(AioCoop):
    """aiokafka's twin consumer; auto-commit on, but so rare that only the end and a hand-over commit."""

    async def _start(
        self, bootstrap: str, group: str, name: str, topics: Any, settings: Any, commit: bool, options: dict[str, Any]
    ) -> None:
        from groupmock_clients.cooperative.aiokafka import CooperativeAssignor, CooperativeConsumer

        self.assignor = CooperativeAssignor(**settings)
        self.consumer = CooperativeConsumer(
            bootstrap_servers=bootstrap, group_id=group, client_id=name, assignor=self.assignor,
            **{"heartbeat_interval_ms": 50, "session_timeout_ms": 30_000, "retry_backoff_ms": 50, "auto_offset_reset": "earliest",
               "auto_commit_interval_ms": 3_600_000, **options},
        )  # fmt: skip
        await self.consumer.start()
        self.consumer.subscribe(list(topics), listener=Told(self, False))
        self._task = asyncio.create_task(self._poll())


class KpCoop:
    """kafka-python, polled by a thread of its own with no pause between two polls: 3.0.12 forgets a join that ends when no poll runs, and
    joins again, which costs the group a round. `poll_ms` 60000 avoids that (for members that are not asked to do something: `call`)."""

    library = "kafka-python"

    def __init__(
        self, bootstrap: str, group: str, name: str, topics: tuple[str, ...], settings: dict[str, Any] | None, **options: Any
    ) -> None:
        from kafka import ConsumerRebalanceListener, KafkaConsumer

        from groupmock_clients.cooperative.kafka_python import CooperativeAssignor

        self.told: list[tuple[str, frozenset[Partition]]] = []
        self.delivered: list[tuple[Partition, int]] = []
        self.failure: BaseException | None = None
        commit = options.pop("commit_revoked", False)
        self._poll_ms = options.pop("poll_ms", 500)
        also = [FOREIGN["kafka-python"]()] if options.pop("also_range", False) else []
        self.assignor: Any = FOREIGN["kafka-python"]() if settings is None else CooperativeAssignor(**settings)
        self.consumer = KafkaConsumer(
            bootstrap_servers=bootstrap, group_id=group, client_id=name, partition_assignment_strategy=[self.assignor, *also],
            **{"heartbeat_interval_ms": 50, "session_timeout_ms": 30_000, "retry_backoff_ms": 50, "auto_offset_reset": "earliest",
               "enable_auto_commit": False, "fetch_max_wait_ms": 100, "metrics_enabled": False, **options},
        )  # fmt: skip
        self.assignor.attach(self.consumer)
        listener = type("Listener", (Told, ConsumerRebalanceListener), {})(self, commit)
        self.consumer.subscribe(list(topics), listener=self.assignor.listener(listener))
        self._work: list[tuple[Any, Future[Any]]] = []
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"kp-{name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ended:
                batches = self.consumer.poll(timeout_ms=self._poll_ms)
                self.delivered += [((tp.topic, tp.partition), record.offset) for tp, records in batches.items() for record in records]
                while self._work:
                    work, done = self._work.pop(0)
                    done.set_result(work(self.consumer))
        except Exception as error:  # belongs to the test: `check` raises it
            self.failure = error
        finally:
            self.close()

    def close(self) -> None:
        self.consumer.close(autocommit=False)

    def owned(self) -> frozenset[Partition]:
        return frozenset((tp.topic, tp.partition) for tp in self.assignor.owned)

    def call(self, work: Any) -> Any:
        """`work(consumer)` between two polls."""
        done: Future[Any] = Future()
        self._work.append((work, done))
        until("kafka-python to do what it was asked", lambda: done.done() or not self._thread.is_alive(), lambda: self.failure)
        return done.result(0)

    def check(self) -> None:
        if self.failure is not None:
            raise AssertionError(f"kafka-python: {self.failure!r}") from self.failure

    def stop(self) -> None:
        self._ended = True
        if self._poll_ms > 1000:
            self.consumer.close(autocommit=False)  # ends the poll that is under way
        self._thread.join(PATIENCE)


class KpTwin(KpCoop):
    """kafka-python's twin consumer; auto-commit as rare as for aiokafka's."""

    def __init__(
        self, bootstrap: str, group: str, name: str, topics: tuple[str, ...], settings: dict[str, Any] | None, **options: Any
    ) -> None:
        from kafka import ConsumerRebalanceListener

        from groupmock_clients.cooperative.kafka_python import CooperativeAssignor, CooperativeConsumer

        self.told, self.delivered, self.failure = [], [], None
        self._poll_ms = options.pop("poll_ms", 500)
        self.assignor = CooperativeAssignor(**settings or {})
        self.consumer: Any = CooperativeConsumer(
            bootstrap_servers=bootstrap, group_id=group, client_id=name, assignor=self.assignor,
            **{"heartbeat_interval_ms": 50, "session_timeout_ms": 30_000, "retry_backoff_ms": 50, "auto_offset_reset": "earliest",
               "auto_commit_interval_ms": 3_600_000, "fetch_max_wait_ms": 100, "metrics_enabled": False, **options},
        )  # fmt: skip
        listener = type("Listener", (Told, ConsumerRebalanceListener), {})(self, False)
        self.consumer.subscribe(list(topics), listener=listener)
        self._work = []
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=f"kp-twin-{name}", daemon=True)
        self._thread.start()

    def call_aside(self, work: Any) -> Any:
        """On the thread that calls: what the twin allows beside its polls."""
        return work(self.consumer)

    def close(self) -> None:
        self.consumer.close()


LIBRARIES: dict[str, Any] = {"aiokafka": AioCoop, "kafka-python": KpCoop}
EVERY = {**LIBRARIES, "aiokafka twin": AioTwin, "kafka-python twin": KpTwin}
