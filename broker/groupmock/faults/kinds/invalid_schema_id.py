"""The fault `invalid_schema_id` gives the values of records a schema id that no schema registry knows."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from groupmock_codec.records import Record

from ..record_fault import RecordFault

MAGIC: Final = b"\0"
HEADER_BYTES: Final = 5
"""The header of Confluent's wire format is a byte of magic (0) and four bytes of the schema id."""


class InvalidSchemaId(RecordFault, tag="invalid_schema_id", frozen=True, kw_only=True):
    """Answer a Fetch with values whose header names a schema that no registry has: the magic byte 0 and four bytes of the id, as
    Confluent's serializers write them. A value without such a header gets one in front. Records without a value stay as they are."""

    schema_id: Annotated[int, Meta(ge=0, le=2**31 - 1, description="the id in the header")] = 2**31 - 1

    def changed(self, record: Record) -> list[Record] | None:
        value = record.value
        if value is None:
            return None
        payload = value[HEADER_BYTES:] if value[:1] == MAGIC and len(value) >= HEADER_BYTES else value
        return [record._replace(value=MAGIC + self.schema_id.to_bytes(4) + payload)]


KIND = InvalidSchemaId
