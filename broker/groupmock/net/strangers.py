"""Peers that speak another protocol on a Kafka port: told from the four bytes that stand where a frame has its length.

A TLS hello is a record of type 22, version 3.x (RFC 8446, section 5.1); an HTTP request begins with its method. Read as a length both are
above any `socket.request.max.bytes` below 369 MB, and Kafka closes such a connection without a word (SEC-64); what is added here is the
name. With a larger limit they are waited for like any large frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..journal.rows import HTTP_REQUEST, TLS_HELLO

if TYPE_CHECKING:
    from groupmock_codec.frame import FrameError

TLS_RECORD: Final = b"\x16\x03"
HTTP_METHODS: Final = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"CONN", b"OPTI", b"TRAC", b"PATC", b"PRI ")
"""As far as four bytes go; the last is how HTTP/2 begins."""


def reason(broken: FrameError) -> str:
    """Why a connection with that length is closed."""
    start = broken.length.to_bytes(4, "big", signed=True)
    if start.startswith(TLS_RECORD):
        return TLS_HELLO
    return HTTP_REQUEST if start in HTTP_METHODS else str(broken)
