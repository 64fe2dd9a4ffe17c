"""The judge of exactly-once runs reports each kind of error in one sentence and nothing else."""

from __future__ import annotations

from typing import Final

from cases import for_each
from exactly_once import amounts, read_committed, together
from offsets_world import OffsetsWorld

from groupmock_codec.records import read_batches

AMOUNTS: Final[dict[str, tuple[list[bytes], bool, list[str]]]] = {
    "as it should be": ([b"b", b"a"], True, []),
    "twice": ([b"a", b"b", b"b"], True, ["b was read 2 times, not 1"]),
    "lost": ([b"a"], True, ["b was read 0 times, not 1"]),
    "not yet there": ([b"a"], False, []),
    "nobody's": ([b"a", b"b", b"c"], False, ["c was read and never committed"]),
}


@for_each(("seen", "everything", "wrong"), AMOUNTS.values(), ids=AMOUNTS)
def test_each_committed_record_once_and_no_other(seen: list[bytes], everything: bool, wrong: list[str]) -> None:
    assert amounts(seen, [b"a", b"b"], everything) == wrong


TOGETHER: Final[dict[str, tuple[dict[int, int], list[bytes], list[str]]]] = {
    "as it should be": ({0: 1, 1: 1}, [b"a", b"c"], []),
    "nothing yet": ({}, [], []),
    "offsets without records": ({0: 2, 1: 1}, [b"a", b"c"], ["offset 2 of partition 0 is committed, and b below it is not there"]),
    "records without offsets": ({1: 1}, [b"a", b"c"], ["a is there, and offset 0 of partition 0 says that it was not read"]),
}


@for_each(("offsets", "seen", "wrong"), TOGETHER.values(), ids=TOGETHER)
def test_offsets_and_records_appear_together(offsets: dict[int, int], seen: list[bytes], wrong: list[str]) -> None:
    assert together({0: [b"a", b"b"], 1: [b"c"]}, offsets, seen) == wrong


def test_a_reader_leaves_out_what_was_aborted_by_the_list_beside_the_records() -> None:
    """A producer aborts, commits and aborts again, and only the list of aborted transactions distinguishes these records."""
    world = OffsetsWorld()
    for commit in (False, True, False):
        pid = world.init()
        world.add(pid)
        world.write(pid)
        world.end(pid, commit)
    row = world.ask_partition(0)
    assert len([each for each in read_batches(row.records) if not each.control]) == 3
    assert list(read_committed(row.records, row.aborted_transactions)) == [b"v"]
    assert list(read_committed(row.records, [])) == [b"v"] * 3
