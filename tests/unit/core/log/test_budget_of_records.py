"""One request decompresses and inspects a bounded number of records; beyond that it is refused or left to the next request."""

from __future__ import annotations

import gzip
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from cases import for_each
from log_world import LogWorld, fetch_request, produce_request

from groupmock.core.log.validation import MOST_FAULTS
from groupmock.core.settings import Quirks
from groupmock_codec import error_codes
from groupmock_codec.compression import GZIP, NONE, OverLimit
from groupmock_codec.crc import crc32c
from groupmock_codec.error_codes import MESSAGE_TOO_LARGE
from groupmock_codec.message_sets import encode_message_set, read_message_set
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.records import HEADER, HEADER_BYTES, NewRecord, Record, RecordsError, encode_batch, read_batches
from groupmock_codec.room import CONVERTED, OPENED, Room

STAMP = 1_000


def many(count: int, compression: str = "none", key: bytes | None = b"k", stamp: int = STAMP) -> bytes:
    """Return a batch of `count` small records with timestamps one millisecond apart."""
    return encode_batch([NewRecord(key, b"v", (), stamp + n) for n in range(count)], compression=compression)


def repeated(payload: bytes, count: int) -> bytes:
    """Return a gzip batch of these bytes whose header claims `count` records and whose checksum is valid."""
    packed = gzip.compress(payload, 1, mtime=0)
    fields = read_batches(many(1))[0]._replace(attributes=1, last_offset_delta=count - 1, records_count=count)
    values = {**fields._asdict(), "batch_length": HEADER_BYTES - 12 + len(packed), "crc": 0}
    del values["data"]
    values["crc"] = crc32c()(HEADER.pack(*values.values())[21:] + packed)
    return HEADER.pack(*values.values()) + packed


def world_of(partitions: int = 1, **settings: Any) -> LogWorld:
    """Return a cluster with the topic t, all of whose partitions have one leader."""
    world = LogWorld(**settings)
    world.topic(partitions=partitions)
    return world


def peak_of(world: LogWorld, batch: bytes) -> tuple[Any, int]:
    """Return the answer of a Produce and its peak memory in bytes."""
    tracemalloc.start()
    try:
        row = world.produce(batch)
        return row, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_million_records_in_ten_kilobytes_are_refused_unread() -> None:
    world = world_of()
    record = many(1)[HEADER_BYTES:]
    # With the default limits this batch once took 5.3 s and 1 GB.
    row, peak = peak_of(world, repeated(record * 900_000, 900_000))
    assert (row["error_code"], "record_errors" in row) == (MESSAGE_TOO_LARGE, False)
    assert row["error_message"] == "More records than one request may bring: 900000 records where 100000 are left."
    assert peak < 20_000_000
    # A record that decompresses to more than the limit is not built at all.
    row, peak = peak_of(world, repeated(bytes(100_000_000), 1))
    assert row["error_message"] == "More records than one request may bring: more than 8388608 bytes when decompressed."
    assert peak < 20_000_000
    assert world.produce(many(10_000, "gzip"))["log_start_offset"] == 0


