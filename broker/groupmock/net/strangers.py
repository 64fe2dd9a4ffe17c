"""A peer that speaks another protocol on a Kafka port is recognized by its first four bytes, which should be the length of a frame.

A TLS hello is a record of type 22, version 3.x (RFC 8446, section 5.1), and an HTTP request begins with its method. Read as a length, both
exceed any `socket.request.max.bytes` below 369 MB. Kafka then closes the connection silently (SEC-64); groupmock's reason names the
protocol. With a larger limit the server waits for their bytes as for any large frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..journal.rows import HTTP_REQUEST, TLS_HELLO

if TYPE_CHECKING:
    from groupmock_codec.frame import FrameError

TLS_RECORD: Final = b"\x16\x03"
HTTP_METHODS: Final = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"CONN", b"OPTI", b"TRAC", b"PATC", b"PRI ")
"""The first four bytes of each HTTP method; the last entry is the start of HTTP/2."""


def reason(broken: FrameError) -> str:
    """Return the reason for closing a connection, given a frame whose length is bad."""
    start = broken.length.to_bytes(4, "big", signed=True)
    if start.startswith(TLS_RECORD):
        return TLS_HELLO
    return HTTP_REQUEST if start in HTTP_METHODS else str(broken)
