"""Shows one partition as one share group sees it: the states of its records, their locks, and the log that they are read from.

A share partition is in memory on the partition's leader, from the first fetch of the group there until a connection of its members ends
when the group has no session on that node. Everything
that changes records is written to the stored state before it takes effect (`stored`). In Kafka: SharePartition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from groupmock_codec import error_codes

from ..log.partition import Partition
from . import causes
from .acknowledging import Acknowledged, AcknowledgedBatch, AcknowledgementRefused, Acknowledging
from .acquiring import Acquired, Acquiring, Produced, without_aborted
from .causes import Why
from .rules import RecordRules
from .runs import ACQUIRED, ARCHIVED, AVAILABLE, Run, joined
from .states import RecordStates, ranges
from .stored import Key, StoredStates, WriteRefused

if TYPE_CHECKING:
    from groupmock_codec.records import Batch

    from ..timers import Key as TimerKey
    from ..turn import Turn


class Place(NamedTuple):
    """A share partition by names: group, topic, partition."""

    group_id: str
    topic: str
    partition: int


class Outcome(NamedTuple):
    """The records that were acknowledged, and whether the start offset has moved, which wakes waiting fetches."""

    acknowledged: Acknowledged
    moved: bool


class Freed(NamedTuple):
    """The records that were archived when locks or a session ended, and whether the start offset has moved. `any` is False if nothing was
    acquired."""

    archived: list[Run]
    moved: bool
    any: bool = True


NOBODY_FREED: Final = Freed([], False, any=False)
OUTCOMES: Final = ("accepted", "released", "rejected", "gaps", "exhausted", "renewed")
"""The fields of `Acknowledged`, in the order in which rows have them."""


class Delivery(NamedTuple):
    """The records that a fetch gets of one partition: whole batches of the log, and the offsets in them that were acquired. If the
    fetch has `failed`, its member gets nothing and has the records nevertheless, until their locks end."""

    acquired: list[Acquired]
    records: bytes
    failed: bool = False


NOTHING: Final = Delivery([], b"")
MOST_BEHIND: Final = 10_000
"""An aborted batch is looked for among this many batches behind those that a fetch may acquire."""


class SharePartition:
    def __init__(self, place: Place, key: Key, log: Partition, states: RecordStates, state_epoch: int, stored: StoredStates) -> None:
        self.place = place
        self.key = key
        self.log = log
        self.node = log.leader
        self.leader_epoch = log.leader_epoch
        self.states = states
        self.state_epoch = state_epoch
        self._stored = stored
        self.dropped = False
        """True once the share partition is not in memory any more, although a parked fetch may still know it."""
        self.known_at = -1
        """The offset whose place in the log was read last: a fetch that looks for enough bytes does not read there again
        (SharePartition.fetchOffsetMetadata)."""
        self.timer: TimerKey = ("record_lock", place.group_id, place.topic, str(place.partition))

    def readable_to(self, rules: RecordRules, pinned: bool) -> int:
        """Return the offset up to which the group may read: all there is, or the last stable offset (SG-263)."""
        return min(self.log.end, self.log.stable(pinned)) if rules.committed else self.log.end

    def follow_log(self, turn: Turn) -> None:
        """Move the start offset to the log's, if records were deleted."""
        if self.log.start <= self.states.start:
            return
        gone = self.states.log_starts_at(self.log.start)
        if gone:
            self._note_released(turn, "", [], gone, causes.DELETED)

    def may_acquire(self, rules: RecordRules) -> bool:
        """True if a fetch could get records: fewer than the limit are in flight, or some are available again."""
        return self.states.in_flight < rules.max_locks or self.states.next_offset() != self.states.end

    def gives(self, rules: RecordRules, pinned: bool) -> bool:
        """True if a fetch that looks for bytes would be answered."""
        return self.may_acquire(rules) and (self.out_of_range or self.states.next_offset() != self.readable_to(rules, pinned))

    @property
    def out_of_range(self) -> bool:
        """True if the log has not got the offset that a fetch would read next, because records were deleted or the offset was altered."""
        return not self.log.start <= self.states.next_offset() <= self.log.end

    def bytes_read(self, rules: RecordRules, pinned: bool, max_bytes: int, at_least_one: bool) -> int:
        """Return how many bytes a fetch reads of the log. A first batch that does not fit is read whole with `at_least_one`, or else not
        at all."""
        offset, log = self.states.next_offset(), self.log
        if self.out_of_range:
            return 0
        there, first = log.available(offset, self.readable_to(rules, pinned)), log.first_size(offset)
        if max_bytes < first:
            return min(there, first) if at_least_one else 0
        return min(there, max_bytes)

    def acquire(
        self, turn: Turn, rules: RecordRules, member_id: str, most: int, max_bytes: int, batch_size: int, by_record: bool
    ) -> Delivery:
        """Acquire records for a member from the `max_bytes` that were read of the log, and return them. If the log has not got the offset,
        nothing is delivered, and the start moves to the log's."""
        states, log = self.states, self.log
        if self.out_of_range:
            self.follow_log(turn)
            return NOTHING
        offset = states.next_offset()
        end = self.readable_to(rules, turn.quirks.stable_offset_within_log)
        if most <= 0 or max_bytes <= 0 or offset >= end:
            return NOTHING
        # Each produced batch has at least one record, so this many batches have all that the fetch may acquire, and another one.
        read = log.whole_batches(offset, end, max_bytes, False, states.in_flight + min(most, rules.max_locks) + 1)
        if not read:
            return NOTHING
        lock_ends = turn.after(rules.lock_ms)
        acquiring = Acquiring(states, rules, member_id, lock_ends, most, batch_size, by_record)
        acquired = acquiring.acquire(offset, [Produced(batch.base_offset, batch.last_offset) for batch in read])
        aborted = self._aborted(read, end, max_bytes) if rules.committed else []
        # Kafka 4.4 looks for the records in flight that an aborted batch has, and finds none if it begins before all of them. That fails
        # the fetch (SharePartition.fetchSubMap).
        failed = bool(aborted and acquired) and not states.begins_at_or_before(aborted[0].first)
        delivered = without_aborted(states, acquired, aborted) if aborted and acquired and not failed else acquired
        if delivered:
            self._lock(turn, lock_ends)
        if acquired:
            gone = sum(each.size for each in acquired) - sum(each.size for each in delivered)
            if gone:
                # The start moves with the next write (SG-103). But aborted records must not fill the window, because nobody acknowledges
                # them.
                if states.in_flight >= rules.max_locks:
                    states.move_start()
                runs = [Run(each.first, each.last, ARCHIVED, 1) for each in aborted if each.first < states.end]
                self._note_released(turn, "", [], runs, causes.ABORTED)
        if not delivered:
            return NOTHING
        turn.note(
            "records_acquired",
            **self._named,
            member_id=member_id,
            records=[[each.first, each.last, each.count] for each in delivered],
            lock_ends=lock_ends,
        )
        if failed:
            return Delivery([], b"", failed)
        first, last = delivered[0].first, delivered[-1].last
        size = sum(len(batch.data) for batch in read if batch.last_offset >= first and batch.base_offset <= last)
        if len(read) == 1:
            # Kafka cuts nothing off if it has read one whole batch, behind which a part of the next may stand (maybeSliceFetchRecords).
            size = max(size, max_bytes)
        return Delivery(delivered, log.read(first, size, at_least_one=True, end=end))

    def _aborted(self, read: Sequence[Batch], end: int, max_bytes: int) -> list[Produced]:
        """Return the aborted batches among those that were read, and the first one of those behind them that a broker reads, too. It does
        to the last batch in flight what it does to that in front of any aborted one (SharePartition.fetchSubMap)."""
        transactions = self.log.producers.transactions
        if transactions is None or not transactions.any_aborted:
            return []
        aborted_batch = transactions.aborted_batch

        def aborted(batches: Iterable[Batch]) -> Iterator[Produced]:
            for batch in batches:
                if batch.transactional and not batch.control and aborted_batch(batch.producer_id, batch.base_offset):
                    yield Produced(batch.base_offset, batch.last_offset)

        behind = self.log.whole_batches(read[0].base_offset, end, max_bytes, False, len(read) + MOST_BEHIND)[len(read) :]
        return [*aborted(read), *islice(aborted(behind), 1)]

    def acknowledge(self, turn: Turn, rules: RecordRules, member_id: str, batches: Sequence[AcknowledgedBatch]) -> Outcome:
        """Take the acknowledgements of a member. Raises AcknowledgementRefused with nothing taken."""
        lock_ends = turn.after(rules.lock_ms)
        acknowledging = Acknowledging(self.states, rules, member_id, lock_ends)
        result = acknowledging.take(batches)
        moved = False
        if result.changed:
            try:
                self._write()
            except WriteRefused as refused:
                acknowledging.undo()
                raise AcknowledgementRefused(refused.code, refused.text) from refused
            moved = self.states.move_start()
        if result.renewed:
            self._lock(turn, lock_ends)
        if result.changed or result.renewed:
            turn.note(
                "records_acknowledged",
                **self._named,
                member_id=member_id,
                **{what: ranges(runs) for what in OUTCOMES if (runs := getattr(result, what))},
                start_offset=self.states.start,
            )
        return Outcome(result, moved)

    def holds(self, member_id: str) -> bool:
        """True if the member has acquired records."""
        return member_id in self.states.held

    @property
    def altered(self) -> bool:
        """True if the offset of the group was altered since the stored state was read, so that nothing can be written any more."""
        try:
            self._stored.check(self.key, self.state_epoch)
        except WriteRefused as refused:
            return refused.code == error_codes.NOT_LEADER_OR_FOLLOWER
        return False

    def release(self, turn: Turn, rules: RecordRules, member_id: str, why: Why) -> Freed:
        """Release all records that a member has acquired."""
        if not self.holds(member_id):
            return NOBODY_FREED
        return self.free(turn, rules, lambda run: run.state == ACQUIRED and run.member_id == member_id, why, member_id)

    def expire(self, turn: Turn, rules: RecordRules) -> Freed:
        """Release the records whose locks have ended, and set the timer for the next ones."""
        freed = self.free(
            turn, rules, lambda run: run.state == ACQUIRED and run.deadline <= turn.now, causes.lock_ended(rules.lock_ms), must_write=False
        )
        self.lock_next(turn)
        return freed

    def free(
        self, turn: Turn, rules: RecordRules, matches: Callable[[Run], bool], why: Why, member_id: str = "", must_write: bool = True
    ) -> Freed:
        """Make acquired records available again, or archive them after their last delivery. If the offsets of the group are gone, only
        locks end (SharePartition.releaseAcquisitionLockOnTimeout)."""
        states = self.states
        try:
            self._stored.check(self.key, self.state_epoch)
        except WriteRefused:
            if must_write:
                return NOBODY_FREED
        archived = states.archive_before_start(matches)
        before = [run for batch in states.batches for run in batch.runs if matches(run)]
        freed = states.change_all(matches, rules.released)
        if not freed and not archived:
            return NOBODY_FREED
        with suppress(WriteRefused):
            self._write()
        moved = states.move_start()
        for holder in dict.fromkeys(run.member_id for run in before):
            own = [new for old, new in zip(before, freed, strict=True) if old.member_id == holder]
            self._note_released(
                turn, holder, [run for run in own if run.state == AVAILABLE], [run for run in own if run.state == ARCHIVED], why
            )
        return Freed([run for run in freed if run.state == ARCHIVED], moved)

    def archive(self, turn: Turn, first: int, last: int, why: Why) -> Freed:
        """Archive records that are available or acquired."""
        archived = [run for state in (AVAILABLE, ACQUIRED) for run in self.states.archive(first, last + 1, state)]
        if not archived:
            return NOBODY_FREED
        with suppress(WriteRefused):
            self._write()
        moved = self.states.move_start()
        self._note_released(turn, "", [], archived, why)
        return Freed(archived, moved)

    def close(self, turn: Turn, why: Why) -> None:
        """Drop the share partition from memory. The stored state keeps what was written, and acquired records are not acquired any
        more."""
        self.dropped = True
        turn.timers.cancel(self.timer)
        for member_id in self.states.held:
            held = [run for batch in self.states.batches for run in batch.runs if run.member_id == member_id]
            self._note_released(turn, member_id, held, [], why)
        with suppress(WriteRefused):
            self._stored.check(self.key, self.state_epoch).keep(self.states)

    def expire_dropped(self, turn: Turn, rules: RecordRules) -> list[Run]:
        """Write that locks have ended of a share partition that was dropped before, and return the records that this archives. A broker
        does not end its timers when it drops the share partition, and a new leader reads what they write, unless it has read the stored
        state before (SharePartition.releaseAcquisitionLockOnTimeout)."""
        ended = self.states.change_all(lambda run: run.state == ACQUIRED and run.deadline <= turn.now, rules.released)
        with suppress(WriteRefused):
            stored = self._stored.check(self.key, self.state_epoch)
            if stored.highest_leader_epoch <= self.leader_epoch:
                stored.write(self.states)
                for run in ended:
                    stored.put(run)
        self.states.move_start()
        self.lock_next(turn)
        return [run for run in ended if run.state == ARCHIVED]

    def _write(self) -> None:
        self._stored.check(self.key, self.state_epoch).write(self.states)

    def _lock(self, turn: Turn, lock_ends: int) -> None:
        armed = turn.timers.get(self.timer)
        if armed is None or lock_ends < armed.deadline:
            turn.timers.set(self.timer, lock_ends)

    def lock_next(self, turn: Turn) -> None:
        """Set the timer for the locks that end next, if there are any."""
        ends = [run.deadline for batch in self.states.batches for run in batch.runs if run.state == ACQUIRED]
        if ends:
            turn.timers.set(self.timer, min(ends))

    @property
    def _named(self) -> dict[str, object]:
        return {"group": self.place.group_id, "topic": self.place.topic, "partition": self.place.partition}

    def _note_released(self, turn: Turn, member_id: str, available: list[Run], archived: list[Run], why: Why) -> None:
        turn.note(
            "records_released",
            **self._named,
            member_id=member_id,
            **({"available": ranges(joined(available))} if available else {}),
            **({"archived": ranges(joined(archived))} if archived else {}),
            cause=why.cause,
            reason=why.sentence,
            start_offset=self.states.start,
        )
