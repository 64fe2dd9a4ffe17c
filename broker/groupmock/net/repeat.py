"""The heartbeat fast path: within a generation a member's heartbeats are byte-identical but for the correlation id.

A `Repeat` remembers the last heartbeat that was decoded, found good and answered under a lease, and that answer. While the lease
stands and the bytes are the same, the answer is repeated and one deadline moves. It never decides anything: any difference takes
the full path, and every change of group state ends the lease (architecture section 3). Lease on equals lease off, byte for byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..journal.rows import ReplyRow, RequestRow

if TYPE_CHECKING:
    from groupmock_codec.declare import Message

    from ..core.effects import Lease
    from .answers import Answers
    from .codecs import ApiCodec
    from .connection import Connection

ID_AT: Final = 8  # size, key, version; then the correlation id
ID_END: Final = 12
ONE_ID: Final = {4}


class Current(NamedTuple):
    """The heartbeat that changed nothing and that the core is answering right now."""

    connection: Connection
    frame: bytes
    body_at: int
    client_id: str | None


class Repeat:
    """`head` + correlation id + `tail` is the whole frame with its length; the answer alike."""

    __slots__ = (
        "answer_head",
        "answer_tail",
        "body_at",
        "client_id",
        "codec",
        "driver",
        "epoch",
        "group",
        "head",
        "lease",
        "length",
        "message",
        "tail",
        "template",
    )  # fmt: skip

    def __init__(self, driver: Answers, codec: ApiCodec, request: Current, answer: bytes, message: Message, lease: Lease) -> None:
        frame = request.frame
        self.driver = driver
        self.codec = codec
        self.client_id = request.client_id
        self.body_at = request.body_at
        self.message = message
        self.template: object = None  # kept by a sink that writes such rows without making them
        self.head = len(frame).to_bytes(4, "big") + frame[:4]
        self.tail = frame[8:]
        self.length = len(frame) + 4
        self.answer_head = answer[:4]
        self.answer_tail = answer[8:]
        self.lease = lease
        self.group = lease.group
        self.epoch = lease.epoch

    def several(self, data: bytes) -> bytes:
        """The correlation ids, if `data` is nothing but such heartbeats, else b"".

        Bytes that start with the head, end with the tail and split at tail + head into pieces of four *are* that many whole frames.
        """
        if not (data.startswith(self.head) and data.endswith(self.tail)):
            return b""
        identifiers = data[ID_AT : -len(self.tail)].split(self.tail + self.head)
        return b"".join(identifiers) if set(map(len, identifiers)) == ONE_ID else b""

    def answers(self, identifiers: bytes) -> bytes:
        """The answers to all of them, in order."""
        pieces = [identifiers[at : at + 4] for at in range(0, len(identifiers), 4)]
        return self.answer_head + (self.answer_tail + self.answer_head).join(pieces) + self.answer_tail

    def rows(self, connection: Connection, identifier: bytes, ticket: int, now: int) -> tuple[RequestRow, ReplyRow]:
        """Request and reply row of one of them, as the full path would have made them."""
        codec = self.codec
        frame = self.head[4:] + identifier + self.tail
        message, end = codec.decode(frame, self.body_at)
        correlation = int.from_bytes(identifier, "big", signed=True)
        place: dict[str, Any] = {
            "t": now,
            "node": connection.node,
            "connection": connection.number,
            "ticket": ticket,
            "correlation_id": correlation,
            "api_key": codec.key,
            "api_name": codec.name,
            "api_version": codec.version,
        }
        request = RequestRow(
            **place,
            client_id=self.client_id,
            received=now,
            handled=now,
            size=len(frame),
            message=message,
            trailing_bytes=len(frame) - end,
            raw=frame if self.driver.journal.details else None,
        )
        return request, ReplyRow(**place, size=len(self.answer_tail) + 4, message=self.message)
