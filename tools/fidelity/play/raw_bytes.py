"""Plays scripts of raw bytes: in memory, through our own connection code with a transport that is a list, and over TCP against any broker.

What counts is what a peer can see: the frames that came back, in order, and whether the connection then was closed, mute or open.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Final

import msgspec

from groupmock.config.resolve import resolve
from groupmock.core.identity import Node
from groupmock.rig.making import core_of_profile
from groupmock.rig.wire import frames_of
from groupmock.rig.wire_rig import WireRig
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


class InMemoryServer:
    """Our server without a network, its clock virtual."""

    def __init__(self, profile: str, settings: Mapping[str, str], host: str = "127.0.0.1", port: int = 9092) -> None:
        config = resolve({"profile": profile}, list(settings.items()))
        nodes = [Node(1, host, port)]
        core = core_of_profile(config.profile, config.settings, nodes=nodes, cluster_id="memory")
        self.rig = WireRig(core, limits=config.limits)

    def play(self, writes: list[bytes]) -> Outcome:
        """One connection. `mute` connections are given the time that a broker needs to show that it says nothing."""
        wire = self.rig.connect()
        for data in writes:
            wire.send(data)
        if not wire.closed:
            self.rig.sleep(MUTE_MS)
        outcome = outcome_of(wire.data, CLOSED if wire.closed else OPEN)
        wire.hang_up()
        return outcome


def outcome_of(data: bytes, end: str) -> Outcome:
    """Cut what came into frames."""
    frames, rest = frames_of(data)
    return Outcome(frames, end, rest)


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
