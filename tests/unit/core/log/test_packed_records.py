"""A log that decompresses snappy, lz4 and zstd answers as Kafka 4.3.0 and 3.9.1."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from struct import pack

import pytest
from cases import for_each
from log_world import WALL_MS, LogWorld
from packed import PACKED, NewRecord, packed

from groupmock_codec.compression import COMPRESSIONS, OverLimit
from groupmock_codec.messages.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from groupmock_codec.opening import unpacked
from groupmock_codec.room import Room

RECORDS = [NewRecord(key=b"k", value=b"v" * 20, timestamp=WALL_MS + place) for place in range(3)]
KEYLESS = [NewRecord(key=None, value=b"v", timestamp=WALL_MS)]


def opening_log(**configs: str) -> LogWorld:
    """Return a log with one topic, t."""
    world = LogWorld(compression_open=True)
    world.topic("t", **configs)
    return world


@for_each("name", PACKED)
def test_keys_and_times_are_looked_at(name: str) -> None:
    answers = [
        opening_log().produce(packed(name, RECORDS).data).get("error_code"),
        opening_log(cleanup_policy="compact").produce(packed(name, KEYLESS).data).get("error_code"),
        opening_log(message_timestamp_before_max_ms="1").produce(packed(name, [RECORDS[0]._replace(timestamp=1)]).data).get("error_code"),
    ]
    assert answers == [None, 87, 32]


@for_each("name", PACKED)
def test_a_look_up_by_time_finds_the_record_within_its_batch(name: str) -> None:
    world = opening_log()
    world.produce(packed(name, RECORDS).data)
    row = ListOffsetsPartition(partition_index=0, timestamp=WALL_MS + 1)
    answer = world.ask(2, 5, ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[row])])).topics[0].partitions[0]
    assert (answer.offset, answer.timestamp) == (1, WALL_MS + 1)


def cut(data: bytes) -> bytes:
    return data[:-1]


def followed(data: bytes) -> bytes:
    return data + b"x"


def twice(data: bytes) -> bytes:
    return data + data


def nothing(data: bytes) -> bytes:
    return b""


def junk(data: bytes) -> bytes:
    return b"\1\2\3" * 10


@for_each(
    ("spoiled", "wanted"),
    [
        (cut, (-1, -1, -1, -1)),
        (followed, (None, -1, None, -1)),
        (twice, (87, -1, None, 87)),
        (nothing, (-1, -1, -1, 87)),
        (junk, (-1, -1, -1, -1)),
    ],
)
def test_each_stream_ends_where_kafka_says(spoiled: Callable[[bytes], bytes], wanted: tuple[int | None, ...]) -> None:
    """Kafka reads only the first lz4 frame, and all blocks of zstd and snappy-java."""
    found = tuple(opening_log().produce(packed(name, RECORDS, spoiled).data).get("error_code") for name in PACKED)
    assert found == wanted


def test_no_more_is_unpacked_than_a_request_may_bring() -> None:
    world = LogWorld(compression_open=True, request_max_decompressed_bytes=100_000)
    world.topic("t")
    bomb = [NewRecord(value=bytes(300_000), timestamp=WALL_MS)]
    assert [world.produce(packed(name, bomb).data).get("error_code") for name in PACKED] == [10, 10, 10, 10]


EMPTY_BLOCKS = {
    "gzip": gzip.compress(b"") * 1000,
    "snappy": b"\x82SNAPPY\0" + pack(">ii", 1, 1) + pack(">iB", 1, 0) * 1000,
    "lz4": bytes.fromhex("04224d18604082") + bytes.fromhex("0100008061") * 1000 + bytes(4),
}


@for_each("name", EMPTY_BLOCKS)
def test_blocks_of_nothing_are_work_that_nothing_pays_for(name: str) -> None:
    """A megabyte of empty blocks once took half a second in one turn, and of empty gzip members five seconds."""
    with pytest.raises(OverLimit):
        unpacked(EMPTY_BLOCKS[name], COMPRESSIONS.index(name), 8_388_608)


def test_what_is_unpacked_in_vain_is_spent_by_what_it_may_have_become() -> None:
    """Three bytes of zstd may decompress to 128 KiB, so a request with thirty small bombs must not try all of them."""
    room = Room(1_000_000, 1_000, opens_all=True)
    with pytest.raises(OverLimit):
        room.opened(PACKED["zstd"](bytes(2_000_000)), COMPRESSIONS.index("zstd"))
    assert room.bytes == 0
