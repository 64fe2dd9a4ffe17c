"""Produce answers like Apache Kafka 4.3.0, recorded on 2026-11-21, unless a row names another release."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from cases import for_each
from log_world import WALL_MS, LogWorld, batch, produce_request, shown

from groupmock.core.settings import Quirks
from groupmock_codec.crc import crc32c
from groupmock_codec.message_sets import encode_message_set
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.records import HEADER, Record, RecordsError, read_batches

OK: dict[str, Any] = {"log_start_offset": 0}  # The dictionary of the answer leaves out the base offset, because 0 is its default.


def forged(data: bytes = b"", payload: bytes | None = None, **fields: int) -> bytes:
    """Return a batch whose header fields or records are replaced; the CRC is valid unless given."""
    whole = read_batches(data or batch())[0]
    payload = whole.data[61:] if payload is None else payload
    values = {**dict(zip(whole._fields[:-1], whole[:-1], strict=True)), "batch_length": 49 + len(payload), **fields}
    if "crc" not in fields:
        values["crc"] = crc32c()(HEADER.pack(*values.values())[21:] + payload)
    return HEADER.pack(*values.values()) + payload


def refused(code: int, logged: bool = True, **more: Any) -> dict[str, Any]:
    """Return the expected answer of a refused partition. If the log itself refused, the answer has the log start offset (`logged`)."""
    return {"error_code": code, "base_offset": -1, **({"log_start_offset": 0} if logged else {}), **more}


OBSERVED: list[tuple[str, bytes, dict[str, Any]]] = [
    ("one batch", batch(), OK),
    ("empty records", b"", refused(87, logged=False)),
    ("five bytes", b"12345", refused(87, logged=False)),
    ("last byte missing", batch()[:-1], refused(87, logged=False)),
    ("header cut", batch()[:20], refused(87, logged=False)),
    ("bytes after the batch", batch() + b"\0\0\0", OK),
    ("two batches", batch() + batch(), refused(87, logged=False)),
    ("crc wrong", forged(crc=1), refused(2, logged=False)),
    ("magic 0", forged(magic=0), refused(87, logged=False)),
    ("magic 1", forged(magic=1), refused(87, logged=False)),
    ("magic 3", forged(magic=3), refused(2, logged=False, error_message="Invalid magic found in record: 3")),
    ("magic -126", forged(magic=-126), refused(2, logged=False, error_message="Invalid magic found in record: -126")),
    ("base offset 5", forged(base_offset=5), refused(87)),
    ("count above last offset", forged(records_count=2), refused(87)),
    ("count 0", forged(records_count=0), refused(87)),
    ("count -1", forged(records_count=-1), refused(87)),
    ("last offset delta 5", forged(last_offset_delta=5), refused(87)),
    ("last offset delta -1", forged(last_offset_delta=-1), refused(87)),
    ("count 2 with one record", forged(records_count=2, last_offset_delta=1), refused(87)),
    ("count 1 with two records", forged(batch(b"a", b"b"), records_count=1, last_offset_delta=0), refused(87)),
    ("records that are garbage", forged(payload=b"\xff\xff\xff"), refused(87)),
    ("a record of negative length", forged(payload=b"\x01" + bytes(9)), refused(87)),
    ("a record without room for its fields", forged(payload=b"\x0a" + bytes(5)), refused(87)),
    ("a record that ends too late", forged(payload=b"\x40" + bytes(9)), refused(87)),
    ("bytes after the records", forged(payload=read_batches(batch())[0].data[61:] + b"zz"), refused(87)),
    ("no records", forged(payload=b""), refused(87)),
    ("control batch", forged(attributes=0x20), refused(87)),
    ("transactional without id", forged(attributes=0x10), refused(53, logged=False)),
    ("unused attribute", forged(attributes=0x80), OK),
    ("compression 5", forged(attributes=5), refused(-1)),
    ("compression 7", forged(attributes=7), refused(-1)),
    ("gzip that is none", forged(attributes=1), refused(-1)),
    ("producer id without sequence", forged(producer_id=5, producer_epoch=0, base_sequence=-1), refused(87)),
    ("producer id without epoch", forged(producer_id=5, producer_epoch=-1, base_sequence=0), OK),
    ("sequence without producer id", forged(producer_id=-1, producer_epoch=3, base_sequence=4), OK),
    ("claims LogAppendTime", forged(attributes=8), OK),
    ("max timestamp too small", forged(max_timestamp=5), OK),
    ("leader epoch set", forged(leader_epoch=12), OK),
    ("no timestamp", batch(timestamp=-1), OK),
]


@for_each(("records", "expected"), [row[1:] for row in OBSERVED], ids=[row[0] for row in OBSERVED])
def test_a_batch_is_judged_as_by_kafka(records: bytes, expected: dict[str, Any]) -> None:
    world = LogWorld()
    world.topic()
    assert world.produce(records) == expected


def test_versions_tell_what_they_can() -> None:
    world = LogWorld()
    world.topic()
    rows = [world.produce(batch(), version=version) for version in range(3, 13)]
    assert rows == [{} if version == 3 else {"base_offset": version - 3} | ({} if version < 5 else OK) for version in range(3, 13)]


PLACES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("acks 1", {"acks": 1}, OK),
    ("acks 2", {"acks": 2}, refused(21, logged=False)),
    ("acks -2", {"acks": -2}, refused(21, logged=False)),
    ("acks 2 to an unknown topic", {"acks": 2, "topic": "nope"}, refused(3, logged=False)),
    ("unknown topic", {"topic": "nope"}, refused(3, logged=False)),
    ("impossible name", {"topic": "a b"}, refused(3, logged=False)),
    ("unknown partition", {"partition": 7}, refused(3, logged=False, index=7)),
    ("negative partition", {"partition": -1}, refused(3, logged=False, index=-1)),
    ("internal topic", {"topic": "__consumer_offsets"}, refused(17, logged=False)),
    ("transactional id with an ordinary batch", {"transactional_id": "tx"}, OK),
]


@for_each(("how", "expected"), [row[1:] for row in PLACES], ids=[row[0] for row in PLACES])
def test_where_and_how_it_is_sent(how: dict[str, Any], expected: dict[str, Any]) -> None:
    world = LogWorld()
    world.topic()
    world.topic("__consumer_offsets")
    assert world.produce(batch(), **how) == expected


def test_zstd_needs_version_7() -> None:
    world = LogWorld()
    world.topic()
    assert world.produce(forged(attributes=4), version=6)["error_code"] == 76
    # groupmock does not decompress these records; Kafka would, and answers UNKNOWN_SERVER_ERROR (-1).
    assert world.produce(forged(attributes=4), version=7) == OK


def test_the_wrong_node_is_told_the_leader_from_v10_on() -> None:
    world = LogWorld(nodes=2)
    world.topic(node=1)
    assert world.produce(batch(), node=2, version=9) == refused(6, logged=False)
    answer = world.show(0, 12, produce_request(batch()), node=2)
    hint = {"leader_id": 1, "leader_epoch": 0}
    assert answer["responses"][0]["partition_responses"] == [refused(6, logged=False, current_leader=hint)]
    assert answer["node_endpoints"] == [{"node_id": 1, "host": "127.0.0.1", "port": 9092}]


def test_topic_ids_of_v13() -> None:
    world = LogWorld()
    world.topic()
    known = world.topic_id("t")
    answers = [
        world.show(0, 13, produce_request(batch(), topic="", topic_id=topic_id))["responses"][0]
        for topic_id in (known, b"\5" * 16, bytes(16))
    ]
    assert answers == [
        {"topic_id": known, "partition_responses": [OK]},
        {"topic_id": b"\5" * 16, "partition_responses": [refused(100, logged=False)]},
        {"partition_responses": [refused(100, logged=False)]},
    ]


def test_rows_that_reached_a_log_come_first_and_a_partition_counts_once() -> None:
    world = LogWorld()
    world.topic("t")
    world.topic("i")

    def data(*indexes: int) -> list[PartitionProduceData]:
        return [PartitionProduceData(index=index, records=batch()) for index in indexes]

    topics = [("t", data(4, 0, 0)), ("nope", data(0)), ("i", data(0))]
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name=name, partition_data=rows) for name, rows in topics])
    assert world.show(0, 12, request)["responses"] == [
        {"name": "t", "partition_responses": [OK, refused(3, logged=False, index=4)]},
        {"name": "i", "partition_responses": [OK]},
        {"name": "nope", "partition_responses": [refused(3, logged=False)]},
    ]
    found = world.topics.find("t", 0)
    assert found is not None and found.end == 1


@for_each(("topic", "records", "outcome"), [("t", batch(), "silent"), ("nope", batch(), "closed"), ("t", forged(crc=1), "closed")])
def test_acks_0_is_silent_and_an_error_closes(topic: str, records: bytes, outcome: str) -> None:
    world = LogWorld()
    world.topic()
    assert world.outcome(world.send(0, 9, produce_request(records, topic=topic, acks=0))) == outcome


def test_null_records_are_never_answered() -> None:
    world = LogWorld()
    world.topic()
    assert world.outcome(world.send(0, 9, produce_request(None))) == "abandoned"


def test_log_append_time_is_reported_and_stamped() -> None:
    world = LogWorld()
    world.topic(message_timestamp_type="LogAppendTime")
    world.sleep(77)
    assert world.produce(batch(b"a", b"b", timestamp=5)) == {"log_append_time_ms": WALL_MS + 77, "log_start_offset": 0}
    (stored,) = world.topics.batches("t", 0)
    assert (stored.log_append_time, stored.max_timestamp, stored.crc_holds) == (True, WALL_MS + 77, True)


def test_a_compacted_topic_wants_keys() -> None:
    world = LogWorld()
    world.topic(cleanup_policy="compact")
    text = "Compacted topic cannot accept message without key in topic partition t-0"
    row = world.produce(batch(b"a", b"b", b"c", keys=[None, b"k", None]))
    shown_faults = ", ".join(f"RecordError(batchIndex={place}, message='{text}')" for place in (0, 2))
    assert row.pop("error_message") == (
        "One or more records have been rejected due to 2 record errors in total, "
        f"and only showing the first three errors at most: [{shown_faults}]"
    )
    faults = [{"batch_index_error_message": text}, {"batch_index": 2, "batch_index_error_message": text}]
    assert row == refused(87, record_errors=faults)
    assert world.produce(batch(b"a"), version=7) == refused(87)
    assert world.produce(batch(b"a", keys=[b""])) == OK


@for_each(("timestamp", "fits"), [(WALL_MS + 3_600_000, True), (WALL_MS + 3_600_001, False), (0, True), (-5, True)])
def test_timestamps_may_lie_an_hour_ahead(timestamp: int, fits: bool) -> None:
    world = LogWorld()
    world.topic()
    row = world.produce(batch(timestamp=timestamp))
    if fits:
        assert row == OK
    else:
        assert row["record_errors"][0]["batch_index_error_message"].startswith(
            f"Timestamp {timestamp} of message with offset 0 is out of range."
        )
        assert (row["error_code"], row["error_message"]) == (32, "One or more records have been rejected due to invalid timestamp")


def test_a_topic_may_bound_the_past() -> None:
    world = LogWorld()
    world.topic(message_timestamp_before_max_ms="1000")
    row = world.produce(batch(b"a", b"b", timestamp=WALL_MS - 1001))
    assert [fault.get("batch_index", 0) for fault in row["record_errors"]] == [0]


def test_size_limit_of_the_topic() -> None:
    world = LogWorld()
    world.topic(max_message_bytes=str(len(batch(b"x" * 50))))
    assert world.produce(batch(b"x" * 50)) == OK
    assert world.produce(batch(b"x" * 51)) == refused(10, logged=False)


# Each row has producer epoch, first sequence, number of records, and the expected offset or error code, all in one partition.
IDEMPOTENT: list[tuple[int, int, int, int, str]] = [
    *((0, sequence, 1, sequence, "new") for sequence in range(7)),
    (0, 6, 1, 6, "repeat"),
    (0, 2, 1, 2, "repeat"),
    (0, 1, 1, 45, "error"),  # A producer's sixth last batch is no longer remembered, so its repetition is an error.
    (0, 0, 1, 45, "error"),
    (0, 9, 1, 45, "error"),
    (0, 7, 3, 7, "new"),
    (0, 8, 1, 45, "error"),
    (0, 7, 3, 7, "repeat"),
    (0, 7, 2, 45, "error"),
    (1, 5, 1, 45, "error"),
    (1, 0, 1, 10, "new"),
    (0, 10, 1, 47, "error"),
    (1, 1, 1, 11, "new"),
    (3, 0, 1, 12, "new"),
    (1, 2, 1, 47, "error"),
]


def test_idempotent_producers_step_by_step() -> None:
    world = LogWorld()
    world.topic()
    for epoch, sequence, count, result, kind in IDEMPOTENT:
        records = batch(*[b"v"] * count, producer_id=1000, producer_epoch=epoch, base_sequence=sequence)
        row = world.produce(records)
        expected: dict[str, Any] = OK | ({"base_offset": result} if result else {})
        if kind == "repeat":  # For a repeated batch Kafka answers the batch's largest timestamp.
            expected["log_append_time_ms"] = WALL_MS + count - 1
        elif kind == "error":
            expected = refused(result)
        assert row == expected, (epoch, sequence, count)


# Each row has producer id, first sequence, number of records, and the expected error code.
SEQUENCES: list[tuple[int, int, int, int]] = [
    (9, 5, 1, 0),  # An unknown producer may begin with any sequence.
    (9, 7, 1, 45),
    (9, 6, 1, 0),
    (1, 2**31 - 2, 2, 0),  # Sequence numbers wrap around between two batches.
    (1, 0, 1, 0),
    (2, 2**31 - 2, 4, 0),  # Sequence numbers wrap around inside a batch.
    (2, 2, 1, 0),
]


def test_unknown_producers_and_wrapping_sequences() -> None:
    world = LogWorld()
    world.topic()
    for producer, sequence, count, code in SEQUENCES:
        row = world.produce(batch(*[b"v"] * count, producer_id=producer, producer_epoch=0, base_sequence=sequence))
        assert row.get("error_code", 0) == code, (producer, sequence)


def test_producers_that_write_nothing_are_forgotten() -> None:
    world = LogWorld(producer_id_expiration_ms=600_000)
    world.topic()
    world.produce(batch(producer_id=1, producer_epoch=5, base_sequence=0))
    world.sleep(1_200_001)
    world.produce(batch())
    assert world.produce(batch(producer_id=1, producer_epoch=0, base_sequence=8)).get("error_code", 0) == 0


@for_each("compression", ["none", "gzip"])
@for_each("version", [0, 1, 2])
def test_old_message_sets_become_batches(version: int, compression: str) -> None:
    world = LogWorld()
    world.topic()
    magic = 1 if version == 2 else 0
    records = [Record(place, WALL_MS + place if magic else -1, b"k", value) for place, value in enumerate((b"a", b"b"))]
    assert world.produce(encode_message_set(records, magic, compression), version=version) == {}
    (stored,) = world.topics.batches("t", 0)
    assert (stored.magic, stored.records_count, stored.compression, world.fetch(1).high_watermark) == (2, 2, compression, 2)


def test_old_message_sets_of_other_compressions_are_refused() -> None:
    world = LogWorld()
    world.topic()
    plain = encode_message_set([Record(0, 1, None, b"v")], 1, "gzip")
    snappy = bytearray(plain)
    snappy[17] = 2
    with pytest.raises(RecordsError):
        encode_message_set([Record(0, 1, None, b"v")], 1, "snappy")
    snappy[12:16] = zlib.crc32(bytes(snappy[16:])).to_bytes(4)
    assert world.produce(bytes(snappy), version=2)["error_code"] == 76


def test_v0_to_v2_take_batches_too_and_4_3_closes() -> None:
    world = LogWorld()
    world.topic()
    assert world.produce(batch(), version=0) == {}
    new = LogWorld(quirks=Quirks(old_produce_closes=True))
    new.topic()
    assert new.outcome(new.send(0, 2, produce_request(batch()))) == "closed"


def test_no_topics_no_rows() -> None:
    assert shown(LogWorld().ask(0, 12, ProduceRequest(acks=1))) == {}
