"""Compaction on command (cleanup.policy=compact) keeps the newest record of each key, changes no offset, and leaves readable batches.

What a round leaves of a log was compared with Apache Kafka, batch by batch (tests/live/kafka/test_compaction_on_kafka.py); here are the
rules one by one, and what must hold of any log.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest
from cases import for_each
from log_world import LogWorld, batch
from searching import seeds
from transaction_world import TRANSACTIONAL, TransactionWorld

from groupmock.core.steering import NoSuch, NotNow
from groupmock_codec.messages.k21_delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from groupmock_codec.records import Batch, NewRecord, Record, decode_records, encode_batch, read_batches

Kept = list[tuple[int, bytes | None, bytes | None]]
LAG_MS = 5000


def world_of(**configs: str) -> LogWorld:
    """Return a world with a compacted topic t."""
    world = LogWorld()
    world.topic("t", **{"cleanup_policy": "compact", **configs})
    return world


def stored(world: LogWorld) -> list[Batch]:
    return list(world.topics.batches("t", 0))


def kept(world: LogWorld) -> Kept:
    """Return offset, key and value of every record."""
    return [(each.offset, each.key, each.value) for one in stored(world) for each in decode_records(one)]


def compact(world: LogWorld, roll: bool = True) -> None:
    world.command("compact_topic", topic="t", roll=roll)


def keyed(*pairs: tuple[bytes, bytes | None], **how: Any) -> bytes:
    """Return a batch of these keys and values."""
    return batch(*(value for _, value in pairs), keys=[key for key, _ in pairs], **how)


def test_the_newest_record_of_each_key_stays_where_it_was() -> None:
    world = world_of()
    world.append(keyed((b"a", b"1"), (b"b", b"2"), (b"a", b"3")), keyed((b"c", b"4"), (b"a", b"5")))
    compact(world)
    assert kept(world) == [(1, b"b", b"2"), (3, b"c", b"4"), (4, b"a", b"5")]
    assert world.notes("log_compacted") == [{"topic": "t", "partition": 0, "cleaned_to": 5, "gone": 2, "opaque": 0}]
    assert [(one.base_offset, one.last_offset, one.crc_holds) for one in stored(world)] == [(0, 2, True), (3, 4, True)]


def test_the_active_segment_stays_as_it_is() -> None:
    world = world_of()
    world.append(keyed((b"a", b"1")), keyed((b"a", b"2")))
    compact(world, roll=False)
    assert (len(kept(world)), world.notes("log_compacted")) == (2, [])
    compact(world)
    world.append(keyed((b"a", b"3")))
    compact(world, roll=False)
    assert kept(world) == [(1, b"a", b"2"), (2, b"a", b"3")], "what follows the roll is the active segment"


def test_a_segment_that_rolled_by_itself_may_be_cleaned() -> None:
    world = world_of(segment_ms="1000")
    world.append(keyed((b"a", b"1")), keyed((b"a", b"2")), keyed((b"a", b"3"), timestamp=1_700_000_600_000))
    compact(world, roll=False)
    assert kept(world) == [(1, b"a", b"2"), (2, b"a", b"3")]


def test_max_compaction_lag_rolls_too() -> None:
    world = world_of(max_compaction_lag_ms="1000")
    world.append(keyed((b"a", b"1")), keyed((b"a", b"2")), keyed((b"a", b"3"), timestamp=1_700_000_600_000))
    compact(world, roll=False)
    assert len(kept(world)) == 2


def test_a_young_segment_waits_for_min_compaction_lag() -> None:
    world = world_of(min_compaction_lag_ms=str(LAG_MS))
    world.append(keyed((b"a", b"1")), keyed((b"a", b"2")))
    compact(world)
    assert len(kept(world)) == 2
    world.sleep(LAG_MS + 1)
    compact(world, roll=False)
    assert kept(world) == [(1, b"a", b"2")]


def test_a_tombstone_stays_for_delete_retention_and_then_goes() -> None:
    world = world_of(delete_retention_ms="3000")
    world.append(keyed((b"a", b"1"), (b"b", b"2")), keyed((b"a", None), (b"c", b"3")))
    compact(world)
    assert kept(world) == [(1, b"b", b"2"), (2, b"a", None), (3, b"c", b"3")]
    horizon = world.environment.wall_ms(world.rig.now) + 3000
    assert [one.delete_horizon_ms for one in stored(world)] == [None, horizon]
    world.append(keyed((b"d", b"4")))
    compact(world)
    assert (2, b"a", None) in kept(world), "its time is not over"
    world.sleep(3000)
    world.append(keyed((b"e", b"5")))
    compact(world)
    assert kept(world) == [(1, b"b", b"2"), (3, b"c", b"3"), (4, b"d", b"4"), (5, b"e", b"5")]


def test_timestamps_survive_the_horizon_in_the_place_of_the_base_timestamp() -> None:
    world = world_of()
    world.append(keyed((b"a", None), (b"b", b"2")))
    before = [each.timestamp for one in stored(world) for each in decode_records(one)]
    compact(world)
    assert [each.timestamp for one in stored(world) for each in decode_records(one)] == before


def test_the_last_batch_of_a_producer_leaves_its_place() -> None:
    world = world_of()
    idempotent = {"producer_id": 7, "producer_epoch": 0}
    first = keyed((b"a", b"1"), base_sequence=0, **idempotent)
    world.append(first, keyed((b"a", b"2"), base_sequence=1, **idempotent), keyed((b"a", b"3")))
    compact(world)
    assert [(one.base_offset, one.records_count, one.producer_id) for one in stored(world)] == [(1, 0, 7), (2, 1, -1)]
    assert world.produce(keyed((b"a", b"2"), base_sequence=1, **idempotent))["base_offset"] == 1, "known as a repetition"
    assert world.produce(keyed((b"a", b"4"), base_sequence=2, **idempotent))["base_offset"] == 3


def test_a_record_without_a_key_counts_for_nothing() -> None:
    world = LogWorld()
    world.topic("t", cleanup_policy="delete")
    world.append(batch(b"keyless"), keyed((b"a", b"1")))
    world.command("configure_topic", name="t", set={"cleanup.policy": "compact"})
    compact(world)
    assert kept(world) == [(1, b"a", b"1")]


def test_what_cannot_be_opened_stays_and_keeps_tombstones_behind_it() -> None:
    world = world_of(delete_retention_ms="0")
    sealed = read_batches(keyed((b"a", b"old")))[0]
    opaque = bytearray(sealed.data)
    opaque[22] |= 4  # The batch header says zstd although the records are not compressed.
    world.append(bytes(opaque), keyed((b"a", None)), keyed((b"b", b"1")), keyed((b"b", b"2")))
    for _ in range(2):
        compact(world)
        world.sleep(10)
        world.append(keyed((b"c", b"1")))
    compact(world)
    offsets = [(one.base_offset, one.records_count) for one in stored(world)]
    assert (0, 1) in offsets and (1, 1) in offsets, "the tombstone hides what the opaque batch may say of its key"
    assert (2, 1) not in offsets
    assert world.notes("log_compacted")[-1]["opaque"] == 1


def test_a_fetch_in_a_gap_begins_at_the_next_batch() -> None:
    world = world_of()
    world.append(*(keyed((b"a", b"%d" % at)) for at in range(5)), keyed((b"b", b"5")))
    compact(world)
    for offset, first in ((0, 4), (3, 4), (4, 4), (5, 5)):
        row = world.fetch(offset)
        assert (row.error_code, read_batches(row.records)[0].base_offset, row.high_watermark) == (0, first, 6)
    assert world.fetch(6).records == b""


def test_the_log_start_stays_and_delete_records_is_minded() -> None:
    world = world_of(cleanup_policy="compact,delete")
    world.append(keyed((b"a", b"1")), keyed((b"b", b"2")), keyed((b"a", b"3")))
    world.ask(21, 2, DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(0, 1)])]))
    compact(world)
    assert (world.topics.require_partition("t", 0).start, kept(world)) == (1, [(1, b"b", b"2"), (2, b"a", b"3")])


def test_with_both_policies_age_still_drops_segments() -> None:
    world = world_of(cleanup_policy="compact,delete", retention_ms="3000")
    world.append(keyed((b"a", b"1")), keyed((b"b", b"2")))
    compact(world)
    assert len(kept(world)) == 2
    world.sleep(3001)
    world.command("retain_topic", topic="t")
    log = world.topics.require_partition("t", 0)
    assert (log.start, log.end, kept(world)) == (2, 2, [])


def test_retention_by_size_is_applied_when_it_is_ordered() -> None:
    world = world_of(cleanup_policy="delete")
    world.append(*(keyed((b"a", b"%d" % at)) for at in range(10)))
    world.command("configure_topic", name="t", set={"retention.bytes": "200"})
    assert world.topics.require_partition("t", 0).start == 0
    world.command("retain_topic", topic="t", partition=0)
    assert world.topics.require_partition("t", 0).start == 7
    assert world.notes("records_expired") == [{"topic": "t", "partition": 0, "log_start_offset": 7}]


def test_a_topic_that_is_only_compacted_loses_nothing_for_its_size() -> None:
    world = world_of(retention_bytes="1")
    world.append(*(keyed((b"%d" % at, b"v")) for at in range(20)))
    assert world.topics.require_partition("t", 0).start == 0


@for_each(
    ("configs", "command", "error"),
    [
        ({"cleanup_policy": "delete"}, "compact_topic", "topic 't' has cleanup.policy=delete: set it to compact"),
        ({"cleanup_policy": "compact"}, "retain_topic", "topic 't' has cleanup.policy=compact: set it to delete"),
    ],
)
def test_a_policy_that_does_not_ask_for_it_refuses(configs: dict[str, str], command: str, error: str) -> None:
    world = world_of(**configs)
    with pytest.raises(NotNow, match=error):
        world.command(command, topic="t")


def test_what_is_not_there_is_said() -> None:
    world = world_of()
    with pytest.raises(NoSuch, match="no topic 'u': there are t"):
        world.command("compact_topic", topic="u")
    with pytest.raises(NoSuch, match="no partition 3 of topic 't': there are 0 to 0"):
        world.command("compact_topic", topic="t", partition=3)


# -- what holds of any log ---------------------------------------------------------------------------------------------


class Drawn:
    """A random log with a few keys, tombstones, compressed and idempotent batches, and segment rolls, compactions and pauses in between."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.world = world_of(delete_retention_ms="1000", segment_ms="5000", cleanup_policy="compact,delete", retention_ms="-1")
        self.written: dict[int, Record] = {}
        self.sequences: dict[int, int] = {}

    def write(self) -> None:
        dice, log = self.dice, self.world.topics.require_partition("t", 0)
        count, stamp = dice.choice([1, 2, 5]), self.world.environment.wall_ms(self.world.rig.now)
        records = [
            NewRecord(key=dice.choice([b"a", b"b", b"c", b"d", b"e"]), value=dice.choice([None, b"v", b"w" * 40]), timestamp=stamp)
            for _ in range(count)
        ]
        how: dict[str, Any] = {"compression": dice.choice(["none", "none", "gzip"])}
        if dice.random() < 0.4:
            producer = dice.choice([1, 2])
            how |= {"producer_id": producer, "producer_epoch": 0, "base_sequence": self.sequences.get(producer, 0)}
            self.sequences[producer] = self.sequences.get(producer, 0) + count
        base = log.end
        self.world.append(encode_batch(records, **how))
        self.written |= {base + at: Record(base + at, stamp, each.key, each.value) for at, each in enumerate(records)}

    def play(self) -> None:
        for _ in range(30):
            act = self.dice.random()
            if act < 0.7:
                self.write()
            elif act < 0.85:
                self.world.sleep(self.dice.choice([1, 300, 2000, 6000]))
            else:
                compact(self.world, roll=self.dice.random() < 0.7)


