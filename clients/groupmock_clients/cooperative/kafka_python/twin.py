"""A consumer for kafka-python that delivers records during a rebalance (docs/kafka/cooperative-designs.md#member-rule-5).

kafka-python's own `poll` returns nothing from its JoinGroup until the last member has joined. So two consumers work as one. The
*membership* consumer is in the group; a thread of its own polls it, with all its partitions paused. The *data* consumer has no group, is
assigned the membership's partitions, and is used by the caller's thread alone. A rebalance stops only the first one. Its thread never
pauses between two polls, so no join is discarded either.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafka.errors import CommitFailedError, IllegalStateError, KafkaError, KafkaTimeoutError
from kafka.structs import OffsetAndMetadata

from ..listeners import Moves
from ..member import log
from .assignor import CooperativeAssignor

OF_THE_GROUP: Final = frozenset(
    {
        "group_id", "group_instance_id", "partition_assignment_strategy", "max_poll_interval_ms", "session_timeout_ms",
        "heartbeat_interval_ms", "exclude_internal_topics", "default_offset_commit_callback",
    }
)  # fmt: skip
OF_THE_DATA: Final = frozenset({"key_deserializer", "value_deserializer", "consumer_timeout_ms", "max_poll_records", "auto_offset_reset"})
SLICE_MS: Final = 50  # Longest time for which a poll in progress may delay a change of the assignment.
LONG_MS: Final = 3_600_000
PAUSE_S: Final = 0.01


def _to(part: str, name: str, applied: bool = True) -> Any:
    """Return a method that calls `name` of the consumer in the attribute `part`. With `applied` the data consumer first gets the current
    assignment."""

    @functools.wraps(getattr(KafkaConsumer, name))
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        if applied:
            self._apply()
        return getattr(getattr(self, part), name)(*arguments, **named)

    return method


class CooperativeConsumer:
    """A consumer with the constructor and methods of KafkaConsumer. `group_id` is required, and an own `assignor` may be given.

    A rebalance neither stops delivery nor repeats a record. A revoked partition is handed over when the next `poll` shows that its last
    records are processed, and committed then (unless auto-commit is off), before its next owner starts. Callbacks run on the membership's
    IO thread, as the library's do. The member stays in the group until `close`, unless it is not polled for max_poll_interval_ms (default
    300000).
    """

    def __init__(self, *topics: str, assignor: CooperativeAssignor | None = None, **options: Any) -> None:
        if options.get("group_id") is None:
            raise ValueError("CooperativeConsumer needs a group_id")
        if "partition_assignment_strategy" in options:
            raise ValueError("give the assignor as assignor=, not in partition_assignment_strategy")
        self._commits = bool(options.pop("enable_auto_commit", True))
        self._interval = options.pop("auto_commit_interval_ms", 5000) / 1000
        self._idle_limit = options.get("max_poll_interval_ms", 300_000) / 1000
        self._wait = options.get("consumer_timeout_ms", -1)
        self.assignor = assignor if assignor is not None else CooperativeAssignor()
        group = {name: value for name, value in options.items() if name not in OF_THE_DATA}
        # The membership consumer delivers no records, so the user's "none" or "latest" concerns the data consumer only.
        self._membership = KafkaConsumer(
            **group, enable_auto_commit=False, partition_assignment_strategy=[self.assignor], auto_offset_reset="earliest"
        )
        # The data consumer has no group, because a group with members refuses commits with generation -1
        # (docs/kafka/cooperative-designs.md#member-rule-5).
        self._data = KafkaConsumer(
            **{name: value for name, value in options.items() if name not in OF_THE_GROUP}, group_id=None, enable_auto_commit=False
        )
        self.assignor.attach(self._membership)
        self._lock = threading.RLock()
        self._held: set[TopicPartition] = set()
        # Start offsets of added partitions that the data consumer does not have yet.
        self._starts: dict[TopicPartition, int | None] = {}
        self._pauses: set[TopicPartition] = set()
        self._next: dict[TopicPartition, int] = {}  # Maps each partition to the offset after the last delivered record.
        self._busy: set[TopicPartition] = set()  # Partitions of the records that the caller's last poll returned.
        self._polled, self._committed = time.monotonic(), time.monotonic()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._trouble: BaseException | None = None
        self._user: Any = None
        self._data.assign([])
        if topics:
            self.subscribe(topics)

    # -- the membership

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: str | None = None,
        listener: ConsumerRebalanceListener | AsyncConsumerRebalanceListener | None = None,
    ) -> None:
        """Subscribe with the arguments of KafkaConsumer. `listener` hears of moved partitions. The member joins at the first poll."""
        self._user = listener
        self._membership.subscribe(list(topics), pattern=pattern, listener=self.assignor.listener(Moves(self)))

    def unsubscribe(self) -> None:
        self._membership.unsubscribe()
        with self._lock:
            self._held, self._starts, self._pauses, self._next, self._busy = set(), {}, set(), {}, set()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Raises IllegalStateError, because a consumer of a group cannot choose its partitions."""
        raise IllegalStateError("a CooperativeConsumer subscribes; use KafkaConsumer for partitions of your own choice")

    def close(self, autocommit: bool = True, timeout_ms: int | None = None) -> None:
        """Commit (with auto-commit, unless told not to), leave the group and close both consumers. May be called again."""
        if self._ended.is_set():
            return
        with self._lock:
            self._busy = set()
        try:
            if autocommit and self._commits and self._thread is not None and not self._rejoining():
                self._commit_delivered(functools.partial(self._membership.commit, timeout_ms=timeout_ms))
        finally:
            self._ended.set()
            self.assignor.close()
            try:
                self._membership.close(autocommit=False, timeout_ms=timeout_ms)
            finally:
                if self._thread is not None:
                    self._thread.join()
                self._data.close(autocommit=False, timeout_ms=timeout_ms)

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout_ms: int | None = None) -> None:
        """Commit these offsets, or the offset after the last record delivered of each partition. During a rebalance, wait for its end."""
        end = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
        while True:
            self._round_over(end)
            left = None if end is None else max(0.0, (end - time.monotonic()) * 1000)
            try:
                self._membership.commit(self._delivered() if offsets is None else dict(offsets), timeout_ms=left)
                return
            except CommitFailedError:
                if not self._rejoining():  # A commit that fails because the next rebalance has begun is tried again.
                    raise

    def commit_async(self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, callback: Any = None) -> Any:
        """Commit these offsets, or by default the positions of delivery, without waiting."""
        return self._membership.commit_async(self._delivered() if offsets is None else dict(offsets), callback)

    committed = _to("_membership", "committed", applied=False)
    group_metadata = _to("_membership", "group_metadata", applied=False)
    subscription = _to("_membership", "subscription", applied=False)
    topics = _to("_membership", "topics", applied=False)
    partitions_for_topic = _to("_membership", "partitions_for_topic", applied=False)

    # -- the delivery

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, list[Any]]:
        """Return records of the assigned partitions, also during a rebalance. Raises errors of the membership. The call also says that
        the last records are processed."""
        if self._ended.is_set():
            raise IllegalStateError("CooperativeConsumer is closed")
        end = time.monotonic() + timeout_ms / 1000
        self._begin()
        while True:
            self._raise_trouble()
            self._apply()
            left = max(0.0, (end - time.monotonic()) * 1000)
            found = self._deliverable(self._data.poll(timeout_ms=min(left, SLICE_MS), max_records=max_records))
            if found or left <= 0:
                return found

    def __iter__(self) -> CooperativeConsumer:
        return self

    def __next__(self) -> Any:
        end = time.monotonic() + (self._wait / 1000 if self._wait >= 0 else LONG_MS)
        while not self._ended.is_set() and time.monotonic() < end:
            for records in self.poll(timeout_ms=min(1000.0, max(0.0, (end - time.monotonic()) * 1000)), max_records=1).values():
                return records[0]
        raise StopIteration

    def __enter__(self) -> CooperativeConsumer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    assignment = _to("_data", "assignment")
    position = _to("_data", "position")
    highwater = _to("_data", "highwater")
    paused = _to("_data", "paused")
    resume = _to("_data", "resume")
    seek_to_beginning = _to("_data", "seek_to_beginning")
    seek_to_end = _to("_data", "seek_to_end")
    offsets_for_times = _to("_data", "offsets_for_times")
    beginning_offsets = _to("_data", "beginning_offsets")
    end_offsets = _to("_data", "end_offsets")
    metrics = _to("_data", "metrics", applied=False)
    bootstrap = _to("_data", "bootstrap", applied=False)
    bootstrap_connected = _to("_data", "bootstrap_connected", applied=False)

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Seek as KafkaConsumer does, and also from within on_partitions_assigned."""
        at = offset if isinstance(offset, int) else offset.offset
        with self._lock:
            waiting = partition in self._starts
            if waiting:
                self._starts[partition] = self._next[partition] = at
        if not waiting:
            # For an unassigned partition the data consumer raises an error, so that no offset of it is recorded for a commit.
            self._data.seek(partition, offset)
            with self._lock:
                self._next[partition] = at

    def pause(self, *partitions: TopicPartition) -> None:
        """Pause as KafkaConsumer does, and also from within on_partitions_assigned."""
        with self._lock:
            self._pauses |= {tp for tp in partitions if tp in self._starts}
            known = [tp for tp in partitions if tp not in self._starts]
        if known:
            self._data.pause(*known)

    # -- between membership and delivery

    def _begin(self) -> None:
        """Begin a poll, which means that the records of the last poll are processed."""
        with self._lock:
            self._busy = set()
            self._polled = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._stay, name="cooperative-membership", daemon=True)
            self._thread.start()
        elif self._commits and time.monotonic() - self._committed >= self._interval and not self._rejoining():
            self._committed = time.monotonic()
            self._commit_delivered(self._membership.commit_async)

    def _rejoining(self) -> bool:
        coordinator = self._membership._coordinator
        return bool(coordinator.rejoining or coordinator.need_rejoin())

    def _round_over(self, end: float | None) -> None:
        while self._thread is not None and self._rejoining():
            if self._ended.wait(PAUSE_S) or (end is not None and time.monotonic() > end):
                raise KafkaTimeoutError("the round that is under way did not end in time for the commit")

    def _apply(self) -> None:
        """Assign the current partitions to the data consumer, which fetches their records. Runs on the caller's thread, which alone uses
        the data consumer."""
        with self._lock:
            held = set(self._held)
            # The offsets of partitions that are not held yet are kept, because the user's callback about them is still running.
            starts = {tp: offset for tp, offset in self._starts.items() if tp in held}
            pauses = self._pauses & held
            self._starts = {tp: offset for tp, offset in self._starts.items() if tp not in held}
            self._pauses -= held
        if held == self._data.assignment() and not starts:
            return
        self._data.assign(list(held - starts.keys()))  # A partition that was lost and came back starts from its committed offset.
        self._data.assign(list(held))
        for tp, offset in starts.items():
            if offset is not None:
                self._data.seek(tp, offset)
        if pauses:
            self._data.pause(*pauses)

    def _deliverable(self, found: dict[TopicPartition, list[Any]]) -> dict[TopicPartition, list[Any]]:
        with self._lock:
            mine = {tp: records for tp, records in found.items() if tp in self._held and tp not in self._starts}
            self._next.update({tp: records[-1].offset + 1 for tp, records in mine.items()})
            self._busy = set(mine)
        return mine

    def _delivered(self) -> dict[TopicPartition, OffsetAndMetadata]:
        with self._lock:
            return {tp: OffsetAndMetadata(at, "", -1) for tp, at in self._next.items() if tp in self._held}

    def _commit_delivered(self, commit: Callable[[dict[TopicPartition, OffsetAndMetadata]], Any]) -> None:
        offsets = self._delivered()
        try:
            if offsets:
                commit(offsets)
        except KafkaError as error:
            log.warning("commit failed, the next one is tried: %r", error)

    def _stay(self) -> None:
        """Poll the membership consumer without a pause on its own thread, unless the caller has not polled for too long."""
        while not self._ended.is_set():
            try:
                if time.monotonic() - self._polled < self._idle_limit:
                    # The timeout of this poll is long, because kafka-python discards a join that completes between two polls
                    # (docs/kafka/clients.md#dropped-join).
                    self._membership.poll(timeout_ms=self._idle_limit * 1000)
                else:
                    self._ended.wait(PAUSE_S)
            except Exception as error:  # The caller's next poll raises this error.
                if not self._ended.is_set():
                    self._trouble = error
                    self._ended.wait(PAUSE_S)

    def _raise_trouble(self) -> None:
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble

    async def hand_over(self, partitions: Iterable[TopicPartition], commit: bool) -> None:
        """Stop delivering these partitions at once, and commit when the caller has processed their last records. Runs on the
        membership's IO thread."""
        gone = set(partitions)
        with self._lock:
            self._held -= gone
            offsets = {tp: OffsetAndMetadata(self._next.pop(tp), "", -1) for tp in gone & self._next.keys()}
            for tp in gone:
                self._starts.pop(tp, None)
        while self._busy & gone and not self._ended.is_set() and time.monotonic() - self._polled < self._idle_limit:
            await self._membership._coordinator._net.sleep(PAUSE_S)
        if commit and self._commits and offsets:
            self.assignor.commit(offsets)

    async def take_over(self, partitions: Iterable[TopicPartition], told: Callable[[], Any]) -> None:
        """Deliver records of these partitions from their committed offsets, once the callback `told` has returned. Runs on the
        membership's IO thread."""
        added = set(partitions)
        self._membership.pause(*added)
        committed = await self._membership._coordinator.fetch_committed_offsets_async(added)
        with self._lock:
            self._starts.update({tp: committed[tp].offset if tp in committed else None for tp in added})
        try:
            await told()
        finally:  # This runs even if the callback failed (`poll` raises its error), because the partitions stay assigned.
            with self._lock:
                self._held |= added
