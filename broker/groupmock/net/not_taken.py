"""Handle requests that do not reach the core because their version is not supported, or they are malformed or too expensive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from groupmock_codec.errors import CodecError

from .call import Call
from .codecs import ApiCodec, Codecs, Refused, unknown_api_versions, why

if TYPE_CHECKING:
    from .call import Tickets
    from .connection import Connection
    from .counters import Counters
    from .record import Recorder


class Refusing(Protocol):
    """The part of the driver's interface that this module needs."""

    codecs: Codecs
    counters: Counters
    record: Recorder
    tickets: Tickets

    def now(self) -> int:
        ...

    def refuse(self, connection: Connection, reason: str, now: int | None = None) -> None:
        """Close a connection for a request for which Kafka closes it."""


def not_taken(driver: Refusing, connection: Connection, frame: bytes, received: int, refusal: Refused | CodecError) -> None:
    """Close the connection with the reason of the refusal, except for an ApiVersions request of an unsupported version, which is
    answered."""
    connection.run = None
    try:
        # A frame below 8 bytes has no correlation id to answer with, so it is closed like a cut header
        # (docs/kafka/seen-on-brokers.md#bad-bytes).
        unknown = unknown_api_versions(frame, driver.codecs.advertised) if isinstance(refusal, Refused) and len(frame) >= 8 else None
    except CodecError as broken:
        unknown, refusal = None, broken
    if unknown is None:
        driver.counters.over_budget += refusal.budget
        driver.refuse(connection, why(refusal))
        return
    header, message, answer = unknown
    now = driver.now()
    call = Call(connection, ApiCodec(header.api_key, 0), frame, header.client_id, None, len(frame), received, now)
    driver.tickets.open(call)
    driver.record.request(call, note=f"{refusal}; answered in version 0")
    driver.tickets.close(call.ticket)
    driver.record.reply(call, message, len(answer) - 4, now, written=now)
    connection.answer(answer)
