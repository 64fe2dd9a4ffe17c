"""Frames as the probe writes and reads them: one request with its header, one response of a known request."""

from __future__ import annotations

import struct
from typing import Final

from groupmock_codec import APIS
from groupmock_codec.declare import Message
from groupmock_codec.errors import CodecError

PRODUCE: Final = 0
API_VERSIONS: Final = 18
UNSUPPORTED: Final = 35


def is_answered(key: int, message: Message) -> bool:
    """Will there be an answer? A Produce with acks=0 has none."""
    return key != PRODUCE or bool(getattr(message, "acks", None))


class Unreadable(Exception):
    """What the broker sent is no answer to what it was asked."""


def request_frame(key: int, version: int, correlation: int, client_id: str | None, body: bytes) -> bytes:
    """A whole request frame: length, header v1 or v2, body."""
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id.encode())) + client_id.encode()
    tags = b"\0" if APIS[key].request.flexible(version) else b""
    data = struct.pack(">hhi", key, version, correlation) + name + tags + body
    return struct.pack(">i", len(data)) + data


def read_response(key: int, version: int, frame: bytes, correlation: int | None = None, *, trailing: bool = False) -> tuple[int, Message]:
    """The version it is written in and the message of a response frame (without its length). Raises Unreadable.

    `correlation`: the id that the answer must carry, where it is known; `trailing`: bytes left over are no mistake.
    """
    name, response = APIS[key].name, APIS[key].response
    if len(frame) < 4:
        raise Unreadable(f"an answer of {len(frame)} bytes, too short for a header")
    (carried,) = struct.unpack_from(">i", frame)
    if correlation is not None and carried != correlation:
        raise Unreadable(f"an answer with correlation id {carried} where {correlation} was due ({name} v{version})")
    if key == API_VERSIONS and (version not in response.versions or frame[4:6] == struct.pack(">h", UNSUPPORTED)):
        version = 0  # what a broker answers to a version it does not know
    head = 5 if response.flexible(version) and key != API_VERSIONS else 4
    try:
        return version, response.decode(version, frame[head:], trailing=trailing)
    except CodecError as problem:
        raise Unreadable(f"an answer that cannot be read as {name} v{version}: {problem}") from problem
