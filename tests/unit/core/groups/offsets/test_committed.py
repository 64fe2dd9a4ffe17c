from __future__ import annotations

from groupmock.core.groups.offsets.committed import CommittedOffsets, Offset
from groupmock.core.java.hashes import java_hash, partition_hash
from groupmock.core.java.orders import java_order, scala_table_order
from groupmock.core.work import at_once

SOME = Offset(1, -1, "", 0)


def filled(*places: tuple[str, int]) -> CommittedOffsets:
    offsets = CommittedOffsets()
    for place in places:
        offsets[place] = SOME
    return offsets


def test_partitions_lie_in_the_slots_of_kafkas_table() -> None:
    """With two slots, the top bit of the hash times 2^64 over the golden ratio decides: 1 is in the upper slot and 2 in the lower."""
    assert filled(("t", 0), ("t", 1)).listed(scala=False) == [("t", 0), ("t", 1)]
    assert filled(("t", 1), ("t", 2)).listed(scala=False) == [("t", 2), ("t", 1)]


def test_within_a_slot_the_last_comes_first() -> None:
    assert filled(("t", 0), ("t", 2)).listed(scala=False) == [("t", 2), ("t", 0)]
    assert filled(("t", 2), ("t", 0)).listed(scala=False) == [("t", 0), ("t", 2)]


def test_a_table_grows_when_an_entry_is_replaced_too_and_never_shrinks() -> None:
    offsets = filled(("t", 0), ("t", 2))
    offsets["t", 2] = SOME  # The hash table has four slots now, and both offsets 2 and 0 are in the first slot.
    before = offsets.listed(scala=False)
    offsets["t", 3] = SOME
    offsets.discard(("t", 3))
    assert offsets.listed(scala=False) == before


def test_a_topic_that_lost_all_offsets_begins_anew() -> None:
    offsets = filled(*(("t", index) for index in range(40)), ("u", 0))
    for index in range(40):
        offsets.discard(("t", index))
    assert offsets.listed(scala=False) == [("u", 0)]
    offsets["t", 1] = offsets["t", 2] = SOME
    assert [at for at in offsets.listed(scala=False) if at[0] == "t"] == [("t", 2), ("t", 1)]
    offsets.clear()
    assert offsets.listed(scala=False) == [] and not offsets


def test_the_old_coordinator_lists_in_scalas_order() -> None:
    places = [("t", index) for index in range(9)]
    assert sorted(filled(*places).listed(scala=True)) == places
    assert filled(*places).listed(scala=True) != places


def test_groups_are_described_by_offsets_partition_as_kafka_4_3_did() -> None:
    """A running Kafka broker answered partitions 0 to 4 of __consumer_offsets in the order 0, 3, 4, 1, 2."""
    order = java_order((("__consumer_offsets", index) for index in (4, 3, 1, 0, 2)), partition_hash)
    assert [index for _, index in order] == [0, 3, 4, 1, 2]


def test_names_in_scalas_table_are_each_there_once() -> None:
    assert sorted(scala_table_order(["b", "a", "b", "c"], java_hash)) == ["a", "b", "c"]


def test_offsets_that_a_transaction_writes_twice_are_listed_in_the_order_of_the_larger_table() -> None:
    """Kafka's table of pending offsets grows when an entry is replaced, too (BaseHashTable); partitions 3 and 1 as seen on 4.4.0."""
    found = []
    for writes in ([1, 3], [1, 3, 1]):
        offsets = CommittedOffsets()
        for partition in writes:
            offsets.commit_in_transaction(7, [(("shared-1-4", partition), SOME)])
        assert at_once(offsets.end_transaction(7, committed=True)) == 2
        found.append([partition for _, partition in offsets.listed(scala=False)])
    assert found == [[1, 3], [3, 1]]
