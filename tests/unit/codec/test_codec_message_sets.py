"""The record formats before v2 agree with kafka-python: conversion to and from a batch, and refused data."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from cases import for_each
from found import packed
from hypothesis import given
from hypothesis import strategies as st
from peer_records import MemoryRecords, MemoryRecordsBuilder
from properties.codec import MESSAGE_SETS
from searching import examples

from groupmock_codec import error_codes
from groupmock_codec.message_sets import down_convert, encode_message_set, read_message_set, up_convert
from groupmock_codec.records import NewRecord, Record, RecordsError, check_produced, decode_records, encode_batch, read_batches

NEW = [NewRecord(b"k", b"v", (), 1000), NewRecord(None, b"", (), 990), NewRecord(b"", None, (), 2000)]
OLD = [(0, b"k", b"v", 1000), (1, None, b"", 990), (2, b"", None, 2000)]
BOTH = for_each("magic", [0, 1])
COMPRESSIONS = for_each(("code", "name"), [(0, "none"), (1, "gzip")])
blobs = (st.none() | st.binary(max_size=60)).map(packed)
plain_records = st.tuples(blobs, blobs, st.just(()), st.integers(0, 2**50))


def written(magic: int, code: int) -> bytes:
    builder = MemoryRecordsBuilder(magic, code, 100_000)
    for _, key, value, timestamp in OLD:
        builder.append(timestamp=timestamp if magic else None, key=key, value=value)
    builder.close()
    return bytes(builder.buffer())


def theirs(data: bytes) -> list[tuple[Any, ...]]:
    found, reader = [], MemoryRecords(data)
    while (batch := reader.next_batch()) is not None:
        found += [(record.offset, record.key, record.value, record.timestamp) for record in batch]
    return found


def stamp(magic: int, timestamp: int) -> int:
    return timestamp if magic else -1


@BOTH
@COMPRESSIONS
def test_produced_message_sets_become_one_batch(magic: int, code: int, name: str) -> None:
    (batch,) = read_batches(up_convert(written(magic, code), base_offset=50, leader_epoch=2))
    check_produced(batch)
    assert (batch.compression, batch.base_offset, batch.leader_epoch) == (name, 50, 2)
    assert decode_records(batch) == [Record(50 + n, stamp(magic, time), key, value) for n, key, value, time in OLD]


@BOTH
@COMPRESSIONS
def test_old_clients_read_what_is_stored_as_batches(magic: int, code: int, name: str) -> None:
    batches = read_batches(encode_batch(NEW, 50, compression=name) + encode_batch(NEW, 53, compression=name))
    found = theirs(down_convert(batches, magic))
    expected = [(base + n, key, value, time if magic else None) for base in (50, 53) for n, key, value, time in OLD]
    assert found == expected


@BOTH
@COMPRESSIONS
def test_our_own_message_sets_come_back(magic: int, code: int, name: str) -> None:
    given = [Record(7 + n, stamp(magic, time), key, value) for n, key, value, time in OLD]
    assert read_message_set(encode_message_set(given, magic, name)) == given


@pytest.mark.property
@examples(80)
@given(
    magic=st.sampled_from([0, 1]),
    compression=st.sampled_from(["none", "gzip"]),
    records=st.lists(plain_records, min_size=1, max_size=6),
    base=st.integers(0, 2**40),
)
def test_down_and_up_again_loses_only_timestamps_of_magic_0(magic: int, compression: str, records: list[Any], base: int) -> None:
    MESSAGE_SETS.check({"magic": magic, "compression": compression, "records": records, "base": base})


@BOTH
def test_records_before_the_fetched_offset_are_left_out_of_uncompressed_batches(magic: int) -> None:
    batches = read_batches(encode_batch(NEW, 50))
    assert [record.offset for record in read_message_set(down_convert(batches, magic, first_offset=51))] == [51, 52]
    zipped = read_batches(encode_batch(NEW, 50, compression="gzip"))
    assert [record.offset for record in read_message_set(down_convert(zipped, magic, first_offset=51))] == [50, 51, 52]


def test_headers_and_control_batches_are_left_out() -> None:
    control = encode_batch(NEW, 0, attributes=0x20)
    data = encode_batch([NewRecord(b"k", b"v", [("h", b"x")], 5)], 3)
    assert read_message_set(down_convert(read_batches(control + data), 1)) == [Record(3, 5, b"k", b"v")]


def test_log_append_time_goes_down_to_magic_1() -> None:
    batch = read_batches(encode_batch(NEW, 0))[0].appended_at(4242)
    assert {record.timestamp for record in read_message_set(down_convert([batch], 1))} == {4242}
    zipped = read_batches(encode_batch(NEW, 0, compression="gzip"))[0].appended_at(4242)
    assert {record.timestamp for record in read_message_set(down_convert([zipped], 1))} == {4242}


@BOTH
@for_each("code", [2, 3, 4])
def test_other_compressions_are_refused_both_ways(magic: int, code: int) -> None:
    data = bytearray(encode_message_set([Record(0, 5, None, b"opaque")], magic))
    data[17] = code
    data[12:16] = zlib.crc32(bytes(data[16:])).to_bytes(4)
    stored = read_batches(encode_batch(NEW))[0]
    for convert in (lambda: up_convert(bytes(data)), lambda: down_convert([stored._replace(attributes=code)], magic)):
        with pytest.raises(RecordsError) as caught:
            convert()
        assert caught.value.error_code == error_codes.UNSUPPORTED_COMPRESSION_TYPE


@BOTH
def test_every_cut_is_refused(magic: int) -> None:
    whole = encode_message_set([Record(0, 5, b"key", b"value")], magic)
    for end in range(1, len(whole)):
        with pytest.raises(RecordsError) as caught:
            read_message_set(whole[:end])
        assert caught.value.error_code == error_codes.CORRUPT_MESSAGE


@BOTH
def test_every_flipped_bit_under_the_crc_is_refused(magic: int) -> None:
    whole = encode_message_set([Record(0, 5, b"key", b"value")], magic)
    for bit in range(12 * 8, len(whole) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RecordsError):
            read_message_set(bytes(flipped))


def wrapped(inner: bytes, offset: int) -> bytes:
    """Return `inner` as the value of one compressed message of magic 1."""
    import gzip

    data = bytearray(encode_message_set([Record(offset, 5, None, gzip.compress(inner))], 1))
    data[17] = 1
    data[12:16] = zlib.crc32(bytes(data[16:])).to_bytes(4)
    return bytes(data)


def test_relative_offsets_inside_count_back_from_the_wrapper() -> None:
    inner = encode_message_set([Record(0, 5, None, b"a"), Record(1, 6, None, b"b")], 1)
    assert [record.offset for record in read_message_set(wrapped(inner, 41))] == [40, 41]
    assert [record.offset for record in read_message_set(wrapped(inner, 0))] == [0, 1]  # Some producers leave the wrapper's offset at 0.


A = [Record(0, 5, None, b"a")]
BAD_INNER = {
    "nothing": b"",
    "a wrapper": wrapped(encode_message_set(A, 1), 0),
    "a later offset": encode_message_set([Record(9, 5, None, b"a")], 1),
}


@for_each("inner", BAD_INNER.values(), ids=BAD_INNER)
def test_wrappers_of_nothing_of_wrappers_or_of_later_offsets_are_refused(inner: bytes) -> None:
    with pytest.raises(RecordsError) as caught:
        read_message_set(wrapped(inner, 3))
    assert caught.value.error_code == error_codes.INVALID_RECORD


def test_batches_are_no_message_sets() -> None:
    with pytest.raises(RecordsError) as caught:
        read_message_set(encode_batch(NEW))
    assert caught.value.error_code == error_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT


def test_an_empty_set_has_nothing_to_store() -> None:
    assert read_message_set(b"") == []
    with pytest.raises(RecordsError):
        up_convert(b"")
