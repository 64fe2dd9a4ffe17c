"""A large Produce frame needs little more memory than its size: it is received into one buffer, validated in place, and kept in the log."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import cast

from cases import for_each

from groupmock.rig import Wire, WireRig
from groupmock.rig.wire import read_response, request
from groupmock_codec.compression import GZIP
from groupmock_codec.messages.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from groupmock_codec.records import HEADER_BYTES, Batch, NewRecord, _sealed, encode_batch, read_batches

MIB = 1024 * 1024
SIZE = 16 * MIB
READ = 256 * 1024
"""Number of bytes that one read of the socket returns."""
SMALL = 3 * MIB
"""Allowed memory besides frame and log: small pieces, a buffer that is an eighth larger than its content, and messages."""
BATCH = read_batches(encode_batch([NewRecord(value=bytes(range(256)) * (SIZE // 256), timestamp=1)]))[0]


def produce(wire: Wire, version: int, batch: Batch) -> tuple[int, int]:
    """Return the error code and the peak memory while the frame arrived and was answered."""
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch.data)])
    frame = request(0, version, ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), 1)
    pieces = [frame[at : at + READ] for at in range(0, len(frame), READ)]
    del frame
    tracemalloc.start()
    try:
        while pieces:
            wire.send(pieces.pop(0))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    answer = read_response(0, version, wire.take()[0], 1)[1]
    return answer.responses[0].partition_responses[0].error_code, most  # type: ignore[attr-defined]


def rig() -> WireRig:
    found = WireRig.make(topics={"t": 1})
    found.command("configure_topic", name="t", set={"max.message.bytes": str(100 * MIB)})
    warm = found.connect()
    produce(warm, 3, read_batches(encode_batch([NewRecord(value=b"first", timestamp=1)]))[0])
    return found


@for_each("version", [3, 9])
def test_large_batch_is_kept_in_its_frame_until_it_is_read(version: int) -> None:
    stage = rig()
    code, most = produce(stage.connect(), version, BATCH)
    log = stage.core.cluster.topics.require("t").partitions[0]
    assert (code, log.end) == (0, 2)
    assert most < SIZE + SMALL
    (shown,) = log.batches(1)
    data = log.read(1, 1, at_least_one=True)
    assert read_batches(data) == [shown] == [BATCH.placed(1, 0)], "a reader finds its place in the bytes"
    assert log.read(1, 2 * SIZE, at_least_one=True) is data, "which are made once, and the frame is let go"
    assert log.read(0, 2 * SIZE, at_least_one=True).endswith(data)


@for_each(("beside", "kept"), [(len(BATCH.data), True), (len(BATCH.data) + 1, False)])
def test_batch_keeps_no_frame_of_which_it_is_the_smaller_part(beside: int, kept: bool) -> None:
    frame = bytes(beside) + BATCH.data
    placed = BATCH._replace(data=cast(bytes, memoryview(frame)[beside:])).placed(7, 3)
    assert isinstance(placed.data, memoryview) == kept
    assert placed.whole() == BATCH.placed(7, 3)


def test_batch_does_not_stay_in_a_buffer_that_may_change() -> None:
    buffer = bytearray(BATCH.data)
    placed = BATCH._replace(data=cast(bytes, memoryview(buffer))).placed(7, 3)
    buffer[-1] ^= 1
    assert placed == BATCH.placed(7, 3)


def test_large_batch_that_is_refused_is_not_copied() -> None:
    stage = rig()
    code, most = produce(stage.connect(), 9, BATCH._replace(data=BATCH.data[:-1] + b"x"))
    assert code == 2, "CORRUPT_MESSAGE"
    assert most < SIZE + SMALL


def test_large_batch_is_unpacked_from_where_it_lies() -> None:
    stage = rig()
    packed = _sealed(BATCH._replace(attributes=GZIP), gzip.compress(BATCH.data[HEADER_BYTES:], 0))
    code, most = produce(stage.connect(), 9, packed)
    assert code == 10, "MESSAGE_TOO_LARGE: of unpacked records there may be less"
    assert most < SIZE + stage.core.environment.settings.room().bytes + SMALL
