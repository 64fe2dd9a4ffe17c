"""Read the messages of a row that rules judge, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from groupmock_codec import api_keys, error_codes
from groupmock_codec.records import HEADER, HEADER_BYTES

from ..journal.whose import bytes_of, field, json_of

if TYPE_CHECKING:
    from ..journal.rows import ReplyRow, RequestRow
    from .subjects import Json

OF_GROUPS: Final = frozenset(
    (
        api_keys.OFFSET_COMMIT,
        api_keys.OFFSET_FETCH,
        api_keys.JOIN_GROUP,
        api_keys.HEARTBEAT,
        api_keys.LEAVE_GROUP,
        api_keys.SYNC_GROUP,
        api_keys.TXN_OFFSET_COMMIT,
        api_keys.CONSUMER_GROUP_HEARTBEAT,
        api_keys.SHARE_GROUP_HEARTBEAT,
        api_keys.STREAMS_GROUP_HEARTBEAT,
    )
)
OF_SHARE_SESSIONS: Final = frozenset((api_keys.SHARE_FETCH, api_keys.SHARE_ACKNOWLEDGE))
OF_PRODUCERS: Final = frozenset((api_keys.INIT_PRODUCER_ID, api_keys.ADD_PARTITIONS_TO_TXN, api_keys.ADD_OFFSETS_TO_TXN, api_keys.END_TXN))
SEEN: Final = OF_GROUPS | OF_PRODUCERS | OF_SHARE_SESSIONS | {
    api_keys.PRODUCE, api_keys.FETCH, api_keys.METADATA, api_keys.FIND_COORDINATOR, api_keys.API_VERSIONS,
}  # fmt: skip
"""The APIs whose requests are read. Of a Produce only the producer is read (`written_by`); for all other requests only the version is
checked."""
ANSWERS: Final = SEEN - {api_keys.PRODUCE, api_keys.FETCH}
ERRORS_ONLY: Final = (api_keys.PRODUCE, api_keys.LIST_OFFSETS)
"""The APIs of whose answers only the first error is read."""
BASE64_HEADER: Final = 4 * -(-HEADER_BYTES // 3)
"""The number of base64 characters that hold the header of a record batch."""
UNKNOWN: Final = -1
"""The producer id and epoch of a Produce whose row has no records."""


def asked_in(row: RequestRow) -> Json:
    """Return the content of a request, or nothing if no rule reads it."""
    if row.api_key == api_keys.PRODUCE:
        return written_by(row.message)
    return json_of(row.message) if row.api_key in SEEN else {}


def answered_in(row: ReplyRow) -> Json | None:
    """Return the content of an answer, or None if no rule reads it. Of some answers only the first error is read."""
    if row.api_key in ERRORS_ONLY:
        return {"error_code": 0 if row.error is None else getattr(error_codes, row.error, error_codes.UNKNOWN_SERVER_ERROR)}
    return json_of(row.message) if row.api_key in ANSWERS and row.message is not None else None


def written_by(message: Any) -> Mapping[str, Any]:
    """Return the transactional id of a Produce, with the producer id and epoch of its first batch (UNKNOWN if a row has no records). The
    result is empty outside of transactions. Records are not decoded, because they may be large."""
    name = field(message, "transactional_id")
    if not name:
        return {}
    for topic in field(message, "topic_data") or ():
        for partition in field(topic, "partition_data") or ():
            records = field(partition, "records")
            if records:
                data = bytes_of(records[:BASE64_HEADER]) if isinstance(records, str) else records
                if len(data) >= HEADER_BYTES:
                    header = HEADER.unpack_from(data)
                    return {"transactional_id": name, "producer_id": header[9], "producer_epoch": header[10]}
    return {"transactional_id": name, "producer_id": UNKNOWN, "producer_epoch": UNKNOWN}
