"""An ApiVersions and its answer on a plain socket: what costs a broker nothing but being there."""

from __future__ import annotations

import socket
import struct
from typing import Final

from groupmock.rig.wire import API_VERSIONS, request

REQUEST: Final = request(API_VERSIONS, 0, client_id="probe")


def ping(link: socket.socket) -> None:
    """Ask, and read one whole answer, whatever it says. Raises OSError at the end of the stream, TimeoutError at that of patience."""
    link.sendall(REQUEST)
    wanted, got = 4, bytearray()
    while len(got) < wanted:
        part = link.recv(1 << 16)
        if not part:
            raise ConnectionError("it hung up")
        got += part
        if len(got) >= 4:
            wanted = 4 + max(struct.unpack_from(">i", got)[0], 0)
