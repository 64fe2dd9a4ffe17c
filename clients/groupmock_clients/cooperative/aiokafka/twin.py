"""A consumer for aiokafka that delivers records during a rebalance (docs/kafka/cooperative-designs.md#member-rule-5).

aiokafka's own consumer delivers nothing from its JoinGroup until the last member has joined. So two consumers work as one. The *membership*
consumer is in the group, with all its partitions paused. The *data* consumer has no group and is assigned the membership's partitions. A
rebalance stops only the first one.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from ..listeners import Moves
from ..member import log
from .assignor import CooperativeAssignor
from .partition_state import HeldBack, carry_over
from .stop import stop_wholly

OF_THE_GROUP: Final = frozenset(
    {
        "group_id", "group_instance_id", "partition_assignment_strategy", "max_poll_interval_ms", "rebalance_timeout_ms",
        "session_timeout_ms", "heartbeat_interval_ms", "exclude_internal_topics",
    }
)  # fmt: skip
DECODERS: Final = frozenset({"key_deserializer", "value_deserializer"})
PAUSE_S: Final = 0.1  # Pause after an error, because aiokafka repeats the error or rejoins as soon as it is called again.


def _to(part: str, name: str) -> Any:
    """Return a method that calls `name` of the consumer in the attribute `part`."""

    @functools.wraps(getattr(AIOKafkaConsumer, name))
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        return getattr(getattr(self, part), name)(*arguments, **named)

    return method


class CooperativeConsumer:
    """A consumer with the constructor and methods of AIOKafkaConsumer. `group_id` is required, and an own `assignor` may be given.

    A rebalance neither stops delivery nor repeats a record. Retained partitions go on. A revoked partition is committed at its position
    (unless auto-commit is off) before its next owner starts. `commit` waits for the end of a rebalance in progress. The member stays in the
    group as long as it is started, however rarely it is polled (max_poll_interval_ms does not apply).
    """

    def __init__(self, *topics: str, assignor: CooperativeAssignor | None = None, **options: Any) -> None:
        if options.get("group_id") is None:
            raise ValueError("CooperativeConsumer needs a group_id")
        if "partition_assignment_strategy" in options:
            raise ValueError("give the assignor as assignor=, not in partition_assignment_strategy")
        self._commits = bool(options.pop("enable_auto_commit", True))
        self._interval = options.pop("auto_commit_interval_ms", 5000) / 1000
        self.assignor = assignor if assignor is not None else CooperativeAssignor()
        group = {name: value for name, value in options.items() if name not in DECODERS}
        # The membership consumer delivers no records, so the user's "none" or "latest" concerns the data consumer only.
        group["auto_offset_reset"] = "earliest"
        self._membership = AIOKafkaConsumer(**group, enable_auto_commit=False, partition_assignment_strategy=[self.assignor])
        # The data consumer has no group, because a group with members refuses commits with generation -1
        # (docs/kafka/cooperative-designs.md#member-rule-5).
        self._data = AIOKafkaConsumer(
            **{name: value for name, value in options.items() if name not in OF_THE_GROUP}, group_id=None, enable_auto_commit=False
        )
        self.assignor.attach(self._membership)
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble: Exception | None = None  # The last error of the membership consumer, which the caller's next call raises once.
        self._end: BaseException | None = None  # The error that ended aiokafka's coordination for good; every later call raises it.
        self._user: ConsumerRebalanceListener | None = None
        if topics:
            self.subscribe(topics)

    # -- the membership

    async def start(self) -> None:
        """Connect both consumers, join the group, and begin to deliver."""
        await self._data.start()
        self._data.assign([])
        try:
            await self._membership.start()
        except BaseException:
            await stop_wholly(self._data)
            raise
        self._membership._coordinator._coordination_task.add_done_callback(self._coordination_ended)
        self._tasks = [asyncio.create_task(self._stay()), asyncio.create_task(self._commit_now_and_then())]

    async def stop(self) -> None:
        """Commit (with auto-commit), leave the group and close both consumers. May be called again."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.assignor.close()
        try:
            if tasks and self._commits:
                await self._try_to_commit()
        finally:
            try:
                await stop_wholly(self._membership)
            finally:
                await stop_wholly(self._data)

    def subscribe(self, topics: Iterable[str] = (), pattern: str | None = None, listener: ConsumerRebalanceListener | None = None) -> None:
        """Subscribe with the arguments of AIOKafkaConsumer. `listener` hears of partitions when they move."""
        self._user = listener
        self._membership.subscribe(list(topics), pattern=pattern, listener=self.assignor.listener(Moves(self)))

    def unsubscribe(self) -> None:
        self._membership.unsubscribe()
        self._data.assign([])

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Raises IllegalStateError, because a consumer of a group cannot choose its partitions."""
        raise IllegalStateError("a CooperativeConsumer subscribes; use AIOKafkaConsumer for partitions of your own choice")

    async def commit(self, offsets: Mapping[TopicPartition, int | tuple[int, str] | OffsetAndMetadata] | None = None) -> None:
        """Commit these offsets, or by default the positions of delivery. During a rebalance, wait for its end. Raises CommitFailedError
        for partitions that were revoked."""
        while True:
            # On the coordinator's connection the commit would wait behind the pending JoinGroup anyway, because a connection has one
            # request at a time (P1-d6).
            await self._round_over()
            wanted = self._positions() if offsets is None else dict(offsets)
            missing = wanted.keys() - self._membership.assignment()
            if missing:
                raise CommitFailedError(f"no longer held: {sorted(missing)}")
            try:
                if wanted:
                    await self._membership.commit(wanted)
                return
            except CommitFailedError:
                if not self._rejoining():  # A commit that fails because the next rebalance has begun is tried again.
                    raise

    committed = _to("_membership", "committed")
    subscription = _to("_membership", "subscription")
    topics = _to("_membership", "topics")
    partitions_for_topic = _to("_membership", "partitions_for_topic")

    # -- the delivery

    async def getone(self, *partitions: TopicPartition) -> ConsumerRecord:
        """Return the next record, also during a rebalance. Raises errors of the membership."""
        self._raise_trouble()
        return await self._data.getone(*partitions)

    async def getmany(
        self, *partitions: TopicPartition, timeout_ms: int = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Return the next records, also during a rebalance. Raises errors of the membership."""
        self._raise_trouble()
        found: dict[TopicPartition, list[ConsumerRecord]] = await self._data.getmany(
            *partitions, timeout_ms=timeout_ms, max_records=max_records
        )
        return found

    assignment = _to("_data", "assignment")
    position = _to("_data", "position")
    highwater = _to("_data", "highwater")
    last_stable_offset = _to("_data", "last_stable_offset")
    last_poll_timestamp = _to("_data", "last_poll_timestamp")
    seek = _to("_data", "seek")
    seek_to_beginning = _to("_data", "seek_to_beginning")
    seek_to_end = _to("_data", "seek_to_end")
    offsets_for_times = _to("_data", "offsets_for_times")
    beginning_offsets = _to("_data", "beginning_offsets")
    end_offsets = _to("_data", "end_offsets")
    pause = _to("_data", "pause")
    paused = _to("_data", "paused")
    resume = _to("_data", "resume")

    async def seek_to_committed(self, *partitions: TopicPartition) -> dict[TopicPartition, int | None]:
        """Seek the data consumer to the group's committed offsets. A partition without a commit stays where it is."""
        found = {tp: await self._membership.committed(tp) for tp in partitions or self._data.assignment()}
        for tp, offset in found.items():
            if offset is not None:
                self._data.seek(tp, offset)
        return found

    def __aiter__(self) -> CooperativeConsumer:
        return self

    async def __anext__(self) -> ConsumerRecord:
        self._raise_trouble()
        return await self._data.__anext__()

    async def __aenter__(self) -> CooperativeConsumer:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    # -- between membership and delivery

    async def hand_over(self, partitions: Iterable[TopicPartition], commit: bool) -> None:
        """Stop delivering these partitions, and with `commit` commit their positions. Called by the listener before the member rejoins."""
        gone = set(partitions)
        offsets = {tp: at for tp, at in self._positions().items() if tp in gone}
        self._reassign(self._data.assignment() - gone)
        if commit and self._commits and offsets:
            try:
                await self.assignor.commit(offsets)
            except KafkaError as error:
                log.warning("what is handed over could not be committed, its next owner repeats some records: %r", error)

    async def take_over(self, partitions: Iterable[TopicPartition], told: Callable[[], Awaitable[None]]) -> None:
        """Deliver records of these partitions from their committed offsets, once the callback `told` has returned. Called by the
        listener."""
        added = set(partitions)
        self._membership.pause(*added)
        try:
            starts = {tp: await self._membership.committed(tp) for tp in added}
        except KafkaError as error:  # aiokafka would only log this error, and these partitions would never be delivered.
            self._meet(error)
            raise
        self._reassign(self._data.assignment() | added)
        assignment = self._data._subscription.subscription.assignment
        for tp, offset in starts.items():
            state = assignment._tp_state[tp] = HeldBack(assignment)
            if offset is not None:
                state.seek(offset)
        try:
            await told()
        finally:
            for tp in added:
                state = self._data._subscription.subscription.assignment.state_value(tp)
                if isinstance(state, HeldBack):
                    state.let_go()

    def _reassign(self, wanted: Iterable[TopicPartition]) -> None:
        """Assign partitions to the data consumer, which fetches their records. States of retained partitions are carried over before
        anything else runs, because aiokafka makes new ones."""
        before = self._data._subscription.subscription.assignment
        self._data.assign(list(wanted))
        after = self._data._subscription.subscription.assignment
        for tp in before.tps & after.tps:
            carry_over(before.state_value(tp), after.state_value(tp))

    def _positions(self) -> dict[TopicPartition, int]:
        subscription = self._data._subscription.subscription
        offsets = subscription.assignment.all_consumed_offsets() if subscription is not None else {}
        return {tp: each.offset for tp, each in offsets.items()}

    def _rejoining(self) -> bool:
        return bool(self._membership._subscription.reassignment_in_progress)

    async def _round_over(self) -> None:
        while self._rejoining():
            await self._membership._subscription.wait_for_assignment()

    async def _commit_now_and_then(self) -> None:
        while self._commits:
            await asyncio.sleep(self._interval)
            await self._try_to_commit()

    async def _try_to_commit(self) -> None:
        try:
            if not self._rejoining():
                held = self._membership.assignment()
                offsets = {tp: at for tp, at in self._positions().items() if tp in held}
                if offsets:
                    await self._membership.commit(offsets)
        except Exception as error:  # An error would end this task, and nothing would be committed any more.
            log.warning("commit failed, the next one is tried: %r", error)

    async def _stay(self) -> None:
        """Run a `getone` of the membership consumer that never returns, so that this consumer does not leave the group as idle and its
        errors are seen."""
        while True:
            try:
                await self._membership.getone()
            except Exception as error:  # The caller's next or pending `getone` raises this error.
                self._meet(error)
                await asyncio.sleep(PAUSE_S)

    def _coordination_ended(self, task: asyncio.Future[Any]) -> None:
        """Handle the end of the task in which aiokafka coordinates the membership. After an unexpected error, wake up each `getone` that
        waits for records."""
        self._end = None if task.cancelled() else task.exception()
        if self._end is not None:
            self._data._subscription.abort_waiters(self._end)

    def _meet(self, error: Exception) -> None:
        self._trouble = error
        self._data._subscription.abort_waiters(error)

    def _raise_trouble(self) -> None:
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        if self._end is not None:
            raise self._end
