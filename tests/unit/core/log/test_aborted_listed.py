"""A small fetch lists aborted transactions up to the next entry of the offset index, as on Kafka 4.3.0 and 3.9.1
(docs/kafka/transactions.md, TX-86)."""

from __future__ import annotations

from typing import Final

from cases import for_each
from transaction_world import Pid, TransactionWorld

from groupmock.core.log.offset_index import OffsetIndex

# Values of these sizes make batches of 170, 1570 and 5070 bytes, and a transaction marker has 78 bytes.
SMALL, MIDDLE, LARGE = 100, 1500, 5000
LISTED: Final[list[tuple[int, int, int, int, int]]] = [
    # Each row has value size, fetch offset and partition_max_bytes, and the first offset of the first and last transaction in the list.
    (SMALL, 0, 1, 0, 22),
    (SMALL, 20, 1, 20, 22),
    (MIDDLE, 0, 1, 0, 4),
    (MIDDLE, 0, 4000, 0, 4),
    (MIDDLE, 0, 9000, 0, 10),
    (MIDDLE, 1, 4000, 0, 10),
    (MIDDLE, 1, 9000, 0, 16),
    (MIDDLE, 4, 1, 4, 10),
    (MIDDLE, 10, 1, 10, 10),
    (MIDDLE, 10, 9000, 10, 22),
    # The list ends at the first index entry after the fetch, which a search from that entry's own position would miss.
    (LARGE, 0, 1, 0, 2),
    (LARGE, 1, 9000, 0, 4),
    (LARGE, 4, 1, 4, 4),
    (LARGE, 4, 9000, 4, 6),
    (LARGE, 20, 1, 20, 20),
]


def aborts(world: TransactionWorld, pid: Pid, count: int, size: int, first: int = 0) -> None:
    """Write aborted transactions of one batch each."""
    for sequence in range(first, first + count):
        world.add(pid)
        assert world.write(pid, sequence, value=b"x" * size) == 0
        world.end(pid, False)


def listed(world: TransactionWorld, offset: int, most: int = 1) -> list[int]:
    row = world.fetch(offset, isolation_level=1, partition={"partition_max_bytes": most})
    return [each.first_offset for each in row.aborted_transactions]


@for_each("size, offset, most, first, last", LISTED)
def test_the_list_ends_at_an_entry_of_the_index(size: int, offset: int, most: int, first: int, last: int) -> None:
    world = TransactionWorld("kafka-4.3")
    aborts(world, world.init(), 12, size)
    assert listed(world, offset, most) == list(range(first, last + 1, 2))


def test_aborts_behind_an_open_transaction_are_listed_where_something_is_handed_out() -> None:
    """The producer x aborts at 0, 2, 4, 7, 9 and 11, and the transaction of y is open from 6 on."""
    world = TransactionWorld("kafka-4.3")
    pid, other = world.init(), world.init("y")
    aborts(world, pid, 3, 3000)
    world.add(other, name="y")
    world.write(other, name="y", value=b"x" * 100)
    aborts(world, pid, 3, 3000, first=3)
    seen = {offset: [listed(world, offset), listed(world, offset, 100_000)] for offset in (0, 2, 4, 6, 7)}
    assert seen == {0: [[0, 2], [0, 2, 4, 7]], 2: [[2, 4, 7]] * 2, 4: [[4, 7]] * 2, 6: [[], []], 7: [[], []]}


def test_what_was_deleted_takes_its_entries_along() -> None:
    world = TransactionWorld("kafka-4.3")
    aborts(world, world.init(), 12, LARGE)
    log = world.topics.require_partition("t", 0)
    before = listed(world, 20)
    log.delete_before(18)
    assert (before, listed(world, 18), listed(world, 20)) == ([20], [18], [20])


def test_each_segment_has_an_index_of_its_own() -> None:
    """A transaction that ends with the segment is after all entries of that index, so the next segment's beginning counts."""
    index = OffsetIndex()
    for number in range(8):  # Each segment holds four batches of 3000 bytes.
        index.wrote(number // 4 * 4, number, number * 3000, 3000)
    assert [index.behind(place) for place in (1, 6000, 6001, 9000, 12_000, 12_001, 18_000, 18_001)] == [2, 4, 4, 4, 4, 6, None, None]
    index.trim(15_000)
    assert [index.behind(place) for place in (15_001, 18_001)] == [6, None]
