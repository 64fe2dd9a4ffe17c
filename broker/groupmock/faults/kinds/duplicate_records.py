"""The fault `duplicate_records` answers a Fetch with records that occur twice at the same offset."""

from __future__ import annotations

from groupmock_codec.records import Record

from ..record_fault import RecordFault


class DuplicateRecords(RecordFault, tag="duplicate_records", frozen=True, kw_only=True):
    """Answer a Fetch with each record twice, one right after the other and at the same offset. A client that goes by offsets drops the
    second one; a client that does not delivers both. For a record twice in the log, at two offsets, write it twice."""

    def changed(self, record: Record) -> list[Record]:
        return [record, record]


KIND = DuplicateRecords
