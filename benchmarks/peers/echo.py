"""The upper limit for a server written in Python: uvloop, framing, and a constant Heartbeat v4 response to every request.

It decodes nothing and knows no member. It writes once per read, however many requests the read contained.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
from typing import cast

import uvloop

SIZE = struct.Struct(">i").unpack_from
HEAD = (12).to_bytes(4, "big")
TAIL = bytes(8)
"""The part of a constant response after its correlation id: no tags in the header, throttle time 0, error 0, no tags."""
BETWEEN = TAIL + HEAD


class Echo(asyncio.Protocol):
    """One connection of the echo server: frames come in, constant responses go out."""

    __slots__ = ("rest", "transport")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport does not derive from asyncio's class.
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        """Answer every whole frame and keep the rest of an incomplete one."""
        if self.rest:
            data = self.rest + data
            self.rest = b""
        end = len(data)
        if end >= 12 and SIZE(data)[0] == end - 4:
            self.transport.write(HEAD + data[8:12] + TAIL)
            return
        identifiers: list[bytes] = []
        at = 0
        while end - at >= 12:
            after = at + 4 + SIZE(data, at)[0]
            if after > end:
                break
            identifiers.append(data[at + 8 : at + 12])
            at = after
        if at < end:
            self.rest = data[at:]
        if identifiers:
            self.transport.write(HEAD + BETWEEN.join(identifiers) + TAIL)


async def serve() -> None:
    """Listen on a free port, announce it, and serve until it is terminated."""
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0, backlog=4096)
    host, port = server.sockets[0].getsockname()
    print(json.dumps({"ready": True, "bootstrap": f"{host}:{port}", "pid": os.getpid()}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve())
