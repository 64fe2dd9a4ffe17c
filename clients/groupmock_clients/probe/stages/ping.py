"""An ApiVersions and its answer on a plain socket: what costs a broker nothing but being there."""

from __future__ import annotations

import socket

from groupmock.rig.wire import ClientSide, NoFrame
from groupmock_codec.api_keys import API_VERSIONS


def ping(link: socket.socket) -> None:
    """Ask, and read one whole answer, whatever it says. Raises OSError at the end of the stream, TimeoutError at that of patience."""
    side = ClientSide("probe")
    link.sendall(side.ask(API_VERSIONS, 0))
    try:
        while not list(side.receive(part := link.recv(1 << 16))):
            if not part:
                raise ConnectionError("it hung up")
    except NoFrame:
        return
