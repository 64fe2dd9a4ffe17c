"""A whole server (real core, Kafka 4.3 profile) on the test's loop, and a raw socket's view of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop

from groupmock.assembly import Running, start
from groupmock.config import resolve
from groupmock.journal.rows import KINDS, Row


@dataclass
class Rows:
    """A sink that keeps every row."""

    kinds: frozenset[str] = frozenset(KINDS)
    heartbeats: bool = True
    details: bool = False
    rows: list[Row] = field(default_factory=list)

    def begin(self, header: Any) -> None: ...

    def take(self, row: Row) -> None:
        self.rows.append(row)

    def take_repeated(self, repeated: Any) -> None:
        self.rows.extend(repeated.rows())

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def of(self, kind: str) -> list[Any]:
        return [row for row in self.rows if row.__struct_config__.tag == kind]


class Wire:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def receive(self) -> bytes:
        """The next answer without its length."""
        async with asyncio.timeout(10):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return await self.reader.readexactly(size)

    async def ask(self, data: bytes) -> bytes:
        self.send(data)
        return await self.receive()

    async def ended(self) -> bytes:
        """Everything until FIN; an RST raises."""
        async with asyncio.timeout(10):
            return await self.reader.read()


@dataclass
class Stand:
    """The server under test."""

    running: Running
    rows: Rows
    wires: list[Wire] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.running.cluster.identity.nodes[0].port

    async def wire(self) -> Wire:
        wire = Wire(*await asyncio.open_connection("127.0.0.1", self.port))
        self.wires.append(wire)
        return wire

    async def until(self, done: Any) -> None:
        """Turns of the loop until it is so."""
        async with asyncio.timeout(10):
            while not done():  # noqa: ASYNC110  # what is waited for is a state, there is no event
                await asyncio.sleep(0.001)


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop that is served on by default; flow control, where loops differ, on both."""
    both = {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
    return both if "bad_peers" in item.nodeid else {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def stand(request: pytest.FixtureRequest) -> AsyncIterator[Stand]:
    """`@pytest.mark.parametrize("stand", [{"knob": value}], indirect=True)` sets knobs."""
    knobs = {"group.initial.rebalance.delay.ms": 0, **getattr(request, "param", {})}
    running = await start(resolve({"port": 0, "log": "off", "seed": 1, "profile": "kafka-4.3"}, list(knobs.items())))
    made = Stand(running, Rows())
    running.server.journal.add(made.rows)
    yield made
    for wire in made.wires:
        wire.writer.close()
    trouble = await running.close()
    assert trouble is None
    defects = [row.fields for row in made.rows.of("note") if row.what == "internal error"]
    assert not defects, defects
