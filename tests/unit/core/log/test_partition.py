"""Tests a log alone: reading across batches, retention, log start offset, epochs, and remembered producers."""

from __future__ import annotations

import random

from cases import for_each
from log_world import WALL_MS, batch

from groupmock.core.log.limits import LogLimits
from groupmock.core.log.partition import Partition
from groupmock_codec.records import read_batches

LIMITS = LogLimits(
    compact=False,
    max_message_bytes=1 << 20,
    log_append_time=False,
    before_max_ms=1 << 62,
    after_max_ms=1 << 62,
    retention_bytes=-1,
    producer_expiration_ms=86_400_000,
)


def filled(*counts: int, limits: LogLimits = LIMITS) -> Partition:
    log = Partition(0, [1])
    for count in counts:
        log.append(read_batches(batch(*[b"x" * 10] * count)), limits, WALL_MS)
    return log


def test_an_empty_log() -> None:
    log = Partition(3, [2, 1])
    assert (log.leader, log.start, log.end, log.size, log.read(0, 100, True), log.available(0), log.first_size(0)) == (
        2,
        0,
        0,
        0,
        b"",
        0,
        0,
    )


def test_batches_are_moved_to_their_offsets_and_stay_sound() -> None:
    log = filled(2, 1, 3)
    stored = list(log.batches())
    assert [(each.base_offset, each.last_offset, each.leader_epoch, each.crc_holds) for each in stored] == [
        (0, 1, 0, True),
        (2, 2, 0, True),
        (3, 5, 0, True),
    ]
    assert read_batches(log.read(0, 1 << 20, True)) == stored


@for_each("seed", range(20))
def test_reads_are_slices_of_the_whole_log(seed: int) -> None:
    dice = random.Random(seed)
    log = filled(*(dice.randint(1, 4) for _ in range(150)))
    log.delete_before(dice.randrange(log.end))
    stored = list(log.batches())
    for _ in range(200):
        offset = dice.randint(log.start, log.end)
        wanted = b"".join(each.data for each in stored if each.last_offset >= offset)
        limit = dice.choice((0, 1, 60, 100, 1000, 10**6))
        first = next((len(each.data) for each in stored if each.last_offset >= offset), 0)
        assert log.available(offset) == len(wanted), seed
        assert log.first_size(offset) == first, seed
        assert log.read(offset, limit, False) == wanted[:limit], seed
        assert log.read(offset, limit, True) == wanted[: max(limit, first)], seed


def test_retention_drops_whole_batches_but_never_falls_below_its_size() -> None:
    size = len(batch(b"x" * 10))
    log = filled(*[1] * 10, limits=LIMITS._replace(retention_bytes=3 * size))
    assert (log.start, log.end, log.size) == (7, 10, 3 * size)
    log = filled(*[1] * 10, limits=LIMITS._replace(retention_bytes=3 * size - 1))
    assert (log.start, log.size) == (7, 3 * size)
    log = filled(*[1] * 10, limits=LIMITS._replace(retention_bytes=0))
    assert (log.start, log.end, log.size) == (9, 10, size)


def test_memory_is_bounded_over_many_appends() -> None:
    limits = LIMITS._replace(retention_bytes=2000)
    log = filled(*[1] * 3000, limits=limits)
    assert log.size <= 2000 + len(batch(b"x" * 10))
    assert len(log._batches) < 200
    assert (log.end, read_batches(log.read(log.start, 1 << 20, True))[0].base_offset) == (3000, log.start)


def test_deleting_everything() -> None:
    log = filled(2, 2)
    log.delete_before(4)
    assert (log.start, log.end, log.size, list(log.batches()), log.read(4, 100, True)) == (4, 4, 0, [], b"")
    log.append(read_batches(batch()), LIMITS, WALL_MS)
    assert [each.base_offset for each in log.batches()] == [4]


def test_epochs() -> None:
    log = filled(2)
    log.lead(2)
    log.lead(1)
    log.append(read_batches(batch()), LIMITS, WALL_MS)
    assert [(each.epoch, each.start) for each in log.epochs] == [(0, 0), (2, 2)]
    assert [log.epoch_at(offset) for offset in (0, 1, 2, 3)] == [0, 0, 2, 2]
    assert [each.leader_epoch for each in log.batches()] == [0, 2]
    assert [tuple(log.epoch_end(epoch)) for epoch in (-2, -1, 0, 1, 2, 3)] == [(-2, 0), (-1, -1), (0, 2), (0, 2), (2, 3), (-1, -1)]


def test_epochs_shrink_with_the_log() -> None:
    log = filled(2, 2)
    log.lead(2)
    log.append(read_batches(batch(b"a", b"b")), LIMITS, WALL_MS)
    log.delete_before(1)
    assert [tuple(each) for each in log.epochs] == [(0, 1), (1, 4)]
    log.delete_before(5)
    assert [tuple(each) for each in log.epochs] == [(1, 5)]
    assert [tuple(log.epoch_end(epoch)) for epoch in (-2, 0, 1)] == [(-2, 5), (0, 5), (1, 6)]


def test_a_repeated_batch_does_not_grow_the_log() -> None:
    log = Partition(0, [1])
    data = read_batches(batch(b"a", b"b", producer_id=1, producer_epoch=0, base_sequence=0))
    first, again = (log.append(data, LIMITS, WALL_MS) for _ in range(2))
    assert (first.grew, again.grew, again.base_offset, again.log_append_time, log.end) == (True, False, 0, WALL_MS + 1, 2)
