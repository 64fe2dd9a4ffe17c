"""A plain TCP proxy on uvloop, against which the recording proxy is measured: it copies bytes from one socket to the other unread.

    python -m benchmarks.peers.pump HOST PORT
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import cast

import uvloop


class End(asyncio.Protocol):
    """One socket of a connected pair, between which the proxy copies bytes."""

    __slots__ = ("early", "other", "transport")

    def __init__(self) -> None:
        self.other: End | None = None
        self.transport: asyncio.Transport | None = None
        self.early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport of the new connection, and send the data that arrived before it was there."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transport does not derive from asyncio's class.
        for data in self.early:
            self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        assert self.other is not None
        if self.other.transport is None:
            self.other.early.append(data)
        else:
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        """Stop reading from the other side, because this peer does not read."""
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class Client(End):
    """The socket of a client, whose End connects to the upstream."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        other = self.other = End()
        other.other = self
        self.connecting = asyncio.ensure_future(asyncio.get_running_loop().create_connection(lambda: other, host, port))


async def serve(host: str, port: int) -> None:
    """Listen on a free port, announce it, and serve until it is terminated."""
    server = await asyncio.get_running_loop().create_server(lambda: Client(host, port), "127.0.0.1", 0, backlog=4096)
    mine, at = server.sockets[0].getsockname()
    print(json.dumps({"ready": True, "bootstrap": f"{mine}:{at}", "pid": os.getpid()}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], int(sys.argv[2])))
