"""Send an ApiVersions request on a plain socket and read the answer, which costs a broker hardly anything."""

from __future__ import annotations

import socket

from groupmock.rig.wire import ClientSide, NoFrame
from groupmock_codec.api_keys import API_VERSIONS


def ping(link: socket.socket) -> None:
    """Send an ApiVersions request and read one whole answer of any content. Raises OSError at the end of the stream, TimeoutError when
    time is up."""
    side = ClientSide("probe")
    link.sendall(side.ask(API_VERSIONS, 0))
    try:
        while not list(side.receive(part := link.recv(1 << 16))):
            if not part:
                raise ConnectionError("it hung up")
    except NoFrame:
        return
