"""Keeps the states of all records of one share partition, from its start offset to the last record that a member ever got.

The start offset is the first one that is not done (Kafka's SPSO), and moves over done records at the front. `end` is the next offset that
no member got so far. In Kafka: the cached state of a SharePartition.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Final

from .runs import ACQUIRED, ARCHIVED, AVAILABLE, InFlightBatch, Run, joined

_first = attrgetter("first")
Change = Callable[[Run], Run]
BEFORE: Final = -1


class RunCount:
    """The number of runs of all share partitions of a cluster, which is limited."""

    def __init__(self) -> None:
        self.runs = 0


class RecordStates:
    """`total` counts the runs of all share partitions together."""

    def __init__(self, start: int, total: RunCount) -> None:
        self.start = start
        self.end = start
        self.batches: list[InFlightBatch] = []
        self.done = 0
        """The number of records at or after the start that are done."""
        self.aborted_before = 0
        """The number of aborted records that were archived although they lie before the start, in a batch of which only the begin was
        deleted. Kafka counts them as done until all records in flight are done (SharePartition.archivePerOffsetBatchRecords)."""
        self.available = 0
        """The number of records that a member had, or could have had, and that the next fetch may get."""
        self.held: dict[str, int] = {}
        """The number of acquired records by member id."""
        self.runs = 0
        self._total = total
        self.written_start: int | None = None
        """The start before deleted records moved it, until that is written. None if all is written."""
        self.unwritten: list[Run] = []
        """Records that were archived because they are of an aborted transaction or not in the log, which nobody writes."""
        self._gap_from = self._gap_end = BEFORE
        """The offset from which on there may be records between stored ones, which no member ever got, and the end of the stored ones."""

    @property
    def in_flight(self) -> int:
        """Return how many records count as in flight: all from the start to the last acquired one, done ones included (SG-250)."""
        return self.end - self.start if self.batches else 0

    @property
    def delivery_complete(self) -> int:
        """Return the number of records that lower the lag of the group (Kafka: the delivery complete count)."""
        return self.done + self.aborted_before

    def stored_with_gaps(self, offset: int) -> None:
        """Note that the stored states, which are all that there is so far, have their first gap at the offset."""
        self._gap_from, self._gap_end = offset, self.end

    def acquired_before(self, offset: int) -> None:
        """Note that a fetch has acquired what it could before the offset, so that gaps lie behind it. There are none once records behind
        the stored ones were acquired (SharePartition.maybeUpdatePersisterGapWindowStartOffset)."""
        if self._gap_from != BEFORE:
            self._gap_from = offset if self.gap_from != BEFORE and offset < self.end else BEFORE

    @property
    def gap_from(self) -> int:
        """Return the offset from which on there may be gaps, or -1."""
        return self._gap_from if self._gap_end == self.end else BEFORE

    def next_offset(self) -> int:
        """Return the first offset that a fetch may acquire."""
        if self.available:
            for batch in self.batches:
                for run in batch.runs:
                    if run.state == AVAILABLE:
                        return run.first
        return self.end

    def floor(self, offset: int) -> int:
        """Return the index of the last batch that begins at or before the offset, or -1."""
        return bisect_right(self.batches, offset, key=_first) - 1

    def begins_at_or_before(self, offset: int) -> bool:
        """True if a batch that a member got begins at or before the offset."""
        return next((batch.first for batch in self.batches if not batch.fresh), offset + 1) <= offset

    def overlapping(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches that have an offset from `first` to `last`."""
        place = self.floor(first)
        if place == BEFORE or self.batches[place].last < first:
            place += 1
        stop = bisect_right(self.batches, last, key=_first)
        return self.batches[place:stop]

    def put(self, batch: InFlightBatch) -> None:
        """Add a batch at its place; it overlaps no other."""
        self.batches.insert(self.floor(batch.first) + 1, batch)
        for run in batch.runs:
            self._count(run, 1)
        self._grow(len(batch.runs))

    def drop(self, batch: InFlightBatch) -> None:
        """Remove a batch, as if no member ever got its records."""
        self.batches.remove(batch)
        for run in batch.runs:
            self._count(run, -1)
        self._grow(-len(batch.runs))

    def restore(self, batch: InFlightBatch, runs: list[Run]) -> None:
        """Give a batch the runs that it had before."""
        for run in batch.runs:
            self._count(run, -1)
        for run in runs:
            self._count(run, 1)
        self._grow(len(runs) - len(batch.runs))
        batch.runs = runs

    def change(self, batch: InFlightBatch, first: int, last: int, change: Change) -> list[Run]:
        """Change the records of a batch from `first` to `last`, and return their new runs. A batch of which only a part changes is split
        from then on."""
        if first > batch.first or last < batch.last:
            batch.split = True
        runs = batch.runs
        place = stop = batch.place_of(first)
        changed: list[Run] = []
        while stop < len(runs) and runs[stop].first <= last:
            changed.append(change(runs[stop].part(first, last)))
            stop += 1
        if not changed:
            return changed
        inserted = changed
        if runs[place].first < first:
            inserted = [runs[place].part(runs[place].first, first - 1), *inserted]
        if runs[stop - 1].last > last:
            inserted = [*inserted, runs[stop - 1].part(last + 1, runs[stop - 1].last)]
        for run in runs[place:stop]:
            self._count(run, -1)
        for run in inserted:
            self._count(run, 1)
        # The neighbours are included, because a changed run may now be in the same state as a neighbour.
        left, right = max(0, place - 1), stop + 1
        merged = joined([*runs[left:place], *inserted, *runs[stop:right]])
        self._grow(len(merged) - len(runs[left:right]))
        runs[left:right] = merged
        return changed

    def split(self, batch: InFlightBatch, first: int, last: int) -> None:
        """Cut the runs of a batch at `first` and behind `last`, so that these records can change alone."""
        if first > batch.first or last < batch.last:
            batch.split = True
        cut: list[Run] = []
        for run in batch.runs:
            parts = (run.part(run.first, min(run.last, first - 1)), run.part(first, last), run.part(max(run.first, last + 1), run.last))
            cut += [part for part in parts if part.first <= part.last]
        self.restore(batch, cut)

    def change_all(self, matches: Callable[[Run], bool], change: Change) -> list[Run]:
        """Change all runs that match, and return their new runs. A batch that is not split changes as a whole."""
        changed: list[Run] = []
        for batch in self.batches:
            if any(map(matches, batch.runs)):
                runs = batch.runs
                news = [change(run) if matches(run) else run for run in runs]
                changed += [new for new, old in zip(news, runs, strict=True) if new is not old]
                self.restore(batch, joined(news))
        return changed

    def archive_before_start(self, matches: Callable[[Run], bool]) -> bool:
        """Archive the records before the start that match, and return whether there are any: acquired ones are left there after records
        were deleted."""
        found = False
        if self.batches and self.batches[0].first < self.start:
            for batch in self.overlapping(self.batches[0].first, self.start - 1):
                for run in list(batch.within(batch.first, self.start - 1)):
                    if matches(run):
                        found = True
                        self.change(batch, run.first, run.last, lambda run: run.now(ARCHIVED, run.count))
        return found

    def archive(self, first: int, stop: int, state: int, cuts: bool = True) -> list[Run]:
        """Archive the records in `state` from `first` to before `stop`, and return their runs. With `cuts`, available records between
        stored ones are forgotten."""
        archived: list[Run] = []
        for batch in self.overlapping(first, stop - 1):
            if batch.fresh:
                if state == AVAILABLE and cuts:
                    self._cut(batch, stop)
                continue
            for run in list(batch.within(first, stop - 1)):
                if run.state == state:
                    archived += self.change(batch, run.first, run.last, lambda run: run.now(ARCHIVED, run.count))
        return archived

    @property
    def resumes_at(self) -> int:
        """Return the start at which the stored state begins if it is read now."""
        start = self.start if self.written_start is None else self.written_start
        return min([start, *(run.first for run in self.unwritten)])

    def archive_unwritten(self, first: int, stop: int, state: int, cuts: bool = True) -> list[Run]:
        """Archive records as `archive` does, without writing that."""
        archived = self.archive(first, stop, state, cuts)
        self.unwritten += archived
        self.aborted_before += sum(run.part(run.first, self.start - 1).size for run in archived if run.first < self.start)
        return archived

    def _cut(self, batch: InFlightBatch, stop: int) -> None:
        """Forget the records of a fresh batch before `stop`, because they are not in the log."""
        self.drop(batch)
        if batch.first <= self.start < stop:
            self.start = min(stop, batch.last + 1)
        if batch.last >= stop:
            self.put(InFlightBatch([batch.runs[0].part(stop, batch.last)], fresh=True))

    def log_starts_at(self, offset: int) -> list[Run]:
        """Move the start to the log start offset, if that is later. Available records before it are archived; acquired ones stay, and
        may be acknowledged (SG-270, SG-271).

        A gap between stored records stays the next offset although the log has not got it any more, so that no fetch gets records again,
        unless the log start is behind all stored records (SharePartition.nextFetchOffset, updateCacheAndOffsets)."""
        if offset <= self.start:
            return []
        gone = self.archive_unwritten(self.start, offset, AVAILABLE, cuts=offset >= self.end) if self.batches else []
        self.written_start = self.start if self.written_start is None else self.written_start
        self.done -= self._done_before(offset)
        self.start = offset
        self.end = max(self.end, offset)
        return gone

    def _done_before(self, offset: int) -> int:
        """Return the number of records between the start and `offset` that are done."""
        return sum(
            run.size for batch in self.overlapping(self.start, offset - 1) for run in batch.within(self.start, offset - 1) if run.done
        )

    def move_start(self) -> bool:
        """Move the start over done records at the front, and forget batches of which all records are done. Return whether the start moved.
        It stops where there may be a gap, even if a fetch has found none there. It moves back if all records in flight are done and lie
        before it, which DeleteRecords makes possible (SharePartition.maybeUpdateCachedStateAndOffsets)."""
        if not self._start_is_done():
            return False
        last, full = BEFORE, 0
        gap_from = self.gap_from
        for batch in self.batches:
            if batch.last >= gap_from != BEFORE:
                break
            open_run = next((run for run in batch.runs if not run.done), None)
            if open_run is not None:
                last = open_run.first - 1 if open_run is not batch.runs[0] else last
                break
            last, full = batch.last, full + 1
        if last == BEFORE:
            return False
        if full == len(self.batches):
            self.start = self.end = last + 1
            self.done = self.aborted_before = 0
        else:
            # Offsets that compaction has removed may lie between the batches.
            start = self.batches[full].first if full and last == self.batches[full - 1].last else last + 1
            start = max(start, self.start)
            self.done -= self._done_before(start)
            self.start = start
        for batch in self.batches[:full]:
            self._grow(-len(batch.runs))
        del self.batches[:full]
        return True

    def _start_is_done(self) -> bool:
        """True if the record at the start is done, or the whole batch before it. Kafka 4.4 cannot tell for a split batch that ends before
        the start, and keeps it (a NullPointerException in SharePartition.canMoveStartOffset)."""
        place = self.floor(self.start)
        if place == BEFORE:
            return False
        batch = self.batches[place]
        if not batch.split:
            return batch.runs[0].done
        return batch.last >= self.start and batch.runs[batch.place_of(self.start)].done

    def forget_all(self) -> None:
        """Stop counting the runs, because the share partition is dropped."""
        self._grow(-self.runs)

    def _grow(self, runs: int) -> None:
        self.runs += runs
        self._total.runs += runs

    def _count(self, run: Run, sign: int) -> None:
        if run.state == ACQUIRED:
            held = self.held.get(run.member_id, 0) + sign * run.size
            if held:
                self.held[run.member_id] = held
            else:
                self.held.pop(run.member_id, None)
        elif run.state == AVAILABLE:
            self.available += sign * run.size
        elif run.last >= self.start:
            self.done += sign * (run.last - max(run.first, self.start) + 1)


def ranges(runs: Iterable[Run]) -> list[list[int]]:
    """Return runs as they are written into rows: first offset, last offset, delivery count."""
    return [[run.first, run.last, run.count] for run in runs]
