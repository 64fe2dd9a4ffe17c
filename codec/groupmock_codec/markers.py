"""Builds the control batches that end transactions, which are commit and abort markers (KIP-98)."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Final

from .records import CONTROL_BIT, TRANSACTIONAL_BIT, Batch, NewRecord, batch_of, decode_records, encode_record

MARKER_VERSION: Final = 0
_MARKER_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")


@lru_cache(maxsize=1)  # The last result is cached, because a transaction needs an equal batch for each of its partitions.
def marker_batch(committed: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> Batch:
    """Return the control batch that ends a transaction, which has one record and 78 bytes with its header (KIP-98;
    EndTransactionMarker). Its key is a version and the outcome (0 abort, 1 commit), its value a version and the epoch of the
    coordinator."""
    key, value = _MARKER_KEY.pack(MARKER_VERSION, committed), _MARKER_VALUE.pack(MARKER_VERSION, coordinator_epoch)
    record = NewRecord(key, value, timestamp=timestamp)
    bits = TRANSACTIONAL_BIT | CONTROL_BIT
    encoded = [encode_record(record, 0, timestamp)]
    return batch_of(encoded, timestamp, timestamp, producer_id=producer_id, producer_epoch=producer_epoch, attributes=bits)


def marker_of(batch: Batch) -> bool | None:
    """Return the outcome of the transaction that a control batch ends: True for committed, False for aborted, None for other control
    batches."""
    record = next(iter(decode_records(batch)), None)
    if record is None or record.key is None or len(record.key) < _MARKER_KEY.size:
        return None
    kind = _MARKER_KEY.unpack_from(record.key)[1]
    return bool(kind) if kind in (0, 1) else None
