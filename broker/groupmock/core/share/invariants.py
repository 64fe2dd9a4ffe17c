"""Lists the invariants of a share partition, which tests check after every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from .runs import ACQUIRED, AVAILABLE, NOBODY, Run

if TYPE_CHECKING:
    from .share_partition import SharePartition


def _runs(partition: SharePartition) -> Iterator[Run]:
    return (run for batch in partition.states.batches for run in batch.runs)


def _held(partition: SharePartition) -> Counter[str]:
    held: Counter[str] = Counter()
    for run in _runs(partition):
        if run.state == ACQUIRED:
            held[run.member_id] += run.size
    return held


def _in_order(partition: SharePartition) -> bool:
    lasts = [-1]
    for run in _runs(partition):
        if run.first <= lasts[-1] or run.last < run.first:
            return False
        lasts.append(run.last)
    return True


def _without_gaps(partition: SharePartition) -> bool:
    return all(
        left.last + 1 == right.first for batch in partition.states.batches for left, right in zip(batch.runs, batch.runs[1:], strict=False)
    )


def _done(partition: SharePartition) -> int:
    states = partition.states
    return sum(run.last - max(run.first, states.start) + 1 for run in _runs(partition) if run.done and run.last >= states.start)


def _locked(partition: SharePartition, armed: bool) -> bool:
    return armed or not any(run.state == ACQUIRED for run in _runs(partition))


INVARIANTS: Final[dict[str, Callable[[SharePartition], bool]]] = {
    "each record is in one run": _in_order,
    "the runs of a batch have no gap": _without_gaps,
    "acquired records have a member and others have none": lambda each: all(
        (run.member_id != NOBODY) == (run.state == ACQUIRED) for run in _runs(each)
    ),
    "the records that members hold are counted": lambda each: each.states.held == dict(_held(each)),
    "the available records are counted": lambda each: (
        each.states.available == sum(run.size for run in _runs(each) if run.state == AVAILABLE)
    ),
    "the done records are counted": lambda each: each.states.done == _done(each),
    "no aborted records before the start are counted if nothing is in flight": lambda each: bool(
        each.states.batches or not each.states.aborted_before
    ),
    "the runs are counted": lambda each: each.states.runs == sum(len(batch.runs) for batch in each.states.batches),
    "a batch that is not split has one run": lambda each: all(batch.split or len(batch.runs) == 1 for batch in each.states.batches),
    "nothing in flight is after the end": lambda each: all(run.last < each.states.end for run in _runs(each)),
    "the start is not after the end": lambda each: each.states.start <= each.states.end,
    "no record that was delivered is available before the start": lambda each: all(
        run.first >= each.states.start for batch in each.states.batches if not batch.fresh for run in batch.runs if run.state == AVAILABLE
    ),
}


def check(partition: SharePartition, armed: bool) -> None:
    """Raise AssertionError with the names of the invariants that do not hold. `armed` says whether the timer of the locks is set."""
    broken = [name for name, holds in INVARIANTS.items() if not holds(partition)]
    if not _locked(partition, armed):
        broken.append("acquired records have a lock that ends")
    assert not broken, f"{partition.place}: {'; '.join(broken)}: {partition.states.batches}"
