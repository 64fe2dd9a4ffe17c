"""Record batches v2 are read and written like kafka-python's, moved to other offsets in a log, and validated as a broker does."""

from __future__ import annotations

import gzip
import pickle
from typing import Any

import pytest
from cases import for_each
from found import packed
from hypothesis import given
from hypothesis import strategies as st
from peer_records import MemoryRecords, MemoryRecordsBuilder
from properties.codec import RECORDS, one
from searching import examples

from groupmock_codec import error_codes
from groupmock_codec.compression import decompress
from groupmock_codec.crc import crc32c
from groupmock_codec.records import (
    HEADER_BYTES,
    Batch,
    NewRecord,
    Record,
    RecordsError,
    check_produced,
    decode_records,
    encode_batch,
    magic_of,
    next_sequence,
    read_batches,
)
from groupmock_codec.varints import read_zigzag, zigzag

NEW = [
    NewRecord(b"k", b"v", [("h", b"1"), ("null", None), ("é", b"")], 1000),
    NewRecord(None, b"", (), 990),
    NewRecord(b"", None, (), 1_700_000_000_000),
]
texts = st.text(max_size=8)
blobs = (st.none() | st.binary(max_size=200)).map(packed)
records = st.lists(st.tuples(blobs, blobs, st.lists(st.tuples(texts, blobs), max_size=3), st.integers(-1, 2**53)), min_size=1, max_size=8)


def theirs(data: bytes) -> list[tuple[Any, ...]]:
    batch = MemoryRecords(data).next_batch()
    return [(each.offset, each.timestamp, each.key, each.value, [tuple(header) for header in each.headers]) for each in batch]


@pytest.mark.property
@examples(80)
@given(compression=st.sampled_from(["none", "gzip"]), records=records, base=st.integers(0, 2**40))
def test_records_come_back(compression: str, records: list[Any], base: int) -> None:
    RECORDS.check({"compression": compression, "records": records, "base": base})


@for_each("compression", ["none", "gzip"])
def test_kafka_python_reads_what_we_write(compression: str) -> None:
    data = encode_batch(NEW, 7, compression=compression)
    found = theirs(data)
    assert found == [(7 + n, new.timestamp, new.key, new.value, list(new.headers)) for n, new in enumerate(NEW)]


@for_each("codec", [0, 1])
def test_we_read_what_kafka_python_writes(codec: int) -> None:
    builder = MemoryRecordsBuilder(2, codec, 100_000)
    for new in NEW:
        builder.append(timestamp=new.timestamp, key=new.key, value=new.value, headers=list(new.headers))
    builder.close()
    batch = one(bytes(builder.buffer()))
    check_produced(batch)
    assert decode_records(batch) == [Record(n, new.timestamp, new.key, new.value, tuple(new.headers)) for n, new in enumerate(NEW)]


def test_header_fields() -> None:
    batch = one(encode_batch(NEW, 5, 2, "none", producer_id=9, producer_epoch=1, base_sequence=2**31 - 2, attributes=0x10))
    assert (batch.last_offset, batch.next_offset, batch.records_count, batch.max_timestamp) == (7, 8, 3, 1_700_000_000_000)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (9, 1, 2**31 - 2, 0)
    assert (batch.transactional, batch.control, batch.log_append_time) == (True, False, False)
    assert next_sequence(2**31 - 1) == 0
    assert one(encode_batch(NEW)).last_sequence == -1


def test_placing_a_batch_keeps_payload_and_crc() -> None:
    produced = one(encode_batch(NEW))
    placed = produced.placed(1_000_000_007, 4)
    assert one(placed.data) == placed
    assert placed.crc_holds
    assert placed.data[16:] == produced.data[16:]
    assert [record.offset for record in decode_records(placed)] == [1_000_000_007, 1_000_000_008, 1_000_000_009]


def test_log_append_time_stamps_every_record_and_makes_the_crc_anew() -> None:
    stamped = one(encode_batch(NEW)).appended_at(4242)
    assert one(stamped.data) == stamped
    assert stamped.crc_holds and stamped.log_append_time
    assert {record.timestamp for record in decode_records(stamped)} == {4242}


def test_several_batches_in_a_row() -> None:
    data = encode_batch(NEW, 0) + encode_batch(NEW[:1], 3)
    assert [batch.base_offset for batch in read_batches(data)] == [0, 3]
    assert b"".join(batch.data for batch in read_batches(data)) == data
    assert read_batches(b"") == []


def broken(**fields: Any) -> Batch:
    """Return a batch with other header fields and a valid CRC."""
    from groupmock_codec.records import HEADER

    batch = one(encode_batch(NEW))._replace(**fields)
    head = HEADER.pack(*batch[:-1])
    crc = crc32c()(head[21:] + batch.data[HEADER_BYTES:])
    return one(head[:17] + crc.to_bytes(4) + head[21:] + batch.data[HEADER_BYTES:])