def _last_of_each_key(records: list[Record]) -> dict[bytes | None, Record]:
    return {each.key: each for each in records}


@pytest.mark.property
def test_after_any_rounds_every_key_has_its_last_value_and_no_record_moved() -> None:
    for seed in seeds(150):
        drawn = Drawn(seed)
        drawn.play()
        compact(drawn.world)
        left = [each for one in stored(drawn.world) for each in decode_records(one)]
        assert all(drawn.written[each.offset] == each for each in left), f"seed {seed}: a record changed"
        wanted = {key: each for key, each in _last_of_each_key([*drawn.written.values()]).items() if each.value is not None}
        found = {key: each for key, each in _last_of_each_key(left).items() if each.value is not None}
        assert found == wanted, f"seed {seed}"
        assert [each.offset for each in left] == sorted({each.offset for each in left}), f"seed {seed}: out of order"
        _check_log(drawn.world, seed)


def _check_log(world: LogWorld, seed: int) -> None:
    """Check that the log's sizes and offsets fit its content."""
    log, batches = world.topics.require_partition("t", 0), stored(world)
    assert all(one.crc_holds for one in batches), f"seed {seed}"
    assert log.size == sum(len(one.data) for one in batches) == sum(segment.size for segment in log.segments.kept()), f"seed {seed}"
    assert all(one.last_offset < two.base_offset for one, two in pairwise(batches)), f"seed {seed}"
    bases = [segment.base_offset for segment in log.segments.kept()]
    assert bases == sorted(set(bases)) and log.cleaned_to <= log.end, f"seed {seed}"
    for offset in range(log.start, log.end + 1):
        behind = [one for one in batches if one.last_offset >= offset]
        assert log.available(offset) == sum(len(one.data) for one in behind), f"seed {seed} at {offset}"
        assert read_batches(log.read(offset, 1 << 20, True)) == behind, f"seed {seed} at {offset}"