@for_each(
    ("settings", "batch", "code"),
    [
        ({"request_max_records": 100}, many(100), 0),
        ({"request_max_records": 100}, many(101), MESSAGE_TOO_LARGE),
        ({"request_max_records": 100}, many(101, "gzip"), MESSAGE_TOO_LARGE),
        ({"request_max_decompressed_bytes": len(many(50)) - HEADER_BYTES}, many(50, "gzip"), 0),
        ({"request_max_decompressed_bytes": len(many(50)) - HEADER_BYTES - 1}, many(50, "gzip"), MESSAGE_TOO_LARGE),
        # Uncompressed records do not count, because their sender had to send all the bytes.
        ({"request_max_decompressed_bytes": 1}, many(50), 0),
        # Inspecting the timestamps counts as additional work, so fewer records are allowed.
        ({"request_max_records": 100, "log_message_timestamp_before_max_ms": 2**62}, many(100 // (1 + OPENED)), 0),
        ({"request_max_records": 100, "log_message_timestamp_before_max_ms": 2**62}, many(100 // (1 + OPENED) + 1), MESSAGE_TOO_LARGE),
    ],
)
def test_the_last_record_allowed_and_the_first_refused(settings: dict[str, int], batch: bytes, code: int) -> None:
    assert world_of(**settings).produce(batch).get("error_code", 0) == code


def test_the_batches_of_one_request_share_one_budget() -> None:
    world = world_of(3, request_max_records=250)
    data = [PartitionProduceData(index=place, records=many(100)) for place in range(3)]
    ask = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=data)])
    assert [row.error_code for row in world.ask(0, 12, ask).responses[0].partition_responses] == [0, 0, MESSAGE_TOO_LARGE]
    assert [row.error_code for row in world.ask(0, 12, ask).responses[0].partition_responses] == [0, 0, MESSAGE_TOO_LARGE]


@for_each(("size", "spoil", "code"), [(200_000, 0, error_codes.MESSAGE_TOO_LARGE), (90_000, 1, error_codes.CORRUPT_MESSAGE)])
def test_what_was_unpacked_in_vain_is_spent(size: int, spoil: int, code: int) -> None:
    # Without a common limit each of a thousand partitions would decompress 8 MB before its size or checksum is refused.
    packed = bytearray(gzip.compress(bytes(size), mtime=0))
    packed[-8] ^= spoil
    room = Room(100_000, 10)
    with pytest.raises(RecordsError) as caught:
        room.opened(bytes(packed), GZIP)
    assert (caught.value.error_code, room.bytes) == (code, 0)
    with pytest.raises(OverLimit, match="no more bytes may be decompressed"):
        room.opened(gzip.compress(b"x"), GZIP)
    assert room.opened(b"x", NONE) == b"x"


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_share_it(magic: int, compression: str) -> None:
    world = world_of(request_max_records=100 * CONVERTED)
    few, more = ([Record(n, -1, None, b"v") for n in range(count)] for count in (90, 101))
    assert world.produce(encode_message_set(few, magic, compression), version=2).get("error_code", 0) == 0
    assert world.produce(encode_message_set(more, magic, compression), version=2)["error_code"] == MESSAGE_TOO_LARGE


def test_many_batches_of_an_old_produce_are_not_all_read() -> None:
    world = world_of(request_max_records=1000)
    assert world.produce(many(1) * 19, version=2).get("error_code", 0) == 0
    assert world.produce(many(1) * 21, version=2)["error_code"] == MESSAGE_TOO_LARGE


@for_each(
    ("configs", "batch", "code"),
    [
        ({"cleanup_policy": "compact"}, many(MOST_FAULTS + 5, key=None), 87),
        ({"message_timestamp_after_max_ms": "0"}, many(MOST_FAULTS + 5, stamp=2**60), 32),
    ],
)
def test_record_errors_end_but_are_all_counted(configs: dict[str, str], batch: bytes, code: int) -> None:
    world = LogWorld()
    world.topic(**configs)
    row = world.produce(batch)
    assert (row["error_code"], len(row["record_errors"])) == (code, MOST_FAULTS)
    assert row["record_errors"][-1]["batch_index"] == MOST_FAULTS - 1
    if code == 87:
        assert f"rejected due to {MOST_FAULTS + 5} record errors in total" in row["error_message"]


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_an_old_client_reads_a_batch_in_parts_and_misses_nothing(compression: str) -> None:
    world = world_of(request_max_records=10 * CONVERTED)
    world.append(many(25, compression), many(3, compression), many(25, compression))
    seen: list[int] = []
    for _ in range(10):
        found = read_message_set(world.fetch(seen[-1] + 1 if seen else 0, version=3).records)
        seen += [record.offset for record in found if not seen or record.offset > seen[-1]]
        assert len(found) <= 10
    assert seen == list(range(53))


def test_the_partitions_of_one_old_fetch_share_one_budget() -> None:
    world = world_of(3, request_max_records=10 * CONVERTED)
    for partition in range(3):
        world.append(many(6), partition=partition)
    rows = world.ask(1, 3, fetch_request(("t", 0, 0), ("t", 1, 0), ("t", 2, 0), max_bytes=1 << 20)).responses[0].partitions
    assert [len(read_message_set(row.records)) for row in rows] == [6, 4, 0]
    assert [(row.error_code, row.high_watermark) for row in rows] == [(0, 6)] * 3


def by_time(world: LogWorld, *wanted: tuple[int, int], version: int = 7) -> list[tuple[int, int]]:
    """Send ListOffsets for (partition, timestamp) pairs and return (error, offset) of each."""
    partitions = [ListOffsetsPartition(partition_index=partition, timestamp=timestamp) for partition, timestamp in wanted]
    rows = world.ask(2, version, ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=partitions)])).topics[0].partitions
    return [(row.error_code, row.offset) for row in sorted(rows, key=lambda row: row.partition_index)]


