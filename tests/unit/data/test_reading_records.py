"""Records are read in bounded portions, and unreadable ones are reported and skipped."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from cases import for_each
from data_world import DataWorld
from log_world import batch
from packed import PACKED, packed

from groupmock.core.steering import BadArguments, NoSuch
from groupmock.data import reading
from groupmock.data.log_record import Isolation
from groupmock.data.reading import Reading, Unread, starts
from groupmock_codec.compression import COMPRESSIONS, RecordsError
from groupmock_codec.messages.k27_write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from groupmock_codec.opening import FIRST_GUESS, opened
from groupmock_codec.records import Batch, NewRecord, _sealed, encode_batch, read_batches

TRANSACTIONAL = 0x10
LIBRARY_NEEDED = "need a library to be read: pip install cramjam"


def batch_of(name: str, *values: bytes, spoil: bool = False) -> Batch:
    """Return a batch as a client with that compression writes it; with `spoil` half of the data is missing."""
    return packed(name, [NewRecord(value=value, timestamp=0) for value in values], lambda data: data[: len(data) // 2] if spoil else data)


@for_each("name", ["none", "gzip", *PACKED])
def test_every_compression_is_opened(name: str) -> None:
    world = DataWorld()
    world.topic("t")
    values = [b"a" * FIRST_GUESS, b"b" * FIRST_GUESS * 9, b"c"]
    world.command("append", topic="t", partition=0, batch=batch_of(name, *values).data)
    found = world.read("t")
    assert ([each.record.value for each in found.records], found.unread) == (values, [])


@for_each("name", PACKED)
def test_what_is_broken_is_told_and_passed_over(name: str) -> None:
    world = DataWorld()
    world.topic("t")
    for each in (batch_of("none", b"first"), batch_of(name, b"lost" * 100, b"lost", spoil=True), batch_of("none", b"last")):
        world.command("append", topic="t", partition=0, batch=each.data)
    found = world.read("t")
    assert [each.record.value for each in found.records] == [b"first", b"last"]
    (lost,) = found.unread
    assert (lost.partition, lost.offset, lost.last_offset) == (0, 1, 2) and f"bad {name.split()[0]}" in lost.reason


def test_what_lacks_a_library_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    world = DataWorld()
    world.topic("t")
    data = b"".join(batch_of(name, b"v", b"w").data for name in ("none", "gzip"))
    packed = _sealed(read_batches(data)[0]._replace(attributes=COMPRESSIONS.index("zstd")), b"whatever").data
    for each in (data, packed, packed, data):
        world.command("append", topic="t", partition=0, batch=each)
    found = world.read("t")
    assert len(found.records) == 8
    assert found.unread == [Unread(0, 4, 7, f"records compressed by zstd {LIBRARY_NEEDED}")]


@for_each("name", ["gzip", *PACKED])
def test_no_more_is_unpacked_than_is_allowed(name: str) -> None:
    with pytest.raises(RecordsError):
        opened(batch_of(name, b"x" * 10_000_000), 1_000_000)


def test_bombs_end_the_walk_and_the_next_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_WORK", 3 * reading.MOST_OPENED)
    world = DataWorld()
    world.topic("t")
    bomb = batch_of("zstd", b"\0" * (reading.MOST_OPENED + 1)).data
    for each in (bomb, bomb, bomb, bomb, batch_of("none", b"last").data):
        world.command("append", topic="t", partition=0, batch=each)
    first = world.read("t")
    assert (first.records, first.next, first.more) == ([], {0: 3}, True)
    assert [each.record.value for each in world.read("t", starts=first.next).records] == [b"last"]


def test_pages_by_records_and_by_bytes() -> None:
    world = DataWorld()
    world.topic("t", partitions=2)
    world.write("t", [{"value": b"x" * 10, "partition": number % 2} for number in range(6)])
    first = world.read("t", 4)
    assert ([each.partition for each in first.records], first.next, first.more) == ([0, 0, 0, 1], {0: 3, 1: 1}, True)
    rest = world.read("t", 4, starts=first.next)
    assert ([each.record.offset for each in rest.records], rest.more) == ([1, 2], False)
    assert len(world.read("t", 10, 25).records) == 2
    assert len(world.read("t", 10, 1).records) == 1, "one record is never too much"


def test_deleted_and_control_records_are_not_read() -> None:
    world = DataWorld()
    world.topic("t")
    control = encode_batch([NewRecord(value=b"marker", timestamp=0)], attributes=0x20)
    world.write("t", [{"value": str(number)} for number in range(5)])
    world.command("append", topic="t", partition=0, batch=control)
    world.topics.require("t").partitions[0].delete_before(3)
    found = world.read("t")
    assert ([each.record.offset for each in found.records], found.next, found.more) == ([3, 4], {0: 6}, False)


def test_records_say_what_became_of_their_transaction() -> None:
    """At read_committed the read stops at the oldest open transaction, and continues only after its end."""
    world = DataWorld(transaction_partition_verification_enable=False)
    world.topic("t")
    topic = world.topics.require("t")

    def write(producer: int) -> None:
        sent = batch(b"%d" % producer, producer_id=producer, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL)
        assert world.produce(sent, transactional_id="x", version=11).get("error_code", 0) == 0

    def end(producer: int, committed: bool) -> None:
        place = [WritableTxnMarkerTopic(name="t", partition_indexes=[0])]
        marker = WritableTxnMarker(producer_id=producer, producer_epoch=0, transaction_result=committed, topics=place)
        world.ask(27, 1, WriteTxnMarkersRequest(markers=[marker]))

    def read(isolation: Isolation, markers: bool) -> tuple[list[tuple[int, str | None, bool]], int, bool]:
        walk = Reading(topic, {0: 0}, 100, 1000, isolation, markers).all()
        assert walk.unread == []
        return [(each.record.offset, each.transaction, each.marker) for each in walk.records], walk.next[0], walk.more

    world.append(batch(b"plain"))
    write(1)
    end(1, False)
    write(2)
    end(2, True)
    write(3)
    world.append(batch(b"behind"))
    plain, aborted, committed, opened, behind = (
        (0, None, False), (1, "aborted", False), (3, "committed", False), (5, "open", False), (6, None, False),
    )  # fmt: skip
    assert read("read_uncommitted", False) == ([plain, aborted, committed, opened, behind], 7, False)
    assert read("read_committed", False) == ([plain, committed], 5, False)
    assert read("read_committed", True) == ([plain, (2, "aborted", True), committed, (4, "committed", True)], 5, False)
    end(3, False)
    assert read("read_committed", False) == ([plain, committed, behind], 8, False)


def test_where_a_walk_begins() -> None:
    world = DataWorld()
    world.topic("t", partitions=2)
    topic = world.topics.require("t")
    world.write("t", [{"value": "v", "partition": number % 2, "timestamp": number} for number in range(6)])
    assert starts(world.cluster, topic, None, None, None, None) == {0: 0, 1: 0}
    assert starts(world.cluster, topic, 1, 2, None, None) == {1: 2}
    assert starts(world.cluster, topic, None, None, 3, None) == {0: 2, 1: 1}
    assert starts(world.cluster, topic, None, None, 99, None) == {0: 3, 1: 3}
    assert starts(world.cluster, topic, None, None, None, "1:2") == {1: 2}


ASKED: dict[str, tuple[tuple[Any, ...], type[Exception], str]] = {
    "offset and time": ((None, 1, 1, None), BadArguments, "name one of offset, timestamp and next"),
    "partition and next": ((1, None, None, "0:0"), BadArguments, "no partition beside next"),
    "no such partition": ((2, None, None, None), NoSuch, "no partition 2 of topic 't': there are 0 to 1"),
    "no such partition in next": ((None, None, None, "5:0"), NoSuch, "no partition 5 of topic 't'"),
    "not a next": ((None, None, None, "0:0;1:1"), BadArguments, "next: '0:0;1:1' is not what an answer had as `next`"),
}


@for_each(("asked", "kind", "text"), ASKED.values(), ids=ASKED)
def test_a_walk_that_cannot_begin(asked: tuple[Any, ...], kind: type[Exception], text: str) -> None:
    world = DataWorld()
    world.topic("t", partitions=2)
    with pytest.raises(kind) as refused:
        starts(world.cluster, world.topics.require("t"), *asked)
    assert text in str(refused.value)


def test_a_topic_of_many_partitions_is_read_one_at_a_time() -> None:
    world = DataWorld()
    world.topic("t", partitions=201)
    with pytest.raises(BadArguments, match="201 partitions, and 200 are read at once: name one"):
        starts(world.cluster, world.topics.require("t"), None, None, None, None)
    assert starts(world.cluster, world.topics.require("t"), 200, None, None, None) == {200: 0}
