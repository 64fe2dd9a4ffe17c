"""Plays scripts of raw bytes: in memory, through our own connection code with a transport that is a list, and over TCP against any broker.

What counts is what a peer can see: the frames that came back, in order, and whether the connection then was closed, mute or open.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Mapping
from typing import Final

import msgspec

from groupmock.advertise import identity_of
from groupmock.clock import VirtualClock
from groupmock.config import resolve
from groupmock.core.core import core_of
from groupmock.core.identity import Node
from groupmock.core.units import NS_PER_MS
from groupmock.journal.journal import Journal
from groupmock.journal.rows import VERSION, Header
from groupmock.net.backlog import Backlog
from groupmock.net.connection import Connection
from groupmock.net.driver import Driver
from groupmock.rig.unbuffered import Unbuffered
from groupmock_clients.probe.stages.tcp_broker import NoBroker

PATIENCE_S: Final = 5.0
MUTE_S: Final = 0.4
"""So long is waited for an answer that the guide says will not come."""
MUTE_MS: Final = 3000

LAST: Final = b"prob"
"""Correlation id of a script's last request: its answer ends the play."""

CLOSED: Final = "closed"
OPEN: Final = "open"


class Outcome(msgspec.Struct):
    """What came back: whole frames without their lengths, and how the connection was left."""

    frames: list[bytes]
    end: str
    cut: bytes = b""


class _Transport(Unbuffered):
    """Keeps what is written. Closing is remembered, nothing else happens."""

    def __init__(self) -> None:
        super().__init__()
        self.data = bytearray()
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.closed:
            self.data += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


class InMemoryServer:
    """Our server without a network, its clock virtual."""

    def __init__(self, profile: str, settings: Mapping[str, str], host: str = "127.0.0.1", port: int = 9092) -> None:
        config = resolve({"profile": profile}, list(settings.items()))
        identity = identity_of(config.profile, "memory", [Node(1, host, port)])
        self.clock = VirtualClock()
        core = core_of(config.settings, identity, random.Random(1), self.clock.epoch_ns // NS_PER_MS)
        header = Header(v=VERSION, run="0", product="bytes", seed=1, epoch_ns=0, profile=profile, config={}, complete=False)
        self.driver = Driver(core, self.clock, Journal(header, []), config.limits, backlog=Backlog(None))
        self._numbers = 0

    def play(self, writes: list[bytes]) -> Outcome:
        """One connection. `mute` connections are given the time that a broker needs to show that it says nothing."""
        self._numbers += 1
        transport = _Transport()
        connection = Connection(self.driver, self._numbers, 1, "/127.0.0.1", 1)
        connection.connection_made(transport)
        for data in writes:
            if not transport.closed:
                connection.data_received(data)
        if not transport.closed:
            self.clock.advance(MUTE_MS)
        outcome = outcome_of(bytes(transport.data), CLOSED if transport.closed else OPEN)
        connection.connection_lost(None)
        return outcome


def outcome_of(data: bytes, end: str) -> Outcome:
    """Cut what came into frames."""
    frames, at = [], 0
    while at + 4 <= len(data) and at + 4 + int.from_bytes(data[at : at + 4], "big") <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        frames.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return Outcome(frames, end, data[at:])


async def over_tcp(host: str, port: int, writes: list[bytes], expected: Outcome | None) -> Outcome:
    """One connection to a broker. `expected` (our own outcome) only says how long to wait: the outcome is what came. Raises NoBroker.

    Plain socket calls: a transport that cannot write any more forgets what had come before the connection was reset.
    """
    loop = asyncio.get_running_loop()
    link = socket.socket()
    link.setblocking(False)
    try:
        try:
            await loop.sock_connect(link, (host, port))
        except OSError as problem:
            raise NoBroker(f"cannot connect to {host}:{port}: {problem.strerror or problem}") from problem
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for data in writes:
                await loop.sock_sendall(link, data)
                await asyncio.sleep(0 if len(writes) < 3 else 0.001)
        except ConnectionError:
            pass  # what came before is still to be read
        return await _receive(link, expected)
    finally:
        link.close()


async def _receive(link: socket.socket, expected: Outcome | None) -> Outcome:
    """Until the script's last request was answered, the connection was closed, or nothing more is to be expected."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    received = bytearray()
    while loop.time() < deadline:
        frames = outcome_of(bytes(received), OPEN).frames
        if frames and frames[-1][:4] == LAST:
            break
        silent = expected is not None and expected.end == OPEN and len(frames) >= len(expected.frames)
        try:
            data = await asyncio.wait_for(loop.sock_recv(link, 1 << 16), MUTE_S if silent else deadline - loop.time())
        except TimeoutError:
            break
        except ConnectionError:
            data = b""
        if not data:
            return outcome_of(bytes(received), CLOSED)
        received += data
    return outcome_of(bytes(received), OPEN)
