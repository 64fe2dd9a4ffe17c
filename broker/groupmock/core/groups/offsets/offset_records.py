"""Encodes committed offsets as records of __consumer_offsets, in Kafka's format (GroupMetadataManager, OffsetCommitKey and
OffsetCommitValue).

Here only transactions write them, because their markers follow in the log; other state of groups is not written as records
(docs/kafka/differences.md#transactions).
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from struct import Struct
from typing import TYPE_CHECKING, Final

from groupmock_codec.records import TRANSACTIONAL_BIT, Batch, NewRecord, batch_of, encode_record
from groupmock_codec.runtime import uvarint

from ...work import A_FEW

if TYPE_CHECKING:
    from .committed import At, Offset

KEY_VERSION: Final = 1
VALUE_VERSION: Final = 4  # Since version 4 the value of an offset record has the flexible encoding.
OLD_VALUE_VERSION: Final = 3
_VERSION: Final = Struct(">h")
_PARTITION: Final = Struct(">i")
_OFFSET: Final = Struct(">hqi")
NO_TAGS: Final = b"\x00"
_TIME: Final = Struct(">q")


def transactional_batch(
    group_id: str, offsets: Collection[tuple[At, Offset]], producer_id: int, epoch: int, wall_ms: int, old_values: bool
) -> Generator[None, None, Batch]:
    """Build in steps the single record batch in which a transaction commits the group's offsets. Its sequence is 0, whatever its
    producer wrote there before (TX-78). With `old_values`, it has the format before 4.0."""
    value = _old_value if old_values else _value
    keys = {topic: _key(group_id, topic) for topic in {at[0] for at, _ in offsets}}
    records = []
    for number, (at, offset) in enumerate(offsets):
        if not number % A_FEW:
            yield
        record = NewRecord(keys[at[0]] + _PARTITION.pack(at[1]), value(offset), timestamp=wall_ms)
        records.append(encode_record(record, number, wall_ms))
    return batch_of(records, wall_ms, wall_ms, producer_id=producer_id, producer_epoch=epoch, base_sequence=0, attributes=TRANSACTIONAL_BIT)


def _key(group_id: str, topic: str) -> bytes:
    """Return the part of an offset's record key before the partition index."""
    return _VERSION.pack(KEY_VERSION) + _text(group_id) + _text(topic)


def _value(offset: Offset) -> bytes:
    head = _OFFSET.pack(VALUE_VERSION, offset.offset, offset.leader_epoch)
    metadata = offset.metadata.encode("utf-8", "surrogatepass")
    return head + uvarint(len(metadata) + 1) + metadata + _TIME.pack(offset.commit_ms) + NO_TAGS


def _old_value(offset: Offset) -> bytes:
    head = _OFFSET.pack(OLD_VALUE_VERSION, offset.offset, offset.leader_epoch)
    return head + _text(offset.metadata) + _TIME.pack(offset.commit_ms)


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return _VERSION.pack(len(data)) + data