@for_each("timestamp", [STAMP + 5, -3])
def test_what_a_list_offsets_did_not_get_to_is_asked_for_again(timestamp: int) -> None:
    world = world_of(3, request_max_records=100)
    for partition in range(3):
        world.append(many(90, "gzip"), partition=partition)
    found = 5 if timestamp > 0 else 89
    # The first look-up is always answered, and clients repeat only those that answered OFFSET_NOT_AVAILABLE (78).
    assert by_time(world, (0, timestamp), (1, timestamp), (2, timestamp)) == [(0, found), (78, -1), (78, -1)]
    assert by_time(world, (1, timestamp)) == [(0, found)]
    if timestamp > 0:
        assert by_time(world, (1, timestamp), (2, timestamp), version=4) == [(0, found), (5, -1)]


def test_a_partition_named_often_is_not_opened_at_all() -> None:
    world = world_of(1, request_max_records=100, quirks=Quirks(list_offsets_in_order=True))
    world.append(many(90, "gzip"))
    assert by_time(world, *[(0, STAMP)] * 500) == [(42, -1)] * 500


def test_a_time_is_found_as_if_every_batch_were_looked_at() -> None:
    world = world_of(1, log_retention_bytes=40 * len(many(2)))
    partition = world.topics.require("t").partitions[0]
    stamps = [(7 * n * n + 3 * n) % 101 for n in range(200)]
    for number, stamp in enumerate(stamps):
        world.append(many(2, "gzip" if number % 3 else "none", stamp=STAMP + stamp))
        if number % 17 == 0:
            partition.delete_before(partition.start + 3)
        held = [(STAMP + stamps[offset // 2] + offset % 2, offset) for offset in range(partition.start, partition.end)]
        for wanted in range(STAMP, STAMP + 104, 9):
            expected = next((offset for stamp, offset in held if stamp >= wanted), -1)
            assert partition.by_timestamp(wanted, world.environment.settings.room()).offset == expected, (number, wanted)
    assert partition.start > 100


def test_dropping_old_batches_keeps_what_is_left() -> None:
    world = world_of()
    partition = world.topics.require("t").partitions[0]
    for _ in range(500):
        world.append(many(2))
    for start in (1, 2, 3, 127, 128, 600, 601, 999):
        partition.delete_before(start)
        held = [batch.base_offset for batch in partition.batches()]
        assert held == list(range(start - start % 2, 1000, 2))
        assert partition.size == len(held) * len(many(2))
        assert all(after - before == 2 for before, after in pairwise(held))
    partition.delete_before(1000)
    assert (list(partition.batches()), partition.size, partition.available(1000)) == ([], 0, 0)
    world.append(many(2))
    assert [batch.base_offset for batch in partition.batches()] == [1000]


def test_a_header_that_lies_about_its_newest_record_does_not_hide_the_next_batch() -> None:
    world = world_of(1, request_max_records=100)
    batch = read_batches(many(3))[0]
    lying = HEADER.pack(*batch._replace(max_timestamp=STAMP + 500)[:-1])
    lying = lying[:17] + crc32c()(lying[21:] + batch.data[HEADER_BYTES:]).to_bytes(4, "big") + lying[21:] + batch.data[HEADER_BYTES:]
    world.append(lying, many(3, stamp=STAMP + 100))
    assert by_time(world, (0, STAMP + 100)) == [(0, 3)]
    world.append(*[lying] * 200)
    assert by_time(world, (0, STAMP + 200)) == [(78, -1)]


def test_a_record_that_cannot_be_read_is_an_error_and_no_defect() -> None:
    world = world_of()
    broken = bytearray(many(1)[HEADER_BYTES:])
    broken[4] = 0x7E  # The key of this record is longer than the record.
    assert world.produce(repeated(bytes(broken), 1)).get("error_code", 0) == 0
    assert by_time(world, (0, 0)) == [(87, -1)]


def test_produce_says_so_to_who_wants_no_answer() -> None:
    world = world_of(request_max_records=16)
    ticket = world.send(0, 12, produce_request(many(17), acks=0))
    assert world.outcome(ticket) == "closed"
