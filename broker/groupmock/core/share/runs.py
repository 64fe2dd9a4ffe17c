"""The states of records are kept as runs: neighbouring records with the same state, delivery count and lock are one object.

A share partition may have any number of records in flight, because a produced batch has up to 2^31 offsets and is acquired whole. So
nothing here has an object, or a step of a loop, per record. In Kafka: InFlightBatch, InFlightState.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

import msgspec

AVAILABLE: Final = 0
ACQUIRED: Final = 1
ACKNOWLEDGED: Final = 2
ARCHIVED: Final = 4
STATES: Final = {AVAILABLE: "available", ACQUIRED: "acquired", ACKNOWLEDGED: "acknowledged", ARCHIVED: "archived"}
"""Maps Kafka's number of each record state (RecordState) to its name."""
NOBODY: Final = ""
_last = attrgetter("last")


class Run(msgspec.Struct, frozen=True, gc=False):
    """Neighbouring records in the same state. `count` says how often they were delivered; a member and a deadline (ns of the run) belong
    to acquired records only."""

    first: int
    last: int
    state: int
    count: int
    member_id: str = NOBODY
    deadline: int = 0

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def done(self) -> bool:
        """True if the records are never delivered again."""
        return self.state >= ACKNOWLEDGED

    def part(self, first: int, last: int) -> Run:
        """Return the records of the run from `first` to `last`."""
        if first <= self.first and last >= self.last:
            return self
        return Run(max(first, self.first), min(last, self.last), self.state, self.count, self.member_id, self.deadline)

    def now(self, state: int, count: int, member_id: str = NOBODY, deadline: int = 0) -> Run:
        """Return the same records in another state."""
        return Run(self.first, self.last, state, count, member_id, deadline)

    def like(self, other: Run) -> bool:
        """True if the records of both runs are in the same state."""
        return (
            self.state == other.state
            and self.count == other.count
            and self.deadline == other.deadline
            and self.member_id == other.member_id
        )


class InFlightBatch(msgspec.Struct):
    """Records that were acquired together. Their runs follow each other without a gap.

    As long as nobody has acknowledged a part of them they change together (`split` is False, and there is one run). Kafka's answers
    depend on that: a batch that is not split keeps its borders when it is delivered again, and has texts of its own. With `fresh`, no
    member ever got the records: they lie between records whose states were stored."""

    runs: list[Run]
    split: bool = False
    fresh: bool = False

    @property
    def first(self) -> int:
        return self.runs[0].first

    @property
    def last(self) -> int:
        return self.runs[-1].last

    @property
    def size(self) -> int:
        return self.runs[-1].last - self.runs[0].first + 1

    @property
    def done(self) -> bool:
        return all(run.done for run in self.runs)

    def place_of(self, offset: int) -> int:
        """Return the index of the run with the offset; that of the first run for an offset before the batch."""
        return bisect_left(self.runs, offset, key=_last)

    def within(self, first: int, last: int) -> Iterator[Run]:
        """Yield the runs of the batch from `first` to `last`, cut to these offsets."""
        runs = self.runs
        for place in range(self.place_of(first), len(runs)):
            if runs[place].first > last:
                return
            yield runs[place].part(first, last)


def joined(runs: list[Run]) -> list[Run]:
    """Return the runs with neighbours in the same state put together."""
    together: list[Run] = []
    for run in runs:
        if together and together[-1].last + 1 == run.first and together[-1].like(run):
            together[-1] = Run(together[-1].first, run.last, run.state, run.count, run.member_id, run.deadline)
        else:
            together.append(run)
    return together
