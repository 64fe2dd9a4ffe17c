"""Starts a minimal core and a server on the test's event loop, with a raw client connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop
from stub_core import StubCore, frame
from turns_of_loop import until

from groupmock.config.limits import Limits
from groupmock.journal.journal import Journal
from groupmock.journal.rows import Header
from groupmock.net.clock import LoopClock
from groupmock.net.server import Server
from groupmock.rig.kept_rows import KeptRows
from groupmock.rig.wire import AsyncClient


class Peer(AsyncClient):
    frame = staticmethod(frame)

    async def correlation(self) -> int:
        return int.from_bytes((await self.receive())[:4], "big", signed=True)


@dataclass
class House:
    """A running server with its core, journal and connections."""

    core: StubCore
    sink: KeptRows
    server: Server
    port: int
    peers: list[Peer] = field(default_factory=list)

    async def peer(self) -> Peer:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
        self.peers.append(peer)
        return peer

    until = staticmethod(until)


Build = Callable[..., Awaitable[House]]


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run all network tests on both event loops."""
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture
def header() -> Header:
    return Header(v=1, run="test", product="groupmock", seed=1, epoch_ns=0, profile="groupmock", config={}, complete=False)


@pytest.fixture
async def build(header: Header) -> AsyncIterator[Build]:
    houses: list[House] = []

    async def make(clock: Any = None, heartbeats: bool = False, **limits: int) -> House:
        core, sink = StubCore(), KeptRows(heartbeats=heartbeats, details=heartbeats)
        server = Server(core, clock or LoopClock(), Journal(header, [sink]), Limits(**limits))
        ports = await server.start({1: ("127.0.0.1", 0)})
        houses.append(House(core, sink, server, ports[1]))
        return houses[-1]

    yield make
    for house in houses:
        for peer in house.peers:
            peer.writer.close()
        await house.server.close()


@pytest.fixture
async def house(build: Build) -> House:
    return await build()
