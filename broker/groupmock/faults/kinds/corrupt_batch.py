"""The fault `corrupt_batch` gives record batches a wrong CRC, as a broken disk or network does."""

from __future__ import annotations

from groupmock_codec.records import Batch
from groupmock_codec.room import Room

from ..record_fault import RecordFault, with_wrong_crc


class CorruptBatch(RecordFault, tag="corrupt_batch", frozen=True, kw_only=True):
    """Answer a Fetch with a wrong CRC in each record batch, or only in the batches that contain `offset`. The frame and all records are
    valid, so only a client that checks the CRC notices. Batches of any compression are changed."""

    def rewritten(self, batch: Batch, room: Room) -> tuple[bytes, int]:
        return with_wrong_crc(batch), batch.records_count


KIND = CorruptBatch
