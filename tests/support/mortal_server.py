"""`python mortal_server.py PORT` runs a server of one node that exits on a Heartbeat with the generation DEADLY. It prints its port
first."""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":  # Tests run this file as a program by its path.
    sys.path[:0] = [str(Path(__file__).resolve().parents[2] / part) for part in ("codec", "broker")]

from groupmock_codec import APIS
from groupmock_codec.messages.k03_metadata import MetadataResponse, MetadataResponseBroker
from groupmock_codec.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from groupmock_codec.messages.k18_api_versions import ApiVersion, ApiVersionsResponse

DEADLY = 666
VERSION = 2
OFFERED = [ApiVersion(api_key=key, min_version=0, max_version=VERSION) for key in (3, 8, 9, 10, 11, 12, 13, 14, 18)]


def answer(key: int, version: int, body: bytes) -> bytes:
    """Return the body of the answer to a request. A deadly request ends the process."""
    if key == 18:
        return APIS[18].response.encode(0, ApiVersionsResponse(api_keys=OFFERED))
    if key == 3:
        return APIS[3].response.encode(version, MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=1)]))
    if key == 12:
        asked = APIS[12].request.decode(version, body)
        assert isinstance(asked, HeartbeatRequest)
        if asked.generation_id == DEADLY:
            print("a heartbeat too many", flush=True)
            os._exit(3)
        return APIS[12].response.encode(version, HeartbeatResponse(error_code=25))
    return APIS[key].response.encode(version, APIS[key].response.message())


def serve(link: socket.socket) -> None:
    with link, suppress(OSError, struct.error):
        while True:
            (size,) = struct.unpack(">i", link.recv(4, socket.MSG_WAITALL))
            frame = link.recv(size, socket.MSG_WAITALL)
            key, version, correlation, name = struct.unpack_from(">hhih", frame)
            body = correlation.to_bytes(4, "big") + answer(key, version, frame[10 + max(name, 0) :])
            link.sendall(len(body).to_bytes(4, "big") + body)


def main(port: int) -> None:
    with socket.create_server(("127.0.0.1", port)) as listening:
        print(listening.getsockname()[1], flush=True)
        while True:
            threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