def test_a_segment_with_an_open_transaction_is_not_cleaned_even_before_it() -> None:
    """Compaction neither removes the records of a segment with an open transaction nor removes older records because of them (as on
    4.4.0)."""
    world = TransactionWorld()
    world.topic("c", cleanup_policy="compact", segment_ms="1000")
    pid, later = world.init(), 1_700_000_600_000
    world.append(keyed((b"a", b"0")), keyed((b"a", b"1")), topic="c")
    world.append(keyed((b"a", b"2"), timestamp=later), keyed((b"b", b"3"), (b"b", b"4"), timestamp=later), topic="c")
    assert world.add(pid, topic="c") == [0]
    opened = keyed((b"b", b"5"), timestamp=later, producer_id=pid.id, producer_epoch=pid.epoch, base_sequence=0, attributes=TRANSACTIONAL)
    assert world.produce(opened, topic="c", transactional_id="x", version=10).get("error_code", 0) == 0
    world.append(keyed((b"b", b"6"), timestamp=later + 600_000), topic="c")
    world.command("compact_topic", topic="c", roll=True)
    found = [(each.offset, each.value) for one in world.topics.batches("c", 0) for each in decode_records(one)]
    assert found == [(1, b"1"), (2, b"2"), (3, b"3"), (4, b"4"), (5, b"5"), (6, b"6")]