@for_each(
    ("fields", "code"),
    [
        ({"attributes": 0x20}, error_codes.INVALID_RECORD),
        # Producer id 0 is valid (the first that Kafka assigns), so the batch needs a sequence.
        ({"producer_id": 0, "base_sequence": -1}, error_codes.INVALID_RECORD),
        ({"last_offset_delta": -1}, error_codes.INVALID_RECORD),
        ({"records_count": 4}, error_codes.INVALID_RECORD),
        ({"records_count": 0}, error_codes.INVALID_RECORD),
    ],
)
def test_what_brokers_refuse_of_a_produced_batch(fields: dict[str, int], code: int) -> None:
    with pytest.raises(RecordsError) as caught:
        check_produced(broken(**fields))
    assert caught.value.error_code == code


def test_any_flipped_bit_after_the_leader_epoch_is_noticed() -> None:
    data = encode_batch(NEW)
    for bit in range(17 * 8, len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RecordsError) as caught:
            check_produced(one(bytes(flipped)))
        assert caught.value.error_code == error_codes.CORRUPT_MESSAGE


def test_every_cut_is_refused() -> None:
    data = encode_batch(NEW)
    for end in range(1, len(data)):
        with pytest.raises(RecordsError) as caught:
            read_batches(data[:end])
        assert caught.value.error_code == error_codes.CORRUPT_MESSAGE


@for_each("length", [-1, 0, 48, 2**31 - 1])
def test_impossible_batch_lengths_are_refused(length: int) -> None:
    data = encode_batch(NEW)
    with pytest.raises(RecordsError, match="does not fit"):
        read_batches(data[:8] + length.to_bytes(4, signed=True) + data[12:])


@for_each("magic", [0, 1, 3])
def test_other_magics_are_told(magic: int) -> None:
    data = encode_batch(NEW)
    other = data[:16] + bytes((magic,)) + data[17:]
    assert magic_of(other) == magic
    with pytest.raises(RecordsError) as caught:
        read_batches(other)
    assert caught.value.error_code == error_codes.UNSUPPORTED_FOR_MESSAGE_FORMAT


def test_magic_of_too_few_bytes() -> None:
    with pytest.raises(RecordsError, match="16 bytes are no record batch"):
        magic_of(bytes(16))


@for_each(("code", "name"), [(2, "snappy"), (3, "lz4"), (4, "zstd"), (7, "unknown")])
def test_other_compressions_are_opaque(code: int, name: str) -> None:
    batch = broken(attributes=code)
    assert batch.compression.startswith(name)
    check_produced(batch)  # A log checks only the batch, and does not decompress the records.
    with pytest.raises(RecordsError, match=name) as caught:
        decode_records(batch)
    assert caught.value.error_code == error_codes.UNSUPPORTED_COMPRESSION_TYPE


def test_records_that_do_not_fit_their_lengths_are_refused() -> None:
    batch = one(encode_batch([NewRecord(b"key", b"value", [("h", b"x")], 5)]))
    for at in range(HEADER_BYTES, len(batch.data)):
        for value in (0x01, 0x7F, 0x80, 0xFF):
            data = batch.data[:at] + bytes((value,)) + batch.data[at + 1 :]
            try:
                assert len(decode_records(batch._replace(data=data))) == 1
            except RecordsError as error:
                assert error.error_code == error_codes.INVALID_RECORD


@for_each("count", [-1, 2, 2**31 - 1])
def test_a_record_count_that_is_not_true_is_refused(count: int) -> None:
    with pytest.raises(RecordsError):
        decode_records(one(encode_batch(NEW[:1]))._replace(records_count=count))


def test_gzip_bombs_and_broken_gzip_are_refused() -> None:
    bomb = gzip.compress(bytes(2_000_000))
    assert len(decompress(bomb, 1)) == 2_000_000
    for data, limit, code in (
        (bomb, 1_000_000, error_codes.MESSAGE_TOO_LARGE),
        (bomb[:-9], 9_000_000, error_codes.CORRUPT_MESSAGE),
        (b"no gzip", 9, error_codes.CORRUPT_MESSAGE),
    ):
        with pytest.raises(RecordsError) as caught:
            decompress(data, 1, limit)
        assert caught.value.error_code == code


def test_crc32c_is_castagnoli() -> None:
    assert crc32c()(b"123456789") == 0xE3069283


def test_an_empty_batch_cannot_be_written() -> None:
    with pytest.raises(RecordsError):
        encode_batch([])


def test_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(RecordsError(error_codes.CORRUPT_MESSAGE, "why")))
    assert (error.error_code, error.reason, str(error)) == (error_codes.CORRUPT_MESSAGE, "why", "CORRUPT_MESSAGE: why")


@for_each(
    "value, written",
    [(63, "7e"), (-64, "7f"), (64, "8001"), (-65, "8101"), (8191, "fe7f"), (-8192, "ff7f"), (8192, "808001"), (-8193, "818001")],
)
def test_signed_varints_around_their_lengths(value: int, written: str) -> None:
    assert zigzag(value).hex() == written
    assert read_zigzag(zigzag(value), 0) == (value, len(written) // 2)
