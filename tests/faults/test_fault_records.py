"""Faults that change records in the answers to Fetch, judged with the record readers of aiokafka and kafka-python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords
from cases import for_each
from peer_records import MemoryRecords as KafkaPythonRecords

from groupmock.core.log.transactions import Marker
from groupmock.faults.plan import BadPlan
from groupmock.journal.file import FileSink
from groupmock.rig import KeptRows, WireRig
from groupmock.rig.replay import replay
from groupmock.rig.wire import read_response, request
from groupmock.story.sentences import sentence
from groupmock_codec.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from groupmock_codec.records import TRANSACTIONAL_BIT, NewRecord, encode_batch, read_batches

PLAIN = encode_batch([NewRecord(b"k", b'{"n": 0}', (("h", b"x"),), 10), NewRecord(b"k", b'{"n": 1}', timestamp=20)])
GZIP = encode_batch([NewRecord(b"k", b"two", timestamp=30), NewRecord(b"k", None, timestamp=40)], compression="gzip")
TRANSACTIONAL = encode_batch(
    [NewRecord(value=b"four", timestamp=50)], producer_id=7, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL_BIT
)
SNAPPY = encode_batch([NewRecord(value=b"six", timestamp=60)], attributes=2)
"""A batch whose header says snappy although it is not compressed; no test decompresses it."""
KINDS = ("corrupt_batch", "corrupt_value", "duplicate_records", "invalid_schema_id")


def rig_with(*rules: dict[str, Any], sinks: Any = ()) -> WireRig:
    """Return a rig whose partition orders/0 has records at 0 to 4 in three batches and a commit marker at 5. orders/1 has PLAIN."""
    rig = WireRig.make(topics={"orders": 2}, sinks=sinks)
    for batch in (PLAIN, GZIP, TRANSACTIONAL):
        rig.command("append", topic="orders", partition=0, batch=batch)
    topic = rig.core.cluster.topics.require("orders")
    topic.partitions[0].mark(Marker(7, 0, committed=True), rig.core.cluster.topics.limits(topic, 1), 55)
    rig.command("append", topic="orders", partition=1, batch=PLAIN)
    rig.command("add_faults", rules=[{"name": f"r{place}", "when": {"api": "Fetch"}, **rule} for place, rule in enumerate(rules)])
    return rig


def fetched(rig: WireRig, offset: int = 0, partition: int = 0, most: int = 1 << 20, version: int = 12) -> bytes:
    wire = rig.connect()
    asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=most)
    message = FetchRequest(
        replica_id=-1, max_wait_ms=10, min_bytes=1, max_bytes=1 << 20, topics=[FetchTopic(topic="orders", partitions=[asked])]
    )
    wire.send(request(1, version, message, 7, "anna"))
    rig.sleep(20)
    (frame,) = wire.take()
    answer: Any = read_response(1, version, frame, 7)[1]
    (row,) = answer.responses[0].partitions
    assert row.error_code == 0
    return row.records or b""


def crcs(data: bytes) -> list[bool]:
    """Return whether each batch is valid to aiokafka, and to kafka-python."""
    found: list[list[bool]] = []
    for reader in (AiokafkaRecords, KafkaPythonRecords):
        records, valid = reader(data), []
        while (batch := records.next_batch()) is not None:
            valid.append(bool(batch.validate_crc()))
        found.append(valid)
    assert found[0] == found[1]
    return found[0]


def records_of(data: bytes) -> list[tuple[int, int, bytes | None, bytes | None, int]]:
    """Return offset, timestamp, key, value and number of headers of all records, as kafka-python reads them."""
    records, found = KafkaPythonRecords(data), []
    while (batch := records.next_batch()) is not None:
        found += [(each.offset, each.timestamp, each.key, each.value, len(each.headers)) for each in batch]
    return found


def fired(rig: WireRig) -> list[int]:
    return [report.fired for report in rig.driver.rules.reports()]


def test_a_batch_with_a_wrong_crc_has_its_records_and_only_data_is_changed() -> None:
    clean = fetched(rig_with())
    assert crcs(clean) == [True, True, True, True]
    rig = rig_with({"do": {"kind": "corrupt_batch"}})
    broken = fetched(rig)
    assert crcs(broken) == [False, False, False, True], "the marker is left alone"
    assert records_of(broken) == records_of(clean)
    assert crcs(fetched(rig)) == [False, False, False, True]
    rig.command("clear_faults")
    assert fetched(rig) == clean, "the log has the records as they were written"


def test_a_broken_value_is_in_a_valid_batch_and_the_same_each_time() -> None:
    clean = records_of(fetched(rig_with()))
    rig = rig_with({"do": {"kind": "corrupt_value", "bytes": 2}})
    broken = fetched(rig)
    assert crcs(broken) == [True] * 4
    values = [b'\x84\xddn": 0}', b'\x84\xddn": 1}', b"\x8b\x88o", None, b"\x99\x90ur"]
    marker = clean[-1]
    assert records_of(broken) == [(*each[:3], value, each[4]) for each, value in zip(clean[:-1], values, strict=True)] + [marker]
    assert fetched(rig) == broken


def test_duplicate_records_have_the_same_offsets() -> None:
    clean = records_of(fetched(rig_with()))
    data = fetched(rig_with({"do": {"kind": "duplicate_records"}}))
    assert crcs(data) == [True] * 4
    assert records_of(data) == [each for each in clean[:-1] for _ in (1, 2)] + clean[-1:]
    assert [batch.next_offset for batch in read_batches(data)] == [2, 4, 5, 6], "a client goes on where it would have gone on"
    assert [batch.producer_id for batch in read_batches(data)] == [-1, -1, 7, 7]


def test_an_invalid_schema_id_replaces_that_of_the_value_or_comes_in_front() -> None:
    rig = rig_with({"do": {"kind": "invalid_schema_id", "schema_id": 258}, "times": 2})
    rig.command("append", topic="orders", partition=1, batch=encode_batch([NewRecord(value=b"\0\0\0\0\x01avro", timestamp=1)]))
    values = [each[3] for each in records_of(fetched(rig, partition=1))]
    assert values == [b'\0\0\0\x01\x02{"n": 0}', b'\0\0\0\x01\x02{"n": 1}', b"\0\0\0\x01\x02avro"]
    values = [each[3] for each in records_of(fetched(rig))][:-1]
    assert values[2:] == [b"\0\0\0\x01\x02two", None, b"\0\0\0\x01\x02four"]


@for_each("kind", KINDS)
def test_one_poison_record_is_chosen_by_its_offset(kind: str) -> None:
    clean = fetched(rig_with())
    rig = rig_with({"do": {"kind": kind, "offset": 2}})
    found = fetched(rig)
    before, after = records_of(clean), records_of(found)
    if kind == "corrupt_batch":
        assert crcs(found) == [True, False, True, True]
    else:
        assert crcs(found) == [True] * 4
        assert after != before
        assert [each for each in after if each[0] != 2] == [each for each in before if each[0] != 2]
    assert records_of(fetched(rig, offset=4))[-2:] == before[-2:]
    assert fired(rig) == [1], "a Fetch without that record does not count"


def test_two_poison_records_of_one_partition_are_in_the_same_answer() -> None:
    rules: list[dict[str, Any]] = [{"do": {"kind": "corrupt_value", "offset": [0, 2]}}, {"do": {"kind": "corrupt_batch", "offset": 4}}]
    found = fetched(rig_with(*rules))
    assert crcs(found) == [True, True, False, True]
    assert [each[3] for each in records_of(found)][:3] == [b'\x84"n": 0}', b'{"n": 1}', b"\x8bwo"]


def test_only_the_named_partition_is_changed_and_an_empty_answer_does_not_use_up_the_rule() -> None:
    rig = rig_with({"when": {"api": "Fetch", "topic": "orders", "partition": 1}, "do": {"kind": "corrupt_batch"}, "times": 1})
    assert crcs(fetched(rig)) == [True] * 4
    assert fetched(rig, offset=2, partition=1) == b""
    assert fired(rig) == [0]
    (report,) = rig.driver.rules.reports()
    assert report.near_miss is not None
    assert report.near_miss.failed == ["partition is none, wanted one whose answer has such records"]
    assert [crcs(fetched(rig, partition=1)) for _ in (1, 2)] == [[False], [True]]


def test_a_batch_that_was_cut_is_left_alone() -> None:
    rig = rig_with({"do": {"kind": "corrupt_value"}})
    most = len(PLAIN) + len(GZIP) - 1
    found = fetched(rig, most=most)
    assert len(found) == most
    assert found[len(PLAIN) + 17 :] == GZIP[17:-1]
    assert [each[3] for each in records_of(found[: len(PLAIN)])] == [b'\x84"n": 0}', b'\x84"n": 1}']


def test_records_that_cannot_be_rewritten_are_left_alone_and_the_row_says_so() -> None:
    kept = KeptRows(kinds=["fault"])
    rig = rig_with({"do": {"kind": "duplicate_records"}, "times": 1}, {"do": {"kind": "corrupt_batch"}}, sinks=[kept])
    rig.command("append", topic="orders", partition=0, batch=SNAPPY)
    found = fetched(rig, offset=4)
    (last,) = [batch for batch in read_batches(found) if batch.base_offset == 6]
    assert (last.data[61:], last.crc_holds) == (SNAPPY[61:], False), "a CRC needs no decompression"
    refused = "orders/0 at 6: snappy is kept as it is and cannot be opened here"
    assert [row.fields for row in kept.of("fault")] == [
        {"changed": 1, "left_alone": [refused], "struck": ["orders/0"]},
        {"changed": 3, "struck": ["orders/0"]},
    ]
    assert sentence(kept.of("fault")[0]) == (
        f"connection 1: fault rule 'r0' at stage reply: duplicate_records changed=1 left_alone=['{refused}'] struck=['orders/0']"
    )


@for_each(
    ("rule", "why"),
    [
        ({"when": {"api": "Produce"}, "do": {"kind": "corrupt_batch"}}, "its answer has no records: say api = 'Fetch'"),
        ({"when": {}, "do": {"kind": "corrupt_value"}}, "its answer has no records: say api = 'Fetch'"),
        ({"stage": "request", "do": {"kind": "duplicate_records"}}, "its stages are reply"),
        ({"do": {"kind": "invalid_schema_id", "schema_id": -1}}, "schema_id"),
    ],
)
def test_an_impossible_record_fault_is_refused(rule: dict[str, Any], why: str) -> None:
    with pytest.raises(BadPlan, match=why):
        rig_with(rule)


def test_message_sets_of_old_fetches_are_left_alone() -> None:
    clean = fetched(rig_with(), version=3)
    rig = rig_with({"do": {"kind": "corrupt_batch"}})
    assert fetched(rig, version=3) == clean
    assert fired(rig) == [0]


def test_a_journal_with_record_faults_replays(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    rig = WireRig.make(topics={"orders": 1}, sinks=[FileSink(str(path), pytest.fail)])
    rig.command("append", topic="orders", partition=0, batch=PLAIN)
    rig.command("append", topic="orders", partition=0, batch=SNAPPY)
    rig.command("add_faults", rules=[{"name": kind, "when": {"api": "Fetch"}, "do": {"kind": kind}} for kind in KINDS])
    assert crcs(fetched(rig)) == [False, False]
    rig.close()
    result = replay(path)
    assert (result.difference, result.unfinished) == (None, None)
