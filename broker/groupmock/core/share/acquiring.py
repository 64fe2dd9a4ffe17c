"""Acquires records for a member: first those that are available again, then new ones, in the order of their offsets.

Deliveries are throttled, so that one record that nobody can process does not archive its whole batch: from half of the limit of
deliveries on, a fetch gets only a part of a batch, and a record's last delivery is a single record (SG-232, SG-233). In Kafka:
SharePartition.acquire.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from .rules import RecordRules
from .runs import ACQUIRED, AVAILABLE, InFlightBatch, Run
from .states import RecordStates


class Produced(NamedTuple):
    """The first and the last offset of a batch in the log."""

    first: int
    last: int


class Acquired(msgspec.Struct):
    """Records that a fetch has acquired, as its answer lists them."""

    first: int
    last: int
    count: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class Acquiring:
    """Acquires records of one share partition for one fetch of a member.

    `by_record` is Kafka's acquire mode 1 (record_limit): never more than `most` records. Otherwise the limit is soft, because whole
    batches are acquired (batch_optimized); runs of new records are cut at the beginning of a produced batch, once they have `batch_size`
    records."""

    def __init__(
        self, states: RecordStates, rules: RecordRules, member_id: str, lock_ends: int, most: int, batch_size: int, by_record: bool
    ) -> None:
        self._states = states
        self._rules = rules
        self._member_id = member_id
        self._lock_ends = lock_ends
        self._most = most
        self._batch_size = batch_size
        self._by_record = by_record
        self._result: list[Acquired] = []
        self._count = 0

    def acquire(self, offset: int, produced: Sequence[Produced]) -> list[Acquired]:
        """Acquire records from what was read of the log at `offset`."""
        states, first, last = self._states, produced[0].first, produced[-1].last
        most = min(self._most, self._rules.max_locks - states.in_flight)
        if most <= 0:
            if offset >= states.end:
                return []
            # The partition has as many records in flight as it may have, but those before its end may be acquired again (SG-251).
            most, last = min(self._most, states.end - offset), min(last, states.end - 1)
        self._most = most
        if offset < first:
            # Compaction has removed the records between the two offsets, so they are never delivered again (SG-274).
            states.archive_unwritten(offset, first, AVAILABLE)
        overlapping = states.overlapping(first, last)
        # Records before the end are acquired anew if DeleteRecords has moved the start into their batch, and an earlier one is in flight.
        begins = first if not overlapping and states.floor(first) >= 0 else max(first, states.end)
        if self._again(first, last, produced) and self._count < self._most and begins <= last:
            self._new(begins, last, produced)
        if self._result:
            states.acquired_before(self._result[-1].last + 1)
        return self._result

    def _again(self, first: int, last: int, produced: Sequence[Produced]) -> bool:
        """Acquire what is available of the batches in flight. Return False if the fetch must not get more records."""
        states = self._states
        for batch in states.overlapping(first, last):
            if self._count >= self._most:
                return True
            left = self._most - self._count
            if batch.fresh:
                self._fresh(batch, last, produced)
                continue
            slow = self._is_slow(batch, first, last)
            if slow and self._count:
                return False
            whole = batch.first >= first and batch.last <= last and not (self._by_record and batch.size > left)
            if batch.split or slow or not whole:
                if not batch.split and batch.runs[0].state != AVAILABLE:
                    continue
                batch.split = True
                if self._part(batch, first, last, left) and slow:
                    return False
            elif batch.runs[0].state == AVAILABLE:
                run = states.change(batch, batch.first, batch.last, self._acquired)[0]
                self._add(run)
        return True

    def _is_slow(self, batch: InFlightBatch, first: int, last: int) -> bool:
        """True if available records of the batch were delivered so often that deliveries are throttled."""
        counts = [run.count for run in (batch.within(first, last) if batch.split else batch.runs) if run.state == AVAILABLE]
        return bool(counts) and max(counts) >= self._rules.slow_from

    def _part(self, batch: InFlightBatch, first: int, last: int, left: int) -> int:
        """Acquire available records of a batch one by one, as far as throttling and the limit allow. Return how many."""
        limit, taken, most_slow, size = self._rules.delivery_limit, 0, 0, batch.size
        begun = len(self._result)
        for run in list(batch.within(first, last)):
            if run.state != AVAILABLE:
                continue
            alone = limit > 2 and run.count == limit - 1
            if alone and taken:
                break
            if run.count >= self._rules.slow_from and not most_slow:
                most_slow = max(1, size >> (run.count - self._rules.slow_from + 1))
            count = 1 if alone else run.size
            if self._by_record:
                count = min(count, left - taken)
            if most_slow > taken:  # If more were taken before the first slow record, Kafka's limit is never met.
                count = min(count, most_slow - taken)
            for changed in self._states.change(batch, run.first, run.first + count - 1, self._acquired):
                self._add(changed, begun)
            taken += count
            if alone or (self._by_record and taken == left) or taken == most_slow:
                break
        return taken

    def _fresh(self, batch: InFlightBatch, last: int, produced: Sequence[Produced]) -> None:
        """Acquire records between stored ones, which no member ever got."""
        run = batch.runs[0]
        self._states.drop(batch)
        stop = self._new(run.first, min(run.last, last), produced)
        if stop < run.last:
            self._states.put(InFlightBatch([run.part(stop + 1, run.last)], fresh=True))

    def _new(self, first: int, last: int, produced: Sequence[Produced]) -> int:
        """Acquire records that were never acquired, and return the last offset of their batches."""
        states, left, rest = self._states, self._most - self._count, None
        if left < last - first + 1:
            wanted = first + left - 1
            last = min(last, next((each.last for each in produced if each.first <= wanted <= each.last), wanted))
            if self._by_record and wanted < last:
                rest = Run(wanted + 1, last, AVAILABLE, 0)
        if not states.batches:
            # The log has no records before the first of these, because compaction or DeleteRecords has removed them.
            states.start = first
        if rest is not None:
            acquired = self._lock(first, rest.first - 1)
            states.put(InFlightBatch([acquired, rest], split=True))
            self._add(acquired)
        else:
            for run in self._cut(first, last, produced):
                states.put(InFlightBatch([run]))
                self._add(run)
        states.end = max(states.end, last + 1)
        states.acquired_before(self._result[-1].last + 1)
        return last

    def _cut(self, first: int, last: int, produced: Sequence[Produced]) -> list[Run]:
        """Return new records as runs of at least the batch size, which begin where a produced batch does (SG-172)."""
        runs = []
        if not self._by_record and last - first + 1 > self._batch_size:
            for each in produced:
                if each.first <= last and each.first - first >= self._batch_size:
                    runs.append(self._lock(first, each.first - 1))
                    first = each.first
        return [*runs, self._lock(first, last)]

    def _lock(self, first: int, last: int) -> Run:
        return Run(first, last, ACQUIRED, 1, self._member_id, self._lock_ends)

    def _acquired(self, run: Run) -> Run:
        return run.now(ACQUIRED, run.count + 1, self._member_id, self._lock_ends)

    def _add(self, run: Run, begun: int | None = None) -> None:
        """Add records to the answer. Neighbours with the same count are one entry, if they are of the same split batch: those that were
        added since `begun` (SG-171)."""
        self._count += run.size
        latest = self._result[-1] if begun is not None and len(self._result) > begun else None
        if latest is not None and latest.last + 1 == run.first and latest.count == run.count:
            latest.last = run.last
        else:
            self._result.append(Acquired(run.first, run.last, run.count))


def without_aborted(states: RecordStates, acquired: list[Acquired], aborted: Sequence[Produced]) -> list[Acquired]:
    """Archive the acquired records of aborted transactions, and return the others (SG-262)."""
    left = acquired
    for batch in aborted:
        before = states.floor(batch.first)
        if before >= 0 and states.batches[before].first < batch.first and states.batches[before].runs[0].state == ACQUIRED:
            # Kafka splits it also if it ends before the aborted records (SharePartition.archiveRecords).
            states.batches[before].split = True
        states.archive_unwritten(batch.first, batch.last + 1, ACQUIRED)
        parts = []
        for each in left:
            if each.last < batch.first or each.first > batch.last:
                parts.append(each)
                continue
            if each.first < batch.first:
                parts.append(Acquired(each.first, batch.first - 1, each.count))
            if each.last > batch.last:
                parts.append(Acquired(batch.last + 1, each.last, each.count))
        left = parts
    return left
