"""Play scripts of raw bytes in memory, through groupmock's connection code, and over TCP against any broker.

What counts is what a peer can see: the frames that came back, in order, and whether the connection then was closed, mute or open.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from groupmock.config.resolve import resolve
from groupmock.core.identity import Node
from groupmock.rig.making import core_of_profile
from groupmock.rig.wire import Client, NoFrame, frames_of
from groupmock.rig.wire_rig import WireRig
from groupmock_clients.probe.stages.tcp_broker import NoBroker

PATIENCE_S: Final = 5.0
MUTE_S: Final = 0.4
"""The guide waits for this many seconds for an answer that it does not expect."""
MUTE_MS: Final = 3000

LAST: Final = b"prob"
"""The correlation id of a script's last request, whose answer ends the play."""

CLOSED: Final = "closed"
OPEN: Final = "open"


class Outcome(msgspec.Struct):
    """The reaction to raw bytes: the frames that came back, and whether the connection was closed."""

    frames: list[bytes]
    end: str
    cut: bytes = b""


class InMemoryServer:
    """A groupmock server without a network, on a virtual clock."""

    def __init__(self, profile: str, settings: Mapping[str, str], host: str = "127.0.0.1", port: int = 9092) -> None:
        config = resolve({"profile": profile}, list(settings.items()))
        nodes = [Node(1, host, port)]
        core = core_of_profile(config.profile, config.settings, nodes=nodes, cluster_id="memory")
        self.rig = WireRig(core, limits=config.limits)

    def play(self, writes: list[bytes]) -> Outcome:
        """Play raw bytes on one connection. Time passes at the end, so that a connection without answers can be recognized as mute."""
        wire = self.rig.connect()
        for data in writes:
            wire.send(data)
        if not wire.closed:
            self.rig.sleep(MUTE_MS)
        outcome = outcome_of(wire.data, CLOSED if wire.closed else OPEN)
        wire.hang_up()
        return outcome


def outcome_of(data: bytes, end: str) -> Outcome:
    """Split the received bytes into frames."""
    frames, rest = frames_of(data)
    return Outcome(frames, end, rest)


def over_tcp(host: str, port: int, writes: list[bytes], expected: Outcome | None) -> Outcome:
    """Play raw bytes on one connection to a broker over TCP. `expected` (our own outcome) only says how long to wait: the outcome is
    what came. Raises NoBroker."""
    try:
        link = Client(host, port)
    except OSError as problem:
        raise NoBroker(f"cannot connect to {host}:{port}: {problem.strerror or problem}") from problem
    with link:
        link.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(ConnectionError):  # A write may fail, but bytes that arrived before can still be read.
            for data in writes:
                link.write(data)
                time.sleep(0 if len(writes) < 3 else 0.001)
        return _received(link, expected)


def _received(link: Client, expected: Outcome | None) -> Outcome:
    """Read frames until the last request is answered, the connection is closed, or nothing more is expected."""
    deadline = time.monotonic() + PATIENCE_S
    frames: list[bytes] = []
    while (left := deadline - time.monotonic()) > 0 and not (frames and frames[-1][:4] == LAST):
        silent = expected is not None and expected.end == OPEN and len(frames) >= len(expected.frames)
        link.socket.settimeout(MUTE_S if silent else left)
        try:
            frames.append(link.receive())
        except TimeoutError:
            break
        except ConnectionError:
            return Outcome(frames, CLOSED, link.side.rest)
        except NoFrame:
            break
    return Outcome(frames, OPEN, link.side.rest)
