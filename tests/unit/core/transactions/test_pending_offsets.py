"""The cost of a question about one partition or one producer does not grow with the number of producers that have pending offsets."""

from __future__ import annotations

from typing import Final

from groupmock.core.groups.offsets.committed import Offset
from groupmock.core.groups.offsets.pending import PendingOffsets
from tools.budgets.meter import MOST_BYTES, counted

ENOUGH: Final = 100_000
AT: Final = ("orders", 0)


def offset(number: int) -> Offset:
    return Offset(number, -1, "", 0)


def steps(producers: int) -> list[int]:
    pending = PendingOffsets()
    for producer in range(producers):
        pending.write(producer, [(AT, offset(producer))])
        pending.write(producer, [(("orders", producer + 1), offset(1))])
    asked = (
        lambda: ("bills", 0) in pending,
        lambda: pending.in_topic("bills"),
        lambda: pending.wins(0, AT),
        lambda: pending.settle(0, AT),
        lambda: pending.ended(0),
        lambda: pending.overtaken(AT),
    )
    return [counted(each, ENOUGH, MOST_BYTES).steps for each in asked]


def test_others_cost_nothing() -> None:
    assert steps(2_000) == steps(3)


def test_what_is_over_leaves_nothing() -> None:
    pending = PendingOffsets()
    for producer in (1, 2):
        pending.write(producer, [(AT, offset(producer))])
        pending.write(producer, [(("bills", producer), offset(1))])
    pending.discard(AT)
    assert AT not in pending and not pending.in_topic("orders") and pending.places() == {("bills", 1), ("bills", 2)}
    assert (pending.wins(1, AT), pending.wins(1, ("bills", 1))) == (None, offset(1))
    assert pending.in_partitions("bills") == [("bills", 1), ("bills", 2)]
    for at in pending.in_partitions("bills"):
        pending.discard(at)
    assert not pending and not pending.places() and not pending.in_topic("bills") and not pending.of(2)
