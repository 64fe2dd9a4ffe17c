"""The fault `corrupt_value` breaks the values of records in batches that are valid otherwise."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from groupmock_codec.records import Record

from ..record_fault import RecordFault

INVERTED: Final = bytes(each ^ 0xFF for each in range(256))


class CorruptValue(RecordFault, tag="corrupt_value", frozen=True, kw_only=True):
    """Answer a Fetch with broken values in batches whose CRC is right, so that the client delivers the records and the application cannot
    read them. The first bytes of each value are inverted, in the same way at each Fetch. Records without a value stay as they are."""

    bytes: Annotated[int, Meta(ge=1, le=1_048_576, description="how many bytes of each value at most")] = 1

    def changed(self, record: Record) -> list[Record] | None:
        if not record.value:
            return None
        return [record._replace(value=record.value[: self.bytes].translate(INVERTED) + record.value[self.bytes :])]


KIND = CorruptValue
