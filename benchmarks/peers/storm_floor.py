"""The least work with which a uvloop server can serve a join storm: the floor of the `storm` and `memory` figures.

    python -m benchmarks.peers.storm_floor [DELAY_MS]

It parks every JoinGroup v5 that has a member id, answers all of them DELAY_MS after the first one, parks every SyncGroup v3 until the
leader's has come, and answers with constant bytes otherwise. It decodes and checks nothing, has one group, and knows no time but the delay.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import struct
import sys
from typing import Final, cast

import uvloop

from groupmock_codec.api_keys import JOIN_GROUP, SYNC_GROUP

SIZE = struct.Struct(">i").unpack_from
NO_ERROR: Final = bytes(6)
"""Throttle time 0 and error 0."""
ID_REQUIRED: Final = b"\0\0\0\0\0\x4f\xff\xff\xff\xff\0\0\0\0"
"""Throttle time 0, MEMBER_ID_REQUIRED, generation -1, no protocol and no leader, up to the member id."""
GENERATION: Final = b"\0\0\0\1\0\5range"
ASSIGNMENT: Final = b"\0\0\0\x3c" + bytes(60)
NO_INSTANCE: Final = b"\xff\xff"
LONGEST_FOLLOWER: Final = 200
"""A SyncGroup of more bytes has assignments, so the leader has sent it."""
ANSWERED_AT_ONCE: Final = 100
"""The number of JoinGroups that are answered between two turns of the loop."""


def framed(correlation: bytes, *parts: bytes) -> bytes:
    body = b"".join((correlation, *parts))
    return len(body).to_bytes(4, "big") + body


class Storm:
    """The one group: its parked JoinGroups and SyncGroups, each with its correlation id."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.named = 0
        self.joins: list[tuple[Member, bytes]] = []
        self.syncs: list[tuple[Member, bytes]] = []
        self.assigned = False

    def join(self, member: Member, correlation: bytes) -> None:
        if not self.joins:
            asyncio.get_running_loop().call_later(self.delay, self.end_join_phase)
        self.joins.append((member, correlation))

    def end_join_phase(self) -> None:
        listed = b"".join(member.name + NO_INSTANCE + ASSIGNMENT for member, _ in self.joins)
        self.answer_joins(0, self.joins[0][0], len(self.joins).to_bytes(4, "big") + listed)

    def answer_joins(self, first: int, leader: Member, listed: bytes) -> None:
        end = first + ANSWERED_AT_ONCE
        for member, correlation in self.joins[first:end]:
            members = listed if member is leader else b"\0\0\0\0"
            member.write(framed(correlation, NO_ERROR, GENERATION, leader.name, member.name, members))
        if end < len(self.joins):
            asyncio.get_running_loop().call_soon(self.answer_joins, end, leader, listed)

    def sync(self, member: Member, correlation: bytes, size: int) -> None:
        self.syncs.append((member, correlation))
        self.assigned = self.assigned or size > LONGEST_FOLLOWER
        if self.assigned:
            for synced, asked in self.syncs:
                synced.write(framed(asked, NO_ERROR, ASSIGNMENT))
            self.syncs.clear()


class Member(asyncio.Protocol):
    """The connection of one member."""

    __slots__ = ("name", "rest", "storm", "write")

    def __init__(self, storm: Storm) -> None:
        self.storm = storm
        self.name = self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write = cast(asyncio.Transport, transport).write  # uvloop's transport does not derive from asyncio's class.

    def data_received(self, data: bytes) -> None:
        data = self.rest + data
        if len(data) < 4 or SIZE(data)[0] != len(data) - 4:
            self.rest = data
            return
        self.rest = b""
        key, correlation = data[5], data[8:12]
        if key == JOIN_GROUP and self.name:
            self.storm.join(self, correlation)
        elif key == JOIN_GROUP:
            self.storm.named += 1
            name = b"storm-%036d" % self.storm.named
            self.name = len(name).to_bytes(2, "big") + name
            self.write(framed(correlation, ID_REQUIRED, self.name, b"\0\0\0\0"))
        elif key == SYNC_GROUP:
            self.storm.sync(self, correlation, len(data))
        else:
            self.write(framed(correlation, NO_ERROR))


async def serve(delay: float) -> None:
    """Listen on a free port, announce it, and serve until the process is terminated."""
    storm = Storm(delay)
    server = await asyncio.get_running_loop().create_server(lambda: Member(storm), "127.0.0.1", 0, backlog=4096)
    host, port = server.sockets[0].getsockname()
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": True, "bootstrap": f"{host}:{port}", "pid": os.getpid()}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 1.5))
